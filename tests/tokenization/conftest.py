"""Small tokenizers, made in a moment and without data."""

import pytest

from attnbook.tokenization.characters import character_tokenizer
from attnbook.tokenization.subwords import train_bpe, wordpiece_tokenizer

TEXTS = ["the lower the better", "newer, wider; the newest is the widest!", "low and slow"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
VOCAB = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    *(".,!?'-", "##est", "new", "中", "文"),
    *".,!?'-",
]


@pytest.fixture(scope="session")
def characters():
    return character_tokenizer(TEXTS)


@pytest.fixture(scope="session")
def bpe():
    return train_bpe(TEXTS, 280)


@pytest.fixture(scope="session")
def wordpiece():
    return wordpiece_tokenizer(VOCAB)
