"""Parity of the layers with torch's, by copied weights."""

import pytest
import torch
from torch import nn

from attnbook import masks
from attnbook.layers import DecoderLayer, EncoderLayer

B, H, T, S, D, D_FF = 2, 3, 5, 7, 12, 11
LENGTHS, MEMORY_LENGTHS = torch.tensor([3, 5]), torch.tensor([7, 4])
PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


def drawn(*size, dtype, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(ours, theirs, tolerance):
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=0)


def simple_pairs(ours, theirs, around):
    """The modules besides attention, ours beside theirs."""
    pairs = [(ours.feed_forward.w_1, theirs.linear1), (ours.feed_forward.w_2, theirs.linear2)]
    return pairs + [
        (getattr(ours, name).norm, getattr(theirs, f"norm{i}")) for i, name in enumerate(around, 1)
    ]


def copy_simple(pairs):
    for one, two in pairs:
        if isinstance(one, nn.LayerNorm):  # torch starts each norm at 1 and 0: all would be alike
            nn.init.normal_(one.weight, mean=1)
            nn.init.normal_(one.bias)
        two.load_state_dict(one.state_dict())


def same_gradients(pairs, tolerance):
    for one, two in pairs:
        close(one.weight.grad, two.weight.grad, tolerance)
        close(one.bias.grad, two.bias.grad, tolerance)


def one_mask(kind, length, lengths):
    """Our mask for (B, length, length), torch's attention mask and its key padding mask."""
    causal, window = masks.causal(length), masks.window(length, 2)
    padding = masks.padding(lengths, length)
    key_padding = masks.to_torch(padding)[:, 0]
    per_head = torch.rand(B, H, length, length, generator=torch.Generator().manual_seed(3)) > 0.5
    per_head |= torch.eye(length, dtype=torch.bool)  # each sees itself: torch gives no NaN
    return {
        "none": (None, None, None),
        "causal": (causal, masks.to_torch(causal), None),
        "padding": (padding, None, key_padding),
        "window": (window, masks.to_torch(window), None),
        "per head": (per_head, masks.to_torch(per_head).flatten(0, 1), None),
        "combined": (causal & padding, masks.to_torch(causal), key_padding),
    }[kind]


KINDS = ["none", "causal", "padding", "window", "per head", "combined"]
AROUND_ENCODER = ("around_attention", "around_feed_forward")
AROUND_DECODER = ("around_self", "around_cross", "around_feed_forward")


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer(
    kind, dtype, tolerance, pre_norm, training, activation, copy_attention, gradient_pairs
):
    ours = EncoderLayer(D, H, D_FF, pre_norm=pre_norm, activation=activation).to(dtype)
    theirs = nn.TransformerEncoderLayer(
        D, H, D_FF, 0.0, activation, batch_first=True, norm_first=pre_norm, dtype=dtype
    )
    pairs = simple_pairs(ours, theirs, AROUND_ENCODER)
    copy_simple(pairs)
    copy_attention(ours.attention, theirs.self_attn)
    ours.train(training)
    theirs.train(training)
    mask, attention_mask, key_padding = one_mask(kind, T, LENGTHS)

    x = drawn(B, T, D, dtype=dtype).requires_grad_()
    y = x.detach().clone().requires_grad_()
    output, weights = ours(x, mask)
    assert weights is None
    wanted = theirs(y, src_mask=attention_mask, src_key_padding_mask=key_padding)
    close(output, wanted, tolerance)
    close(ours(x, mask, need_weights=True)[0], wanted, tolerance)

    upstream = drawn(B, T, D, dtype=dtype, seed=9)
    output.backward(upstream)
    wanted.backward(upstream)
    close(x.grad, y.grad, tolerance)
    same_gradients(pairs, tolerance)
    for _, one, two in gradient_pairs(ours.attention, theirs.self_attn):
        close(one, two, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory_kind", ["none", "padding"])
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_decoder_layer(
    kind, memory_kind, dtype, tolerance, pre_norm, training, copy_attention, gradient_pairs
):
    ours = DecoderLayer(D, H, D_FF, pre_norm=pre_norm).to(dtype)
    theirs = nn.TransformerDecoderLayer(
        D, H, D_FF, 0.0, batch_first=True, norm_first=pre_norm, dtype=dtype
    )
    pairs = simple_pairs(ours, theirs, AROUND_DECODER)
    copy_simple(pairs)
    attentions = [
        (ours.self_attention, theirs.self_attn),
        (ours.cross_attention, theirs.multihead_attn),
    ]
    for one, two in attentions:
        copy_attention(one, two)
    ours.train(training)
    theirs.train(training)
    mask, attention_mask, key_padding = one_mask(kind, T, LENGTHS)
    memory_mask, _, memory_padding = one_mask(memory_kind, S, MEMORY_LENGTHS)

    x = drawn(B, T, D, dtype=dtype).requires_grad_()
    memory = drawn(B, S, D, dtype=dtype, seed=1).requires_grad_()
    y, other_memory = (z.detach().clone().requires_grad_() for z in (x, memory))
    output, weights, cross = ours(x, memory, mask, memory_mask)
    assert weights is cross is None
    wanted = theirs(
        y,
        other_memory,
        tgt_mask=attention_mask,
        tgt_key_padding_mask=key_padding,
        memory_key_padding_mask=memory_padding,
    )
    close(output, wanted, tolerance)
    close(ours(x, memory, mask, memory_mask, need_weights=True)[0], wanted, tolerance)

    upstream = drawn(B, T, D, dtype=dtype, seed=9)
    output.backward(upstream)
    wanted.backward(upstream)
    close(x.grad, y.grad, tolerance)
    close(memory.grad, other_memory.grad, tolerance)
    same_gradients(pairs, tolerance)
    for one, two in attentions:
        for _, a, b in gradient_pairs(one, two):
            close(a, b, tolerance)
