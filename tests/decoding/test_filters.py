import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.decoding.filters import keep_top_k, keep_top_p, token_probabilities

ROWS = st.lists(st.integers(-8, 8).map(lambda n: n / 2), min_size=1, max_size=9)  # with ties
SHARES = st.floats(0.01, 1.0)


def kept(filtered):
    return (filtered > -math.inf).tolist()


@given(ROWS, st.integers(1, 12))
def test_top_k_keeps_what_has_fewer_than_k_above_it(row, k):
    logits = torch.tensor(row)
    filtered = keep_top_k(logits, k)
    assert kept(filtered) == [sum(other > x for other in row) < k for x in row]
    assert all(y in (x, -math.inf) for x, y in zip(row, filtered.tolist(), strict=True))


@given(ROWS, SHARES)
def test_top_p_keeps_the_fewest_that_hold_p(row, p):
    logits = torch.tensor(row)
    filtered = keep_top_p(logits, p)
    assert all(y in (x, -math.inf) for x, y in zip(row, filtered.tolist(), strict=True))
    share = logits.double().softmax(dim=-1)
    chosen = torch.tensor(kept(filtered))
    assert share[chosen].sum() >= p - 1e-9
    assert share[chosen].min() >= share[~chosen].max() if not chosen.all() else True
    if p < 1:  # without its least probable one it would be too little
        assert share[chosen].sum() - share[chosen].min() < p + 1e-9
    else:
        assert chosen.all()


@given(st.lists(ROWS.filter(lambda row: len(row) > 3).map(lambda row: row[:4]), min_size=2), SHARES)
def test_each_row_is_filtered_by_itself_and_nothing_is_changed_in_place(rows, p):
    logits = torch.tensor(rows)
    for keep, n in ((keep_top_k, 2), (keep_top_p, p)):
        wanted = torch.stack([keep(row, n) for row in logits])
        assert torch.equal(keep(logits, n), wanted)
        assert torch.equal(keep(logits[None], n)[0], wanted)
        assert logits.tolist() == rows


@given(ROWS, st.floats(0.05, 20), st.none() | st.integers(1, 12), st.none() | SHARES)
def test_probabilities_are_a_distribution_over_what_the_filters_leave(row, temperature, k, p):
    logits = torch.tensor(row)
    given = {"temperature": temperature, "top_k": k, "top_p": p}
    probabilities = token_probabilities(logits, **given)
    assert probabilities.sum().item() == pytest.approx(1)
    assert probabilities[logits.argmax()] == probabilities.max()
    # The ratio of two that are left is that of the softmax at this temperature.
    left = probabilities > 0
    ratio = probabilities[left].log() - probabilities.max().log()
    wanted = (logits[left].double() - logits.max()) / temperature
    torch.testing.assert_close(ratio, wanted, atol=1e-9, rtol=1e-9)


def test_by_hand():
    logits = torch.tensor([[0.1, 0.4, 0.2, 0.3], [0.25, 0.25, 0.26, 0.24]]).log()
    assert kept(keep_top_k(logits, 2)) == [[False, True, False, True], [True, True, True, False]]
    for p, row in (
        (0.39, [False, True, False, False]),
        (0.41, [False, True, False, True]),
        (0.69, [False, True, False, True]),
        (0.71, [False, True, True, True]),
        (1.0, [True, True, True, True]),
    ):
        assert kept(keep_top_p(logits, p))[0] == row
    # Top-k first: of 0.4 and 0.3, the first holds 4/7 of what is left.
    both = token_probabilities(logits[0], top_k=2, top_p=0.55)
    torch.testing.assert_close(both, torch.tensor([0.0, 1, 0, 0]).double())
    # The temperature comes before both: at 1/2 the shares are 1, 16, 4 and 9 of 30.
    cold = token_probabilities(logits[0], temperature=0.5, top_p=0.5)
    torch.testing.assert_close(cold, torch.tensor([0.0, 1, 0, 0]).double())
    warm = token_probabilities(logits[0], temperature=0.5)
    torch.testing.assert_close(warm, torch.tensor([1.0, 16, 4, 9]).double() / 30, atol=1e-6, rtol=0)


def test_tokens_that_hold_exactly_p_are_enough():
    for n in (1, 2, 3):
        assert sum(kept(keep_top_p(torch.zeros(4), n / 4))) == n


def test_a_tiny_tail_stays_at_p_1():
    logits = torch.tensor([0.0, -80.0, -300.0])
    assert kept(keep_top_p(logits, 1.0)) == [True] * 3
    assert kept(keep_top_p(logits, 0.999999)) == [True, False, False]


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 5e-324])
def test_towards_temperature_0_the_largest_takes_all(temperature):
    logits = torch.tensor([[3.0, 5.0, -math.inf, 4.99], [-1e4, -2e4, -3e4, -5e4]])
    probabilities = token_probabilities(logits, temperature=temperature)
    torch.testing.assert_close(probabilities, torch.eye(4).double()[[1, 0]], atol=1e-4, rtol=0)


def test_half_precision():
    logits = torch.randn(50, generator=torch.Generator().manual_seed(1)).bfloat16()
    assert keep_top_p(logits, 0.5).dtype == keep_top_k(logits, 5).dtype == torch.bfloat16
    assert sum(kept(keep_top_p(logits, 0.9))) == sum(kept(keep_top_p(logits.double(), 0.9)))


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("temperature", [0, 0.0, -1, math.inf, math.nan])
    def test_temperature(self, temperature):
        with pytest.raises(ValueError, match="temperature must be above 0 and finite, not"):
            token_probabilities(torch.zeros(3), temperature=temperature)

    @pytest.mark.parametrize("p", [0, 0.0, -0.1, 1.1, 2, math.nan])
    def test_top_p(self, p):
        for run in (keep_top_p, lambda x, p: token_probabilities(x, top_p=p)):
            with pytest.raises(ValueError, match="top_p must be above 0 and"):
                run(torch.zeros(3), p)

    def test_top_k(self):
        for run in (keep_top_k, lambda x, k: token_probabilities(x, top_k=k)):
            for k in (0, -1):
                with pytest.raises(ValueError, match=f"top_k must be at least 1, not {k}"):
                    run(torch.zeros(3), k)
            with pytest.raises(TypeError, match=r"top_k must be an int, not 2\.0"):
                run(torch.zeros(3), 2.0)

    def test_kinds(self):
        for run in (keep_top_k, keep_top_p, lambda x, _: token_probabilities(x)):
            with pytest.raises(TypeError, match="logits must hold floating-point numbers"):
                run(torch.zeros(3).long(), 1)
        for name in ("temperature", "top_p"):
            with pytest.raises(TypeError, match=f"{name} must be a number, not '1'"):
                token_probabilities(torch.zeros(3), **{name: "1"})
