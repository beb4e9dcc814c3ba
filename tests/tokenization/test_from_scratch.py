"""The plain versions, on words that can be cut by hand; tests/reference has the parity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.tokenization.from_scratch import apply_bpe, apply_wordpiece, learn_bpe

WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}  # the example of the paper


def ranks(merges):
    return {pair: rank for rank, pair in enumerate(merges)}


def test_the_papers_example():
    merges = learn_bpe(WORDS, 4)
    # es, est, lo and low are what the paper's text names; ties fall to the older symbols.
    assert merges == [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")]
    assert apply_bpe("lowest", ranks(merges)) == ["low", "est"]


def test_ties_fall_to_the_older_symbols():
    assert learn_bpe({"cd": 1, "ab": 1, "ac": 1}, 9) == [("a", "b"), ("a", "c"), ("c", "d")]
    # "ab" is younger than all characters, "c" before "d" is older.
    assert learn_bpe({"abc": 2, "cd": 2, "ab": 1}, 9)[1:] == [("c", "d"), ("ab", "c")]


def test_a_pair_is_joined_from_left_to_right():
    assert learn_bpe({"aaa": 1}, 9) == [("a", "a"), ("aa", "a")]
    assert apply_bpe("aaaaa", {("a", "a"): 0}) == ["aa", "aa", "a"]


def test_counts_follow_the_merges():
    """After "ab" is one symbol, "bc" is not the pair that it was."""
    assert learn_bpe({"abc": 3, "ab": 1, "bcd": 2, "cd": 1}, 3) == [
        ("b", "c"),
        ("a", "bc"),
        ("bc", "d"),
    ]


def test_how_many_merges():
    assert learn_bpe(WORDS, 0) == []
    assert learn_bpe({}, 3) == learn_bpe({"a": 5, "": 2}, 3) == []
    full = learn_bpe(WORDS, 1000)
    assert all(apply_bpe(word, ranks(full)) == [word] for word in WORDS)


def test_the_alphabet_is_older_than_what_is_merged():
    words = {"bb": 3, "ba": 1, "bz": 1}
    assert learn_bpe(words, 3, "xyz") == learn_bpe(words, 3)


def test_the_earliest_merge_goes_first_wherever_it_stands():
    assert apply_bpe("abc", ranks([("b", "c"), ("a", "b")])) == ["a", "bc"]
    assert apply_bpe("abc", ranks([("a", "b"), ("b", "c")])) == ["ab", "c"]
    assert apply_bpe("", {}) == []


@given(word=st.text("abc"), merges=st.lists(st.tuples(*[st.text("abc", min_size=1)] * 2)))
def test_the_pieces_of_bpe_are_the_word(word, merges):
    assert "".join(apply_bpe(word, ranks(merges))) == word


def test_wordpiece_takes_the_longest_piece_and_never_goes_back():
    vocab = {"un", "una", "##aff", "##able", "##ffable"}
    assert apply_wordpiece("unaffable", vocab) == ["una", "##ffable"]
    assert apply_wordpiece("unaffable", vocab - {"##ffable"}) == [
        "[UNK]"
    ]  # un ##aff ##able would do
    assert apply_wordpiece("unaffable", vocab - {"una"}) == ["un", "##aff", "##able"]


@pytest.mark.parametrize(("word", "pieces"), [("", []), ("b", ["[UNK]"]), ("ab", ["[UNK]"])])
def test_wordpiece_at_its_edges(word, pieces):
    assert apply_wordpiece(word, {"a", "##a"}) == pieces


def test_wordpieces_longest_word():
    assert apply_wordpiece("a" * 100, {"a", "##a"}) == ["a"] + ["##a"] * 99
    assert apply_wordpiece("a" * 101, {"a", "##a"}) == ["[UNK]"]
    assert apply_wordpiece("aaa", {"a", "##a"}, longest_word=2, unknown="?") == ["?"]
