import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import masks
from attnbook.attention import attention
from attnbook.windowed import windowed_attention

PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


def drawn(*size, seed=0, dtype=torch.float32):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(x, y, tolerance=1e-5):
    torch.testing.assert_close(x, y, atol=tolerance, rtol=0)


def as_mask(L, width, causal):
    return masks.window(L, width) & masks.causal(L) if causal else masks.window(L, width)


def test_by_hand():
    # All scores are 0: the output is the mean of the values that are seen.
    value = torch.tensor([[3.0], [6.0], [9.0], [0.0]])
    nothing = torch.zeros(4, 2)
    assert windowed_attention(nothing, nothing, value, 1).flatten().tolist() == [4.5, 6, 5, 4.5]
    output = windowed_attention(nothing, nothing, value, 1, causal=True)
    assert output.flatten().tolist() == [3, 4.5, 7.5, 4.5]
    assert torch.equal(windowed_attention(nothing, nothing, value, 0), value)
    close(windowed_attention(nothing, nothing, value, 99), torch.full((4, 1), 4.5))


@pytest.mark.parametrize("causal", [True, False])
def test_the_masks_are_on_the_device_of_the_inputs(causal):
    q, k, v = (drawn(7, d, seed=i) for i, d in enumerate((4, 4, 5)))
    wanted = windowed_attention(q, k, v, 2, causal=causal)
    with torch.device("meta"):  # where all goes that is made without a device
        assert torch.equal(windowed_attention(q, k, v, 2, causal=causal), wanted)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("width", [0, 1, 5, 33, 70, 500])
@pytest.mark.parametrize("L", [1, 31, 32, 33, 101])
def test_equals_attention_with_the_mask(L, width, causal, dtype, tolerance):
    B, H = 2, 3
    one = [drawn(B, H, L, d, seed=i, dtype=dtype).requires_grad_() for i, d in enumerate((4, 4, 5))]
    two = [x.detach().clone().requires_grad_() for x in one]
    padding = masks.padding(torch.tensor([L, L // 2]), L)[:, None]  # (B, 1, 1, L)
    output = windowed_attention(*one, width, mask=padding, causal=causal)
    wanted, _ = attention(*two, as_mask(L, width, causal) & padding)
    close(output, wanted, tolerance)
    upstream = drawn(B, H, L, 5, seed=9, dtype=dtype)
    output.backward(upstream)
    wanted.backward(upstream)
    for x, y in zip(one, two, strict=True):
        close(x.grad, y.grad, tolerance)


@given(
    st.lists(st.integers(1, 3), max_size=3), st.integers(0, 90), st.integers(0, 90), st.booleans()
)
def test_any_leading_axes_length_and_width(leading, L, width, causal):
    q, k, v = (drawn(*leading, L, d, seed=i) for i, d in enumerate((4, 4, 5)))
    output = windowed_attention(q, k, v, width, causal=causal)
    assert output.shape == (*leading, L, 5)
    if L:
        close(output, attention(q, k, v, as_mask(L, width, causal))[0])


@given(st.integers(1, 90), st.integers(0, 40), st.data())
def test_any_mask_of_keys(L, width, data):
    B = 2
    q, k, v = (drawn(B, L, 4, seed=i) for i in range(3))
    mask = torch.rand(B, 1, L, generator=torch.Generator().manual_seed(7)) > 0.5
    mask = data.draw(st.sampled_from([mask, mask[:1], mask[0], mask[0, 0], mask[..., :1]]))
    close(
        windowed_attention(q, k, v, width, mask=mask),
        attention(q, k, v, masks.window(L, width) & mask)[0],
    )


def test_a_row_that_sees_nothing_gives_zeros_forward_and_backward():
    inputs = [drawn(2, 40, 4, seed=i).requires_grad_() for i in range(3)]
    mask = masks.padding(torch.tensor([40, 0]), 40)
    output = windowed_attention(*inputs, 3, mask=mask)
    assert not output[1].any()
    output.sum().backward()
    for x in inputs:
        assert x.grad.isfinite().all()
        assert not x.grad[1].any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    q, k, v = (drawn(50, 4, seed=i).to(dtype) for i in range(3))
    output = windowed_attention(q * 100, k * 100, v, 3)
    assert output.dtype == dtype
    assert output.isfinite().all()


class Largest(TorchDispatchMode):
    """Notes the number of entries of the largest tensor that any operation makes."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            if isinstance(x, torch.Tensor):
                self.entries = max(self.entries, x.untyped_storage().nbytes() // x.element_size())
        return out


def largest(L, width):
    inputs = [drawn(L, 8, seed=i).requires_grad_() for i in range(3)]
    with Largest() as seen:
        windowed_attention(*inputs, width).sum().backward()
    return seen.entries


def test_no_tensor_grows_with_the_square_of_the_length():
    assert largest(4096, 64) == 4096 * 3 * 64  # the scores: three blocks of keys a query
    assert largest(8192, 64) == 2 * largest(4096, 64)
    assert largest(4096, 128) == 2 * largest(4096, 64)


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_width(self):
        x = torch.zeros(5, 4)
        with pytest.raises(ValueError, match="width must be at least 0, not -1"):
            windowed_attention(x, x, x, -1)
        for width in (1.0, True, "1"):
            with pytest.raises(TypeError, match=f"width must be an int, not {width!r}"):
                windowed_attention(x, x, x, width)

    def test_causal(self):
        x = torch.zeros(5, 4)
        with pytest.raises(TypeError, match="causal must be True or False, not 1"):
            windowed_attention(x, x, x, 2, causal=1)

    def test_shapes(self):
        x = torch.zeros(2, 5, 4)
        with pytest.raises(ValueError, match="one key a query: 4 keys, 5 queries"):
            windowed_attention(x, x[:, :4], x[:, :4], 2)
        with pytest.raises(ValueError, match=r"one value a key: value has 4 rows.*key 5"):
            windowed_attention(x, x, x[:, :4], 2)
        with pytest.raises(ValueError, match=r"last axis of key must be 4.*\(2, 5, 3\)"):
            windowed_attention(x, x[..., :3], x, 2)
        with pytest.raises(TypeError, match="query must hold floating-point numbers"):
            windowed_attention(x.long(), x, x, 2)

    def test_mask(self):
        x = torch.zeros(2, 5, 4)
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 1, 5\).*\(5, 5\)"):
            windowed_attention(x, x, x, 2, mask=masks.causal(5))
        with pytest.raises(TypeError, match="mask must be boolean, True where"):
            windowed_attention(x, x, x, 2, mask=torch.ones(2, 1, 5))
