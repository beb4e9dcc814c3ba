import math
from collections import Counter

import pytest
import torch

from attnbook import guessing
from attnbook.models.cbow import CBOW, CBOWConfig


def test_words_are_small_figures_are_0_and_marks_are_dropped():
    text = "On May 5, 1862, Señor O'Neil paid $1,500.25 for snake_case."
    words = ["on", "may", "0", "0", "señor", "o", "neil", "paid", "0", "for", "snake", "case"]
    assert guessing.plain_words(text) == words
    assert guessing.plain_words(" - ") == []


def test_the_vocabulary_has_the_commonest_words_behind_unknown():
    counts = Counter(["b", "a", "b", "c", "a", "b", "d"])
    assert guessing.vocabulary_of(counts, 4) == ["UNKNOWN", "b", "a", "c"]
    assert guessing.vocabulary_of(counts) == ["UNKNOWN", "b", "a", "c", "d"]
    with pytest.raises(ValueError, match="size"):
        guessing.vocabulary_of(counts, 0)


def test_windows_lie_within_a_text_and_ask_for_known_words():
    first, second = torch.tensor([1, 2, 3, 0, 5, 6, 7]), torch.tensor([8, 0, 9, 0, 8])
    windows = guessing.windows_of([first, second])
    assert windows.tolist() == [[1, 2, 3, 0, 5], [3, 0, 5, 6, 7], [8, 0, 9, 0, 8]]


def test_the_loss_asks_for_the_middle_and_shows_the_rest():
    torch.manual_seed(1)
    model = CBOW(CBOWConfig(vocab_size=11, d_model=7))
    windows = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [3, 3, 0, 1, 2]])
    wanted = 0.0
    for one, two, middle, three, four in windows.tolist():
        shares = model(torch.tensor([[one, two, three, four]])).softmax(dim=1)
        wanted -= math.log(shares[0, middle].item()) / 3
    assert guessing.guess_loss(model, windows).item() == pytest.approx(wanted, rel=1e-5)


def test_the_groups_have_enough_words_to_draw():
    words = [word for group in guessing.GROUPS.values() for word in group]
    assert len(set(words)) == len(words) == 52
    assert all(len(group) >= guessing.DRAWN for group in guessing.GROUPS.values())


def test_words_that_lie_in_a_plane_keep_their_distances():
    generator = torch.Generator().manual_seed(2)
    base, _ = torch.linalg.qr(torch.randn(7, 3, generator=generator))  # (7, 3)
    angles = torch.rand(5, generator=generator) * 6
    # Unit vectors at one height over a plane: they differ in two directions alone.
    circle = torch.stack((0.6 * angles.cos(), 0.6 * angles.sin(), torch.full((5,), 0.8)), dim=1)
    others = torch.randn(6, 7, generator=generator)
    vectors = torch.cat((others, circle @ base.T)) * torch.arange(1, 12)[:, None]  # any lengths
    ids = torch.arange(6, 11)
    flat = guessing.flattened(vectors, ids)
    assert flat.shape == (11, 2)
    torch.testing.assert_close(flat[ids].mean(dim=0), torch.zeros(2), atol=1e-6, rtol=0)
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    apart, there = torch.cdist(flat, flat), torch.cdist(unit, unit)
    torch.testing.assert_close(apart[6:, 6:], there[6:, 6:], atol=1e-3, rtol=0)
    assert (apart <= there + 1e-3).all()  # a shadow is never longer
    # The first direction is the one in which they differ most.
    assert flat[ids, 0].var() > flat[ids, 1].var()
