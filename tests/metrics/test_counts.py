import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.metrics.counts import (
    bits_per_character,
    correct_sequences,
    correct_tokens,
    perplexity,
)
from attnbook.objectives.labels import IGNORE, summed_nll
from attnbook.training import evaluate

X = IGNORE


def test_by_hand():
    predicted = torch.tensor([[1, 2, 3], [4, 5, 0], [7, 7, 7], [0, 0, 0]])
    labels = torch.tensor([[1, 2, X], [4, 0, 0], [X, X, X], [0, 0, 0]])
    assert correct_tokens(predicted, labels) == (7, 8)
    assert correct_sequences(predicted, labels) == (2, 3)


def test_what_is_ignored_is_neither_right_nor_counted():
    same = torch.full((2, 3), X)
    assert correct_tokens(same, same) == (0, 0)
    assert correct_sequences(same, same) == (0, 0)
    assert correct_tokens(torch.zeros(0).int(), torch.zeros(0).int()) == (0, 0)
    assert correct_tokens(torch.tensor([0, 1]), torch.tensor([0, 0])) == (1, 2)  # 0 is a class


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0, 1, X])), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_by_definition(rows):
    predicted = torch.tensor([[p for p, _ in row] for row in rows])
    labels = torch.tensor([[y for _, y in row] for row in rows])
    asked = [[(p, y) for p, y in row if y != X] for row in rows]
    tokens = [p == y for row in asked for p, y in row]
    sequences = [all(p == y for p, y in row) for row in asked if row]
    assert correct_tokens(predicted, labels) == (sum(tokens), len(tokens))
    assert correct_sequences(predicted, labels) == (sum(sequences), len(sequences))


def test_evaluate_averages_over_tokens_not_over_batches():
    batches = [
        (torch.tensor([1, 1, 1, 1]), torch.tensor([1, 1, 1, 1])),
        (torch.tensor([1]), torch.tensor([0])),
    ]
    score = evaluate(
        torch.nn.Linear(1, 1), batches, lambda _, batch: correct_tokens(*batch), device="cpu"
    )
    assert score == 4 / 5


def test_perplexity_by_hand():
    assert perplexity(3 * math.log(8), 3) == pytest.approx(8)
    assert perplexity(0.0, 5) == 1
    assert perplexity(math.inf, 5) == perplexity(1e6, 1) == math.inf
    even = summed_nll(torch.zeros(2, 3, 11), torch.zeros(2, 3, dtype=torch.long))
    assert perplexity(*even) == pytest.approx(11)


def test_perplexity_is_the_inverse_of_the_geometric_mean():
    p = [0.5, 0.25, 0.125]
    assert perplexity(-sum(map(math.log, p)), 3) == pytest.approx(math.prod(p) ** (-1 / 3))


def test_bits_by_hand():
    assert bits_per_character(10 * math.log(2), 5) == pytest.approx(2)
    # Two tokens of 3 and 5 characters, each at 1/16: 8 bits over 8 characters.
    assert bits_per_character(torch.tensor(2 * math.log(16)), torch.tensor(8)) == pytest.approx(1)


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("function", [correct_tokens, correct_sequences])
    def test_tensors(self, function):
        x = torch.zeros(2, 3, dtype=torch.long)
        with pytest.raises(ValueError, match=r"predicted must have the shape of labels, \(2, 3\)"):
            function(x[:1], x)
        with pytest.raises(TypeError, match="predicted must hold integers"):
            function(x.float(), x)
        with pytest.raises(TypeError, match="labels must hold integers"):
            function(x, x.float())

    def test_sequences_have_two_axes(self):
        x = torch.zeros(3, dtype=torch.long)
        with pytest.raises(ValueError, match=r"labels must have 2 axes \(B, T\), .* \(3,\)"):
            correct_sequences(x, x)

    @pytest.mark.parametrize(
        ("function", "name"), [(perplexity, "count"), (bits_per_character, "n_characters")]
    )
    def test_numbers(self, function, name):
        for count in (0, -1, torch.tensor(0)):
            with pytest.raises(ValueError, match=f"{name} must be above 0"):
                function(1.0, count)
        for nll in (-0.5, math.nan):
            with pytest.raises(ValueError, match=f"nll must be at least 0, not {nll}"):
                function(nll, 3)
