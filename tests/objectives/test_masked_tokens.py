import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.objectives.labels import IGNORE, mean_nll
from attnbook.objectives.masked_tokens import mask_tokens

PAD, CLS, SEP, MASK = 0, 1, 2, 9  # the specials stand at both ends of the vocabulary
SPECIAL = [PAD, CLS, SEP]
V = 10


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def masked(ids, real=None, seed=0, **changes):
    arguments = {"mask_id": MASK, "special_ids": SPECIAL, "vocab_size": V, **changes}
    arguments.setdefault("generator", seeded(seed))
    return mask_tokens(ids, real, **arguments)


def draws(n=4_000, L=42):
    """n sequences of 40 ordinary tokens between [CLS] and [SEP]: 6 chosen in each."""
    ids = torch.randint(3, 9, (n, L), generator=seeded(1))
    ids[:, 0], ids[:, -1] = CLS, SEP
    return ids


def within(count, of, p, deviations=4.5):
    return abs(count - of * p) <= deviations * math.sqrt(of * p * (1 - p))


def test_conditional_probabilities():
    ids = draws()
    inputs, labels = masked(ids)
    chosen = labels != IGNORE
    n = int(chosen.sum())
    assert n == 4_000 * 6  # 15 % of 40
    hidden = chosen & (inputs == MASK)
    assert within(int(hidden.sum()), n, 0.8)
    # A random token is one of 6 and so the right one in a sixth of the cases.
    changed = chosen & ~hidden & (inputs != ids)
    assert within(int(changed.sum()), n, 0.1 * 5 / 6)
    same = chosen & (inputs == ids)
    assert within(int(same.sum()), n, 0.1 + 0.1 / 6)
    # Chi-square of the random tokens over the 30 ordered pairs of old and new token.
    pairs = torch.bincount(ids[changed] * V + inputs[changed], minlength=V * V)
    pairs = pairs[pairs > 0]
    assert len(pairs) == 30
    expected = int(changed.sum()) / 30
    assert ((pairs - expected) ** 2 / expected).sum() < 29 + 5 * math.sqrt(2 * 29)


def test_what_becomes_of_a_token_does_not_hang_on_its_place_or_its_id():
    ids = draws()
    inputs, labels = masked(ids)
    chosen, hidden = labels != IGNORE, inputs == MASK
    for part in [*(ids == token for token in range(3, 9)), *torch.eye(42, dtype=torch.bool)[1:-1]]:
        assert within(int((chosen & part).sum()), int((part & (ids > 2)).sum()), 0.15)
        assert within(int((hidden & part).sum()), int((chosen & part).sum()), 0.8)


def test_by_hand():
    ids = torch.tensor([CLS, 5, 6, 7, SEP, PAD])
    inputs, labels = masked(ids.repeat(1_000, 1))
    seen = set()
    for row, asked in zip(inputs, labels, strict=True):
        (place,) = (asked != IGNORE).nonzero()  # one of three tokens, and no other
        assert asked[place] == ids[place]
        others = torch.arange(6) != place
        assert torch.equal(row[others], ids[others])
        seen.add((int(place), int(row[place])))
    assert seen == {(place, token) for place in (1, 2, 3) for token in (MASK, *range(3, 9))}


@given(
    st.integers(1, 4).flatmap(
        lambda B: st.lists(
            st.lists(st.integers(0, V - 1), min_size=6, max_size=6), min_size=B, max_size=B
        )
    ),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.floats(0.05, 0.95),
    st.integers(0, 99),
)
def test_rules(rows, real, share, seed):
    ids = torch.tensor(rows)
    real = torch.tensor(real).expand(len(rows), -1)
    before = ids.clone()
    inputs, labels = masked(ids, real, seed, share=share)
    assert torch.equal(ids, before)
    chosen = labels != IGNORE
    special = (ids == PAD) | (ids == CLS) | (ids == SEP) | (ids == MASK)
    assert not (chosen & (special | ~real)).any()
    assert torch.equal(labels[chosen], ids[chosen])
    assert torch.equal(inputs[~chosen], ids[~chosen])
    assert not sum(inputs[chosen] == token for token in SPECIAL).any()
    assert torch.equal(chosen.any(1), (real & ~special).any(1)), "at least one where there is one"


