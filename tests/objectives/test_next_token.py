import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import masks
from attnbook.objectives.labels import IGNORE, mean_nll, summed_nll
from attnbook.objectives.next_token import next_tokens

EOS = PAD = 0  # one token for both, as in GPT-2


def test_by_hand():
    inputs, labels = next_tokens(torch.tensor([[5, 6, 7, 8]]))
    assert inputs.tolist() == [[5, 6, 7]]
    assert labels.tolist() == [[6, 7, 8]]


def test_the_end_keeps_its_label_where_padding_has_its_id():
    ids = torch.tensor([[5, 6, EOS, PAD, PAD], [5, EOS, PAD, PAD, PAD], [5, 6, 7, 8, EOS]])
    inputs, labels = next_tokens(ids, lengths=torch.tensor([3, 2, 5]))
    assert inputs.tolist() == ids[:, :-1].tolist()
    X = IGNORE
    assert labels.tolist() == [[6, EOS, X, X], [EOS, X, X, X], [6, 7, 8, EOS]]


def test_left_padding():
    ids = torch.tensor([[PAD, PAD, 5, 6, EOS]])
    _, labels = next_tokens(ids, real=torch.tensor([[0, 0, 1, 1, 1]]) == 1)
    X = IGNORE  # no one can know the first token from the padding before it
    assert labels.tolist() == [[X, X, 6, EOS]]


def test_empty_and_one_token_sequences_ask_nothing():
    _, labels = next_tokens(torch.tensor([[5, 6], [5, 6]]), lengths=torch.tensor([0, 1]))
    assert (labels == IGNORE).all()
    assert [x.shape for x in next_tokens(torch.zeros(0, 3).long())] == [(0, 2)] * 2  # no sequence


@given(st.data(), st.integers(1, 4), st.integers(2, 7))
def test_each_label_is_the_next_input(data, B, L):
    ids = torch.tensor(
        data.draw(
            st.lists(st.lists(st.integers(0, 3), min_size=L, max_size=L), min_size=B, max_size=B)
        )
    )
    lengths = torch.tensor(data.draw(st.lists(st.integers(0, L), min_size=B, max_size=B)))
    before = ids.clone()
    inputs, labels = next_tokens(ids, lengths=lengths)
    for b in range(B):
        for t in range(L - 1):
            assert inputs[b, t] == before[b, t]
            assert labels[b, t] == (before[b, t + 1] if t + 1 < lengths[b] else IGNORE)
    assert torch.equal(ids, before)
    real = masks.padding(lengths, L)[:, 0]
    assert torch.equal(next_tokens(ids, real=real)[1], labels)


def test_the_shift_is_done_once():
    """A model that knows the successor loses nothing; the loss must not shift again."""
    ids = torch.tensor([[1, 3, 2, 4, 0]])
    successor = {1: 3, 3: 2, 2: 4, 4: 0}
    inputs, labels = next_tokens(ids)
    known = [[successor[int(i)] for i in row] for row in inputs]
    logits = 50.0 * torch.nn.functional.one_hot(torch.tensor(known), 5)  # (B, T) -> (B, T, V)
    assert mean_nll(logits, labels).item() < 1e-6
    copied = 50.0 * torch.nn.functional.one_hot(inputs, 5)  # a model that repeats its input
    assert mean_nll(copied, labels).item() > 40
    assert summed_nll(logits, labels)[1] == 4


@pytest.mark.parametrize(
    "kind", [torch.int16, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
)
@pytest.mark.usefixtures("plain")  # the checker knows signed kinds alone
def test_labels_are_whole_words_of_torch_whatever_the_ids_are(kind):
    inputs, labels = next_tokens(torch.tensor([[200, 7, 9]], dtype=kind), lengths=torch.tensor([2]))
    assert inputs.dtype == labels.dtype == torch.long
    assert labels.tolist() == [[7, IGNORE]]


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("size", [(4,), (2, 1), (2, 3, 4)])
    def test_shape(self, size):
        with pytest.raises(ValueError, match=r"ids must have the shape \(B, L\), L at least 2"):
            next_tokens(torch.zeros(size, dtype=torch.long))

    def test_ids(self):
        with pytest.raises(ValueError, match="ids must be at least 0, but -100 is among them"):
            next_tokens(torch.tensor([[1, IGNORE, 2]]))
        with pytest.raises(TypeError, match="ids must hold integers"):
            next_tokens(torch.zeros(2, 3))

    def test_padding(self):
        ids = torch.ones(2, 3, dtype=torch.long)
        real = torch.ones(2, 3, dtype=torch.bool)
        with pytest.raises(TypeError, match="give lengths or real, not both"):
            next_tokens(ids, lengths=torch.tensor([1, 2]), real=real)
        with pytest.raises(ValueError, match=r"lengths must have one entry a sequence, 2 .* not 1"):
            next_tokens(ids, lengths=torch.tensor([1]))
        with pytest.raises(ValueError, match="lengths must lie in 0 … S = 3"):
            next_tokens(ids, lengths=torch.tensor([1, 4]))
        with pytest.raises(
            ValueError, match=r"real must have the shape of ids, \(2, 3\), not \(2, 1, 3\)"
        ):
            next_tokens(ids, real=real[:, None])
        with pytest.raises(TypeError, match=r"real must be boolean, not torch\.int64"):
            next_tokens(ids, real=real.long())
