import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import masks
from attnbook.layers import EncoderLayer
from attnbook.positions import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    places,
    sinusoidal,
)

B, H, T, D = 2, 3, 5, 8


def drawn(*size, seed=0, dtype=torch.float32):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# --- sinusoidal


@pytest.mark.parametrize("d_model", [1, 2, 3, 7, 8, 12])
@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_sinusoidal_is_the_formula_of_the_paper(d_model, base):
    table = sinusoidal(33, d_model, base)
    assert table.shape == (33, d_model)
    assert table.dtype == torch.float32
    for p in range(33):
        for column in range(d_model):
            i = column // 2
            angle = p / base ** (2 * i / d_model)
            wanted = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert table[p, column].item() == pytest.approx(wanted, abs=1e-6)


def test_a_far_place_is_as_exact_as_a_near_one():
    table = sinusoidal(100_001, 4)
    assert table[100_000, 0].item() == pytest.approx(math.sin(100_000), abs=1e-6)
    assert table[99_999, 3].item() == pytest.approx(math.cos(999.99), abs=1e-6)


# --- the two that are added


def make(kind, d_model=D, max_len=9):
    return {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}[kind](d_model, max_len)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
class TestAdded:
    def test_each_row_gets_the_vector_of_its_place(self, kind):
        module, x = make(kind), drawn(B, T, D)
        table = module.table.detach()
        torch.testing.assert_close(module(x), x + table[:T])
        given = torch.tensor([8, 0, 3, 3, 1])
        torch.testing.assert_close(module(x, given), x + table[given])
        given = torch.tensor([[8, 0, 3, 3, 1], [1, 2, 3, 4, 5]])
        torch.testing.assert_close(module(x, given), x + table[given])
        assert torch.equal(module(x, torch.arange(4, 9)), module(x, torch.arange(4, 9).int()))

    def test_the_last_place_is_allowed(self, kind):
        module = make(kind)
        assert module(drawn(B, 9, D)).shape == (B, 9, D)
        assert module(drawn(B, 1, D), torch.tensor([8])).shape == (B, 1, D)
        assert module(drawn(B, 0, D), torch.empty(0, dtype=torch.long)).shape == (B, 0, D)

    def test_the_dtype_of_the_input_is_kept(self, kind):
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            assert make(kind)(drawn(B, T, D, dtype=torch.float64).to(dtype)).dtype == dtype

    @pytest.mark.usefixtures("plain")
    @pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.uint16, torch.int32])
    def test_places_of_narrow_kinds_are_places(self, kind, dtype):
        x, order = drawn(B, T, D), torch.tensor([4, 3, 0, 1, 2])
        for module in (make(kind), make(kind, max_len=T)):
            assert torch.equal(module(x, order.to(dtype)), module(x, order))

    @pytest.mark.usefixtures("plain")
    def test_bad_sizes(self, kind):
        with pytest.raises(ValueError, match="max_len must be at least 1, not 0"):
            make(kind, max_len=0)
        with pytest.raises(TypeError, match=r"d_model must be an int, not 8\.5"):
            make(kind, d_model=8.5)

    @pytest.mark.usefixtures("plain")
    def test_bad_input(self, kind):
        module, x = make(kind), drawn(B, T, D)
        with pytest.raises(ValueError, match=r"last axis of x must be 8.*\(2, 5, 7\)"):
            module(x[..., :7])
        with pytest.raises(ValueError, match=r"x must have 3 axes, not 2.*\(5, 8\)"):
            module(x[0])
        with pytest.raises(TypeError, match="x must hold floating-point numbers"):
            module(x.long())
        with pytest.raises(TypeError, match="x must be a tensor, not list"):
            module([[0.0] * 8])

    @pytest.mark.usefixtures("plain")
    def test_bad_places(self, kind):
        module, x = make(kind), drawn(B, T, D)
        with pytest.raises(ValueError, match="places must be below max_len = 9, but 9 is among"):
            module(drawn(B, 10, D))
        with pytest.raises(ValueError, match="places must be below max_len = 9, but 12 is among"):
            module(x, torch.tensor([0, 1, 12, 3, 4]))
        with pytest.raises(ValueError, match="places must be at least 0, but -1 is among"):
            module(x, torch.tensor([0, 1, -1, 3, 4]))
        for wrong in ((4,), (3, 5), (1, 5), (2, 4), (5, 1), ()):
            with pytest.raises(ValueError, match=r"shape \(T,\) = \(5,\) or \(B, T\) = \(2, 5\)"):
                module(x, torch.zeros(wrong, dtype=torch.long))
        with pytest.raises(TypeError, match=r"places must hold integers, not torch\.float32"):
            module(x, torch.arange(5.0))
        with pytest.raises(TypeError, match="places must be a tensor, not list"):
            module(x, [0, 1, 2, 3, 4])


