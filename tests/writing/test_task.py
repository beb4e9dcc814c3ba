"""The text as windows: each character asked for once, the same windows each time."""

import pytest
import torch
from torch import nn

from attnbook import writing
from attnbook.training import evaluate
from attnbook.writing import (
    RandomWindows,
    character_loss,
    character_nll,
    whole_text,
    with_bos,
)

TEXT = torch.arange(10, 33)  # 23 characters, all different
BOS = 2


class Next(nn.Module):
    """Sure of one thing: that id + 1 follows id; of what follows the start it knows nothing."""

    def forward(self, ids):
        logits = 50.0 * nn.functional.one_hot(ids + 1, 40)
        return logits.masked_fill((ids == BOS)[..., None], 0.0), None


def test_the_start_token_stands_in_front():
    assert with_bos(torch.tensor([[7, 8], [9, 6]]), BOS).tolist() == [[2, 7, 8], [2, 9, 6]]


def test_the_whole_text_asks_for_each_character_once():
    batches = whole_text(TEXT, BOS, B=3, T=5)
    assert [tuple(batch.shape) for batch in batches] == [(3, 6), (1, 6), (1, 4)]
    assert torch.cat([batch[:, 1:].flatten() for batch in batches]).equal(TEXT)
    assert all((batch[:, 0] == BOS).all() for batch in batches)


@pytest.mark.parametrize(("n", "rows"), [(3, [1]), (10, [2]), (15, [3])])
def test_texts_that_fit_or_fall_short(n, rows):
    batches = whole_text(TEXT[:n], BOS, B=3, T=5)
    assert [len(batch) for batch in batches] == rows
    assert sum(batch[:, 1:].numel() for batch in batches) == n


def test_an_empty_text_is_refused():
    with pytest.raises(ValueError, match="N must be"):
        whole_text(TEXT[:0], BOS, B=3, T=5)


def test_random_windows_are_pieces_of_the_text_and_come_again():
    windows = RandomWindows(TEXT, BOS, B=3, T=5, steps=7, seed=1)
    first, second = list(windows), list(windows)
    assert len(first) == 7
    assert all(a.equal(b) for a, b in zip(first, second, strict=True))
    assert all((batch[:, 0] == BOS).all() for batch in first)
    assert all((batch[:, 2:] - batch[:, 1:-1] == 1).all() for batch in first)
    other = list(RandomWindows(TEXT, BOS, B=3, T=5, steps=7, seed=2))
    assert not all(a.equal(b) for a, b in zip(first, other, strict=True))


def test_random_windows_reach_both_ends():
    starts = torch.cat([b[:, 1] for b in RandomWindows(TEXT, BOS, B=5, T=5, steps=60, seed=0)])
    assert set(starts.tolist()) == set(range(10, 29))


def test_a_text_shorter_than_a_window_is_refused():
    with pytest.raises(ValueError, match="at least T = 24 characters, not 23"):
        RandomWindows(TEXT, BOS, B=3, T=24, steps=7, seed=1)


def test_the_loss_asks_for_the_next_character():
    # What follows the start costs ln 40, one character in 5, and all others nothing.
    ids = whole_text(TEXT[:20], BOS, B=4, T=5)
    ln40 = torch.tensor(40.0).log().item()
    assert character_loss(Next(), ids[0]).item() == pytest.approx(ln40 / 5)
    model = nn.Sequential(Next())
    assert evaluate(model, ids, character_nll, device="cpu") == pytest.approx(ln40 / 5)


@pytest.mark.slow
def test_the_task_has_its_known_size():
    task = writing.load()
    assert task.tokenizer.vocab_size == writing.VOCAB_SIZE
    assert [len(x) for x in (task.train, task.valid, task.test)] == [4_536_147, 236_806, 277_148]
    unknown = task.tokenizer.vocab["[UNK]"]
    assert not any((x == unknown).any() for x in (task.train, task.valid, task.test))
    assert task.tokenizer.tokens(torch.tensor([task.bos])) == ["[BOS]"]
    assert task.tokenizer.decode(task.train[:7]) == "PERSONS"
