"""The word vectors of the chapter on embeddings, trained on every window once."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook import guessing as task
from attnbook.data import sotu
from attnbook.metrics.counts import perplexity
from attnbook.models.cbow import CBOW, CBOWConfig
from attnbook.trained.recipe import Recipe
from attnbook.training import evaluate, linear_decay, train

CONFIG = CBOWConfig(vocab_size=task.VOCAB_SIZE, d_model=64)
SEED, ROWS, LR, TEST = 1, 512, 0.05, 20_000


class _Learnt(NamedTuple):
    """What is learnt from: the vocabulary, how often each word was seen, and the mixed windows.

    Args:
        vocabulary: the words by id.
        counts: how often each word occurs in the training texts.
        train, test: windows, (n, 5) and (20000, 5).
    """

    vocabulary: list[str]
    counts: Counter[str]
    train: Tensor
    test: Tensor


@cache
def load() -> _Learnt:
    """The words and windows of the speeches, as the chapter has them.

    Raises:
        DataError: the data set cannot be had.

    Source: American Presidency Project, public domain.
    Chapter: 01_embeddings
    """
    learn, _, test = (
        [task.plain_words(speech.text) for speech in side] for side in sotu.split(sotu.load())
    )
    counts = Counter(word for words in learn for word in words)
    vocabulary = task.vocabulary_of(counts)
    ids = {word: i for i, word in enumerate(vocabulary)}

    def mixed(texts: list[list[str]]) -> Tensor:
        windows = task.windows_of(
            torch.tensor([ids.get(word, task.UNKNOWN) for word in words]) for words in texts
        )
        generator = torch.Generator().manual_seed(SEED)
        return windows[torch.randperm(len(windows), generator=generator)]

    return _Learnt(vocabulary, counts, mixed(learn), mixed(test)[:TEST])


def _fit(model: CBOW, checkpoint: Path) -> list[float]:
    batches = load().train.split(ROWS)
    return train(
        model,
        batches,
        task.guess_loss,
        steps=len(batches),
        lr=LR,
        schedule=linear_decay(warmup=0.05),
        checkpoint=checkpoint,
    )


def _measure(model: CBOW) -> dict[str, float]:
    def summed(model: CBOW, batch: Tensor) -> tuple[Tensor, int]:
        return task.guess_loss(model, batch) * len(batch), len(batch)

    return {"perplexity": perplexity(evaluate(model, load().test.split(500), summed), 1)}


RECIPE = Recipe(
    name="cbow_sotu",
    data=("sotu",),
    seed=SEED,
    build=lambda: CBOW(CONFIG),
    fit=_fit,
    measure=_measure,
)