def test_only_the_learned_table_is_learned_and_saved():
    assert list(LearnedPositions(D, 9).state_dict()) == ["table"]
    assert 0 < LearnedPositions(D, 99).table.std() < 0.03
    assert not SinusoidalPositions(D, 9).state_dict()
    assert not list(SinusoidalPositions(D, 9).parameters())
    module = LearnedPositions(D, 9)
    module(drawn(B, T, D)).sum().backward()
    assert module.table.grad[:T].all()
    assert not module.table.grad[T:].any()


# --- rotary


def by_complex_numbers(x, p, base=10_000.0):
    """Each pair of neighbours as one complex number, turned by exp(i p theta), in float64."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    theta = base ** (-2 * torch.arange(pairs.shape[-1], dtype=torch.float64) / x.shape[-1])
    angle = p.double()[..., None] * theta
    angle = angle if angle.ndim == 2 else angle[:, None]
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


@pytest.mark.parametrize(
    ("dtype", "close"), [(torch.float32, 1e-5), (torch.float64, 1e-10), (torch.bfloat16, 0.02)]
)
@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_rotary_is_multiplication_by_a_complex_number(dtype, close, base):
    rotate = RotaryPositions(D, base)
    x = drawn(B, H, T, D, dtype=torch.float64).to(dtype)
    for some in (None, torch.tensor([4, 0, 99, 7, 7]), torch.arange(B * T).view(B, T)):
        p = torch.arange(T) if some is None else some
        wanted = by_complex_numbers(x, p, base)
        turned = rotate(x, some)
        assert turned.dtype == dtype
        torch.testing.assert_close(turned.double(), wanted, atol=close, rtol=0)


def test_rotary_at_a_far_place_stays_exact_in_half_precision():
    # bfloat16 counts 1, 2, … 256, 258: angles in it would make places 256 and 257 the same.
    x = torch.ones(1, 1, 2, 2, dtype=torch.bfloat16)
    turned = RotaryPositions(2)(x, torch.tensor([1000, 1001])).double()
    wanted = by_complex_numbers(x, torch.tensor([1000, 1001]))
    torch.testing.assert_close(turned, wanted, atol=0.01, rtol=0)


def test_rotary_at_place_zero_changes_nothing():
    x = drawn(B, H, 1, D)
    assert torch.equal(RotaryPositions(D)(x), x)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500), st.integers(0, 10**6))
def test_rotary_dot_products_depend_on_the_difference_of_places_alone(p, r, shift, seed):
    rotate = RotaryPositions(D)
    x, y = (drawn(1, 1, 1, D, seed=seed + i, dtype=torch.float64) for i in (0, 1))

    def product(p, r):
        return (rotate(x, torch.tensor([p])) * rotate(y, torch.tensor([r]))).sum()

    torch.testing.assert_close(product(p, r), product(p + shift, r + shift), atol=1e-9, rtol=0)
    if p != r:
        assert not torch.isclose(product(p, r), product(p, p), atol=1e-9, rtol=0)


@given(st.integers(0, 10**5), st.integers(0, 10**6))
def test_rotary_keeps_lengths(p, seed):
    x = drawn(B, H, 1, D, seed=seed, dtype=torch.float64)
    turned = RotaryPositions(D)(x, torch.tensor([p]))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))


@pytest.mark.usefixtures("plain")
class TestBadRotary:
    def test_sizes(self):
        with pytest.raises(ValueError, match="d_head must be even, two coordinates a turn, not 7"):
            RotaryPositions(7)
        with pytest.raises(ValueError, match="d_head must be at least 1, not 0"):
            RotaryPositions(0)
        with pytest.raises(TypeError, match=r"d_head must be an int, not 8\.0"):
            RotaryPositions(8.0)

    @pytest.mark.parametrize("base", [1, 0.0, -3, float("nan")])
    def test_base(self, base):
        with pytest.raises(ValueError, match=f"base must be above 1, not {base}"):
            RotaryPositions(8, base)
        with pytest.raises(ValueError, match=f"base must be above 1, not {base}"):
            sinusoidal(3, 8, base)

    def test_input(self):
        rotate = RotaryPositions(8)
        with pytest.raises(ValueError, match=r"x must have 4 axes, not 3.*\(2, 5, 8\)"):
            rotate(drawn(2, 5, 8))
        with pytest.raises(ValueError, match=r"last axis of x must be 8.*\(2, 3, 5, 6\)"):
            rotate(drawn(2, 3, 5, 6))
        with pytest.raises(TypeError, match="x must hold floating-point numbers"):
            rotate(drawn(2, 3, 5, 8).long())
        with pytest.raises(ValueError, match="places must be at least 0, but -4 is among them"):
            rotate(drawn(2, 3, 1, 8), torch.tensor([-4]))
        with pytest.raises(ValueError, match=r"places must have the shape \(T,\) = \(5,\)"):
            rotate(drawn(2, 3, 5, 8), torch.arange(4))


def test_sinusoidal_refuses_bad_sizes(plain):
    with pytest.raises(ValueError, match="max_len must be at least 1, not 0"):
        sinusoidal(0, 4)
    with pytest.raises(TypeError, match="d_model must be an int, not '4'"):
        sinusoidal(4, "4")


# --- places and padding


def test_places_count_the_real_tokens():
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0] * 5]) == 1
    counted = places(real)
    assert counted[0].tolist() == [0, 0, 0, 1, 2]
    assert counted[1, :2].tolist() == [0, 1]
    assert counted[2, [1, 3]].tolist() == [0, 1]
    assert not counted[3].any()
    assert (counted >= 0).all()


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("bad", [[[True]], torch.ones(2, 3), torch.ones(2, 3).long()])
def test_places_refuses_what_is_not_boolean(bad):
    with pytest.raises(TypeError, match=r"real must be (a boolean tensor|boolean)"):
        places(bad)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary", "none"])
@given(n=st.integers(1, T), left=st.integers(0, 3), right=st.integers(0, 3))
def test_padding_on_either_side_changes_nothing(kind, n, left, right):
    torch.manual_seed(0)
    add = make(kind, max_len=20) if kind in ("sinusoidal", "learned") else lambda x, places=None: x
    layer = EncoderLayer(D, 2, 11, rotate=RotaryPositions(D // 2) if kind == "rotary" else None)
    x = drawn(1, n, D)
    real = torch.tensor([[False] * left + [True] * n + [False] * right])
    padded = drawn(1, left + n + right, D, seed=1)
    padded[real] = x[0]
    causal = masks.causal(left + n + right)
    output, _ = layer(add(padded, places(real)), causal & real[:, None, :])
    alone, _ = layer(add(x), masks.causal(n))
    torch.testing.assert_close(output[real], alone[0], atol=1e-5, rtol=0)
