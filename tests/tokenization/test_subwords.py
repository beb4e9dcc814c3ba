"""Subwords: what goes in comes back, as far as it can."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.tokenization.subwords import train_bpe, train_wordpiece, wordpiece_tokenizer

from .conftest import TEXTS, VOCAB

MARKS = ".,!?'-"


@given(text=st.text())
def test_bpe_gives_any_text_back(bpe, text):
    for special in (True, False):
        assert bpe.decode(bpe([text], add_special_tokens=special)["input_ids"][0]) == text


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧", "e\u0301 é", " \n\t  two  ", "[PAD] [EOS]", "a" * 5000, "\x00\u2028", "ǅ中"]
)
def test_bpe_gives_strange_text_back(bpe, text):
    assert bpe.decode(bpe([text])["input_ids"][0]) == text


def test_bpe_learns_and_keeps_its_size(bpe):
    assert bpe.vocab_size == 280
    assert bpe.tokenize("the lower") == ["the", "Ġlow", "er"]
    assert train_bpe(TEXTS, 259).tokenize("the") == ["t", "h", "e"]
    assert bpe.tokens(bpe.special_ids) == ["[PAD]", "[BOS]", "[EOS]"]


def basic(text):
    """BERT's basic tokenization, written a second time for the characters of this test."""
    letters = unicodedata.normalize("NFD", text.lower())
    letters = [c for c in letters if unicodedata.category(c) not in ("Mn", "Cc") or c in "\n\t"]
    return "".join(f" {c} " if c in MARKS or "一" <= c <= "鿿" else c for c in letters).split()


@given(text=st.text("abestnw AZÉéöñ\u0301\u0308\n\t\x00\u3000中文" + MARKS))
def test_wordpiece_gives_the_normalised_text_back(wordpiece, text):
    ids = wordpiece([text])["input_ids"][0]
    assert wordpiece.decode(ids) == " ".join(basic(text))


def test_wordpiece_with_capitals_and_accents():
    capitals = wordpiece_tokenizer([*VOCAB, "É", "A"], lowercase=False)
    assert capitals.tokenize("É A a") == ["É", "A", "a"]


def test_cjk_characters_stand_apart_and_marks_too(wordpiece):
    assert wordpiece.tokenize("new中文new!?") == ["new", "中", "文", "new", "!", "?"]
    assert wordpiece.tokenize("newest") == ["new", "##est"]


@pytest.mark.parametrize("word", ["☃", "a☃", "漢", "👍", "ab👍cd"])
def test_a_word_with_an_unknown_character_is_unknown_as_a_whole(wordpiece, word):
    assert wordpiece.tokenize(f"a {word} b") == ["a", "[UNK]", "b"]


def test_a_word_may_have_a_hundred_characters(wordpiece):
    assert wordpiece.tokenize("a" * 100) == ["a"] + ["##a"] * 99
    assert wordpiece.tokenize("a" * 101) == ["[UNK]"]
    assert wordpiece.tokenize("b" + " a" * 101) == ["b"] + ["a"] * 101


def test_the_name_of_a_special_token_stands_for_it(wordpiece):
    ids = wordpiece(["new[MASK]new"])["input_ids"][0]
    assert wordpiece.tokens(ids) == ["[CLS]", "new", "[MASK]", "new", "[SEP]"]


def test_a_trained_wordpiece():
    tokenizer = train_wordpiece(TEXTS, 50)
    assert tokenizer.vocab_size == 50
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.tokens(range(5)) == names
    assert tokenizer.special_ids == (0, 1, 2, 3, 4)
    assert tokenizer.decode(tokenizer(["The  LOWER, thé!"])["input_ids"][0]) == "the lower , the !"
    assert "T" in train_wordpiece(["The"], 60, lowercase=False).vocab


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize(("train", "least"), [(train_bpe, 259), (train_wordpiece, 6)])
    def test_vocab_size(self, train, least):
        with pytest.raises(ValueError, match=f"vocab_size must be at least {least}, not 5"):
            train(TEXTS, 5)
        with pytest.raises(TypeError, match=r"vocab_size must be an int, not 1e3|1000\.0"):
            train(TEXTS, 1e3)

    def test_vocab(self):
        with pytest.raises(ValueError, match=r"vocab must hold each token once, but 'a' is in it"):
            wordpiece_tokenizer([*VOCAB, "a"])
        with pytest.raises(ValueError, match=r"vocab must hold \[PAD\], .*, but has no \[SEP\]"):
            wordpiece_tokenizer([token for token in VOCAB if token not in ("[SEP]", "[MASK]")])
