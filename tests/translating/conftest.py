"""A small translation task out of a test module's `PAIRS`, and an untrained model for it."""

import pytest
import torch

from attnbook import translating
from attnbook.tokenization.subwords import train_bpe
from attnbook.translating import Translating


@pytest.fixture(scope="module")
def task(request):
    pairs = request.module.PAIRS
    texts = [text for pair in pairs for text in (pair.english, *pair.translations)]
    return Translating(train_bpe(texts, 300), pairs, pairs, pairs)


@pytest.fixture
def model(task, monkeypatch):
    monkeypatch.setattr(translating, "VOCAB_SIZE", task.tokenizer.vocab_size)
    torch.manual_seed(0)
    return translating.translator(16, 1, dropout=0.0)
