import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.objectives.chosen import choose


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@given(
    st.integers(0, 4).flatmap(
        lambda B: st.integers(0, 30).flatmap(
            lambda L: st.lists(
                st.lists(st.booleans(), min_size=L, max_size=L), min_size=B, max_size=B
            ).map(lambda rows: torch.tensor(rows, dtype=torch.bool).reshape(B, L))
        )
    ),
    st.floats(0.01, 0.99),
    st.integers(0, 9),
)
def test_share_of_each_row(eligible, share, seed):
    chosen = choose(eligible, share, generator=seeded(seed))
    assert chosen.shape == eligible.shape
    assert not (chosen & ~eligible).any()
    for row, of in zip(chosen.sum(1).tolist(), eligible.sum(1).tolist(), strict=True):
        assert (row >= 1) == (of >= 1)
        assert abs(row - of * share) <= 0.5001 or row == 1


@pytest.mark.parametrize(("of", "number"), [(0, 0), (1, 1), (9, 1), (10, 2), (20, 3), (128, 19)])
def test_numbers_by_hand(of, number):
    eligible = (torch.arange(130) < of)[None]
    assert choose(eligible, 0.15, generator=seeded()).sum() == number


def test_every_set_of_places_is_as_likely():
    """Two of four, six pairs: 12,000 draws, each pair within 4.5 deviations of 2,000."""
    chosen = choose(torch.ones(12_000, 4, dtype=torch.bool), 0.5, generator=seeded())
    pairs = Counter(map(tuple, chosen.tolist()))
    assert len(pairs) == math.comb(4, 2)
    deviation = math.sqrt(12_000 * 1 / 6 * 5 / 6)
    assert all(abs(n - 2_000) < 4.5 * deviation for n in pairs.values())


def test_rows_and_draws_differ_and_a_seed_repeats_them():
    eligible = torch.ones(2, 100, dtype=torch.bool)
    generator = seeded()
    before = torch.get_rng_state()
    first, second = (choose(eligible, 0.15, generator=generator) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before), "the global generator must be left alone"
    assert not torch.equal(first, second)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(first, choose(eligible, 0.15, generator=seeded()))


def test_the_draws_are_made_on_the_device_of_the_generator():
    eligible, generator = torch.ones(2, 9, dtype=torch.bool), seeded()
    with torch.device("meta"):  # where all goes that is made without a device
        chosen = choose(eligible, 0.4, generator=generator)
    assert torch.equal(chosen, choose(eligible, 0.4, generator=seeded()))


@pytest.mark.usefixtures("plain")
class TestBadInput:
    eligible = torch.ones(2, 3, dtype=torch.bool)

    @pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 15, float("nan")])
    def test_share(self, share):
        with pytest.raises(ValueError, match=f"share must be above 0 and below 1, not {share}"):
            choose(self.eligible, share, generator=seeded())

    def test_eligible(self):
        with pytest.raises(TypeError, match=r"eligible must be boolean, not torch\.int64"):
            choose(self.eligible.long(), 0.5, generator=seeded())
        with pytest.raises(ValueError, match=r"eligible must have 2 axes \(B, L\), .* \(2,\)"):
            choose(self.eligible[:, 0], 0.5, generator=seeded())

    def test_generator(self):
        with pytest.raises(TypeError, match=r"generator must be a torch\.Generator, not int"):
            choose(self.eligible, 0.5, generator=0)
