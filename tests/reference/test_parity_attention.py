"""Parity with torch: the same numbers and the same gradients from the same weights."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnbook import masks
from attnbook.attention import MultiHeadAttention, attention, fused_attention

B, H, T, S, D = 2, 3, 5, 7, 12  # all different: no axis can stand in for another
LENGTHS = torch.tensor([4, 6])
PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]
KINDS = ["none", "causal", "padding", "window", "per head", "combined", "holes"]


def drawn(*size, dtype, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def per_head():
    mask = torch.rand(B, H, T, S, generator=torch.Generator().manual_seed(5)) > 0.5
    mask[..., 0] = True  # torch gives NaN for a row that sees nothing
    return mask


def both_masks(kind):
    """Our mask (for B, H, T, S), and what torch's module takes for it."""
    causal, window = masks.causal(T, S), masks.window(T, 2, S)
    padding = masks.padding(LENGTHS, S)
    key_padding = masks.to_torch(padding)[:, 0]  # (B, S)
    if kind == "none":
        return None, {}
    if kind == "causal":
        return causal, {"attn_mask": masks.to_torch(causal)}
    if kind == "padding":
        return padding, {"key_padding_mask": key_padding}
    if kind == "window":
        return window, {"attn_mask": masks.to_torch(window)}
    if kind == "per head":
        return per_head(), {"attn_mask": masks.to_torch(per_head()).flatten(0, 1)}
    if kind == "combined":
        ours = causal & padding
        return ours, {"attn_mask": masks.to_torch(causal), "key_padding_mask": key_padding}
    real = torch.tensor([[0, 1, 1, 0, 1, 1, 1], [1, 0, 0, 1, 1, 0, 0]]) == 1
    return real[:, None, :], {"key_padding_mask": ~real}


def close(ours, theirs, tolerance):
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=0)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [attention, fused_attention])
def test_functions(function, kind, dtype, tolerance):
    ours = [
        drawn(B, H, n, d, dtype=dtype, seed=i).requires_grad_()
        for i, (n, d) in enumerate([(T, 4), (S, 4), (S, 6)])
    ]
    theirs = [x.detach().clone().requires_grad_() for x in ours]
    mask, _ = both_masks(kind)
    mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    output = function(*ours, mask)
    output = output[0] if function is attention else output
    wanted = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    close(output, wanted, tolerance)
    upstream = drawn(*wanted.shape, dtype=dtype, seed=9)
    output.backward(upstream)
    wanted.backward(upstream)
    for x, y in zip(ours, theirs, strict=True):
        close(x.grad, y.grad, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_multi_head_attention(
    kind, dtype, tolerance, bias, need_weights, training, copy_attention, gradient_pairs
):
    ours = MultiHeadAttention(D, H, bias=bias).to(dtype).train(training)
    theirs = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, dtype=dtype)
    if bias:  # torch starts its biases at 0, where a forgotten one would not be seen
        nn.init.normal_(ours.w_o.bias)
    copy_attention(ours, theirs.train(training))
    mask, torch_masks = both_masks(kind)
    inputs = [drawn(B, n, D, dtype=dtype, seed=i).requires_grad_() for i, n in enumerate([T, S, S])]
    copies = [x.detach().clone().requires_grad_() for x in inputs]

    output, weights = ours(*inputs, mask, need_weights=need_weights)
    wanted, wanted_weights = theirs(
        *copies, **torch_masks, need_weights=need_weights, average_attn_weights=False
    )
    close(output, wanted, tolerance)
    assert (weights is None) == (wanted_weights is None) == (not need_weights)
    if need_weights:
        close(weights, wanted_weights, tolerance)

    upstream = drawn(B, T, D, dtype=dtype, seed=9)
    output.backward(upstream)
    wanted.backward(upstream)
    for x, y in zip(inputs, copies, strict=True):
        close(x.grad, y.grad, tolerance)
    for _, x, y in gradient_pairs(ours, theirs):
        close(x, y, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", ["none", "padding", "holes"])
def test_torchs_fast_path_without_gradients(kind, dtype, tolerance, copy_attention):
    ours = MultiHeadAttention(D, H).to(dtype).eval()
    theirs = nn.MultiheadAttention(D, H, batch_first=True, dtype=dtype).eval()
    copy_attention(ours, theirs)
    x = drawn(B, S, D, dtype=dtype)
    mask, torch_masks = both_masks(kind)
    with torch.inference_mode():
        close(ours(x, x, x, mask)[0], theirs(x, x, x, **torch_masks)[0], tolerance)


def test_where_torch_gives_nan_this_book_gives_zero(copy_attention):
    ours = MultiHeadAttention(D, H)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    copy_attention(ours, theirs)
    x = drawn(B, S, D, dtype=torch.float32).requires_grad_()
    mask = masks.padding(torch.tensor([4, 0]), S)
    wanted, _ = theirs(x, x, x, key_padding_mask=masks.to_torch(mask)[:, 0])
    assert wanted[1].isnan().all()
    for need_weights in (True, False):
        output, weights = ours(x, x, x, mask, need_weights=need_weights)
        close(output[0], wanted[0], 1e-5)
        close(output[1], ours.w_o.bias.expand(S, D), 0)
        assert weights is None or not weights[1].any()
        (gradient,) = torch.autograd.grad(output.sum(), x)
        assert not gradient[1].any()
        assert gradient.isfinite().all()


def test_torchs_module_means_the_opposite_by_true(copy_attention):
    ours = MultiHeadAttention(D, H)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    copy_attention(ours, theirs)
    x, mask = drawn(B, S, D, dtype=torch.float32), masks.window(S, 1)
    output, _ = ours(x, x, x, mask)
    close(output, theirs(x, x, x, attn_mask=masks.to_torch(mask))[0], 1e-5)
    assert not torch.allclose(output, theirs(x, x, x, attn_mask=mask)[0], atol=1e-2)
