"""Each character is a token, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.tokenization.characters import character_tokenizer

ALPHABET = "ab\n\t 中é́👍‍\u2028[]PAD"  # an accent of its own, a joiner, a line separator


@pytest.fixture(scope="module")
def tokenizer():
    return character_tokenizer(["ba", ALPHABET])


@given(text=st.text(ALPHABET))
def test_there_and_back(tokenizer, text):
    ids = tokenizer([text])["input_ids"][0]
    assert len(ids) == len(text) + 2
    assert tokenizer.decode(ids) == text
    assert tokenizer.tokenize(text) == list(text)


def test_ids_are_in_the_order_of_code_points():
    tokenizer = character_tokenizer(["ba", "c"])
    assert tokenizer.vocab == {
        token: i for i, token in enumerate(["[PAD]", "[UNK]", "[BOS]", "[EOS]", "a", "b", "c"])
    }


def test_each_unknown_character_is_unknown_by_itself(tokenizer):
    assert tokenizer.tokenize("axyb") == ["a", "[UNK]", "[UNK]", "b"]
    assert tokenizer.tokenize("e\u0301é") == ["[UNK]", "\u0301", "é"]


def test_the_name_of_a_special_token_is_read_letter_by_letter(tokenizer):
    assert tokenizer.tokenize("[PAD]") == ["[", "P", "A", "D", "]"]


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="texts must hold at least one character"):
        character_tokenizer(["", ""])