@pytest.mark.parametrize("length", range(1, 8))
def test_short_inputs_always_ask_something(length):
    ids = torch.full((500, length + 2), 5)
    ids[:, 0], ids[:, -1] = CLS, SEP
    _, labels = masked(ids)
    assert ((labels != IGNORE).sum(1) == 1).all()


def test_padding_of_an_ordinary_id_is_left_alone():
    """Where padding has the id of an ordinary token, `real` alone tells it."""
    ids = torch.full((300, 8), 5)
    real = torch.arange(8) < torch.tensor([[3]] * 300)
    _, labels = masked(ids, real)
    assert (labels[:, 3:] == IGNORE).all()
    assert (labels[:, :3] != IGNORE).any(0).all()


def test_each_draw_is_fresh_and_a_seed_repeats_it():
    ids, generator = draws(3), seeded()
    before = torch.get_rng_state()
    (x, first), (_, second) = (masked(ids, generator=generator) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before), "the global generator must be left alone"
    assert not torch.equal(first, second)
    again, labels = masked(ids)
    assert torch.equal(again, x)
    assert torch.equal(labels, first)


def test_the_loss_is_over_the_chosen_alone():
    ids = draws(2)
    _, labels = masked(ids)
    chosen = labels != IGNORE
    logits = torch.randn(*ids.shape, V)
    other = torch.where(chosen[..., None], logits, torch.randn(*ids.shape, V))
    assert mean_nll(logits, labels) == mean_nll(other, labels)
    by_hand = -logits.log_softmax(-1)[chosen, ids[chosen]].mean()
    torch.testing.assert_close(mean_nll(logits, labels), by_hand)


def test_the_results_are_on_the_device_of_the_ids():
    ids, generator, same = draws(3), seeded(), seeded()
    wanted = masked(ids, generator=generator)
    with torch.device("meta"):  # where all goes that is made without a device
        inputs, labels = masked(ids, generator=same)
    assert torch.equal(inputs, wanted[0])
    assert torch.equal(labels, wanted[1])


@pytest.mark.usefixtures("plain")
class TestBadInput:
    ids = torch.tensor([[CLS, 5, SEP]])

    def test_ids(self):
        with pytest.raises(ValueError, match="ids must lie in 0 … 4, but 5 is among them"):
            masked(self.ids, vocab_size=5)
        with pytest.raises(TypeError, match="ids must hold integers"):
            masked(self.ids.float())
        with pytest.raises(ValueError, match=r"eligible must have 2 axes"):
            masked(self.ids[0])

    @pytest.mark.parametrize("changes", [{"mask_id": 10}, {"special_ids": [0, 10]}])
    def test_specials(self, changes):
        with pytest.raises(ValueError, match="mask_id and special_ids must lie in 0 … 9, but 10"):
            masked(self.ids, **changes)
        with pytest.raises(ValueError, match="special_ids must leave a token, but all 10 are"):
            masked(self.ids, special_ids=range(9))

    def test_real(self):
        with pytest.raises(ValueError, match=r"real must have the shape of ids, \(1, 3\)"):
            masked(self.ids, torch.ones(3, dtype=torch.bool))
        with pytest.raises(TypeError, match="real must be boolean"):
            masked(self.ids, torch.ones(1, 3))

    def test_others(self):
        with pytest.raises(ValueError, match="share must be above 0 and below 1, not 15"):
            masked(self.ids, share=15)
        with pytest.raises(TypeError, match=r"generator must be a torch\.Generator, not NoneType"):
            masked(self.ids, generator=None)
        with pytest.raises(ValueError, match="vocab_size must be at least 1, not 0"):
            masked(self.ids, vocab_size=0)
