from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.metrics.edits import edit_distance, phoneme_error_rate, word_error_rate

texts = st.text("abc", max_size=7)


def by_recursion(a, b):
    """The definition: take off the first of a, of b, or of both, and add what it costs."""

    @cache
    def distance(i, j):
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j
        return min(
            distance(i + 1, j) + 1,
            distance(i, j + 1) + 1,
            distance(i + 1, j + 1) + (a[i] != b[j]),
        )

    return distance(0, 0)


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ("", "", 0),
        ("abc", "", 3),
        ("", "ab", 2),
        ("kitten", "sitting", 3),
        ("ab", "ba", 2),
        ("intention", "execution", 5),
        (["HH", "AH"], ["HH", "EH", "L"], 2),
        (("a", "b"), ["a", "b"], 0),
    ],
)
def test_by_hand(a, b, wanted):
    assert edit_distance(a, b) == wanted


@given(texts, texts)
def test_by_the_definition(a, b):
    assert edit_distance(a, b) == by_recursion(a, b)
    assert edit_distance(list(a), tuple(b)) == by_recursion(a, b)


@given(texts, texts, texts)
def test_it_is_a_distance(a, b, c):
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, b) == edit_distance(b, a)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


def words(*texts):
    return [text.split() for text in texts]


PREDICTED = words("R EH D", "K AE T", "", "T UW")
LISTED = [
    words("R IY D", "R EH D"),
    words("K AA T S", "K AE D"),
    words("AH"),
    words("T AH", "T UW N"),
]


def test_error_rates_by_hand():
    # Nearest: R EH D (0 of 3), K AE D (1 of 3), AH (1 of 1), of two at 1 the first: T AH (1 of 2).
    assert phoneme_error_rate(PREDICTED, LISTED) == 3 / 9
    assert word_error_rate(PREDICTED, LISTED) == 3 / 4


def test_any_listed_pronunciation_is_right():
    listed = words("R IY D", "R EH D")
    for word in listed:
        for order in (listed, listed[::-1]):
            assert phoneme_error_rate([word], [order]) == word_error_rate([word], [order]) == 0


def test_errors_are_summed_over_the_words_before_the_quotient():
    predicted, listed = words("A", "B C D"), [words("X"), words("B C D")]
    assert phoneme_error_rate(predicted, listed) == 1 / 4  # the mean of the words' rates is 1/2
    assert phoneme_error_rate(words("A B C"), [words("X")]) == 3  # above 1 where far too long


def test_lists_and_tuples_of_phonemes_are_the_same():
    assert word_error_rate([("A", "B")], [[["A", "B"]]]) == 0


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_strings_beside_tokens(self):
        for a, b in [("a b", ["a", "b"]), (["a", "b"], "ab")]:
            with pytest.raises(TypeError, match="a and b must both be strings or both be tokens"):
                edit_distance(a, b)

    @pytest.mark.parametrize("rate", [phoneme_error_rate, word_error_rate])
    def test_nesting(self, rate):
        with pytest.raises(TypeError, match=r"predicted\[0\] must be a list of phonemes"):
            rate(["R EH D"], [words("R EH D")])
        with pytest.raises(TypeError, match=r"references\[0\] .*'R' stands in place"):
            rate(words("R EH D"), words("R EH D"))
        with pytest.raises(TypeError, match="predicted must be a list, not 'R EH D'"):
            rate("R EH D", [words("R EH D")])
        with pytest.raises(ValueError, match=r"references\[0\] must hold at least one"):
            rate(words("R"), [[]])
        with pytest.raises(ValueError, match=r"references\[0\] holds a pronunciation without"):
            rate(words("R"), [[["R"], []]])

    @pytest.mark.parametrize("rate", [phoneme_error_rate, word_error_rate])
    def test_lengths(self, rate):
        with pytest.raises(ValueError, match=r"predicted and references must be of one .* 1 and 2"):
            rate(words("R"), [words("R"), words("R")])
        with pytest.raises(ValueError, match="at least 1, not 0 and 0"):
            rate([], [])
