import math

import pytest
import torch

from attnbook import tagging
from attnbook.data import hkcancor
from attnbook.objectives.labels import IGNORE
from attnbook.tagging import PAD, UNKNOWN, MostFrequentTag, Tagging, WindowTagger

WORD_IDS, TAG_IDS = {"我": 2, "好": 3, "?": 4}, {"?": 0, "a": 1, "d": 2, "r": 3}


def utterance(words, tags):
    sounds = tuple("" if tag == "?" else "x1" for tag in tags)
    return hkcancor.Utterance("r", "A", tuple(words), tuple(tags), sounds)


def pair(*ids, targets=None):
    return torch.tensor(ids), torch.tensor(targets or ids)


class Fixed(torch.nn.Module):
    def __init__(self, scores):
        super().__init__()
        self.scores = scores

    def forward(self, ids):
        return self.scores


def small():
    train = [(torch.tensor([[3, 3], [3, 0]]), torch.tensor([[1, 2], [2, IGNORE]]))]
    return Tagging(WORD_IDS, TAG_IDS, train, [])


def test_an_utterance_becomes_ids_and_marks_are_not_scored():
    u = utterance(["我", "新", "好", "?"], ["r", "a", "a", "?"])
    ids, targets = tagging.encode_utterance(u, WORD_IDS, TAG_IDS)
    assert ids.tolist() == [2, UNKNOWN, 3, 4]
    assert targets.tolist() == [3, 1, 1, IGNORE]


def test_batches_hold_like_lengths_and_nothing_is_lost():
    pairs = [pair(*range(n, 2 * n)) for n in (5, 1, 4, 1, 3, 2)]
    batches = tagging.tagging_batches(pairs, 4)
    found = sorted(row[row != PAD].tolist() for ids, _ in batches for row in ids)
    assert found == sorted(ids.tolist() for ids, _ in pairs)
    for ids, targets in batches:
        assert ids.shape == targets.shape
        assert torch.equal(ids == PAD, targets == IGNORE)
        assert (len(ids) - 1) * ids.shape[1] < 4
    lengths = sorted((ids != PAD).sum(1).tolist() for ids, _ in batches)
    assert lengths == [[1, 1], [2, 3], [4], [5]]
    again = tagging.tagging_batches(pairs, 4)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(batches, again, strict=True))


def test_the_most_frequent_tag_is_counted_and_padding_is_not():
    task = small()
    assert (task.vocab_size, task.n_tags) == (5, 4)
    model = MostFrequentTag(task)
    assert model(torch.tensor([[3, 2]])).tolist() == [[[0, 1, 2, 0], [0, 0, 0, 0]]]
    assert tagging.tag_accuracy(model, task.train) == pytest.approx(2 / 3)
    assert tagging.tag_accuracy(model, task.train, lambda ids: ids == 3) == pytest.approx(2 / 3)
    first = tagging.tag_accuracy(model, task.train, lambda ids: torch.tensor([[True, False]] * 2))
    assert first == 0.5


def test_the_loss_is_that_of_the_words_that_count():
    scores = torch.zeros(2, 2, 4)
    scores[0, 0, 1] = math.log(3)  # p = 3/6 at the first word, 1/4 at the others
    scores[1, 1] = 100.0 * torch.arange(4)  # padding
    loss = tagging.tag_loss(Fixed(scores), small().train[0])
    assert loss.item() == pytest.approx((math.log(2) + 2 * math.log(4)) / 3)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_window_sees_so_many_words_and_no_more(width):
    model = WindowTagger(small(), width, 6).eval()
    ids = torch.tensor([[2, 3, 4, 2, 3, 4, 2]])
    before, other = model(ids), ids.clone()
    assert before.shape == (1, 7, 4)
    other[0, 3] = 4
    moved = (model(other) != before).any(dim=-1)[0].nonzero().flatten().tolist()
    assert moved == [i for i in range(7) if abs(i - 3) <= width // 2]


def test_a_window_knows_left_from_right():
    model = WindowTagger(small(), 3, 6).eval()
    one, two = model(torch.tensor([[2, 3, 4]])), model(torch.tensor([[4, 3, 2]]))
    assert not torch.allclose(one[0, 1], two[0, 1])


def test_wrong_sizes_are_named():
    with pytest.raises(ValueError, match="width must be odd"):
        WindowTagger(small(), 4, 6)
    with pytest.raises(ValueError, match="d_model"):
        WindowTagger(small(), 3, 0)
    with pytest.raises(ValueError, match="tokens"):
        tagging.load(0)


def test_the_real_task_has_the_sides_of_the_data_and_the_counted_baseline():
    task = tagging.load()
    train, _, test = hkcancor.split(hkcancor.load())
    for batches, side in ((task.train, train), (task.test, test)):
        assert sum(int((ids != PAD).sum()) for ids, _ in batches) == sum(len(u.words) for u in side)
        assert max(ids.numel() for ids, _ in batches) < 1024 + 200
    assert task.n_tags == len(hkcancor.TAGS)
    assert set(task.word_ids.values()) == set(range(2, task.vocab_size))
    assert tagging.tag_accuracy(MostFrequentTag(task), task.test) == pytest.approx(0.857, abs=5e-4)


def test_a_batch_without_a_word_that_counts_is_refused():
    batch = torch.tensor([[4, 4]]), torch.tensor([[IGNORE, IGNORE]])
    with pytest.raises(ValueError, match="batch must have a target"):
        tagging.tag_loss(MostFrequentTag(small()), batch)


@pytest.mark.usefixtures("plain")
def test_the_most_frequent_tag_takes_narrow_ids_and_refuses_others():
    model = MostFrequentTag(small())
    ids = torch.tensor([[1, 0, 1, 1, 3]])
    for dtype in (torch.uint8, torch.int16):
        assert torch.equal(model(ids.to(dtype)), model(ids))
    with pytest.raises(ValueError, match="ids must lie in 0 … 4, but -1"):
        model(ids - 1)
