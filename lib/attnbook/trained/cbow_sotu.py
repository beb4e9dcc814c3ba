"""The word vectors of the chapter on embeddings, trained on every window once."""

from collections import Counter
from functools import cache
from pathlib import Path

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


@cache
def load() -> tuple[list[str], Tensor, Tensor]:
    """The vocabulary, and the windows for training and for test, (n, 5) and (20000, 5), mixed.

    Raises:
        DataError: the data set cannot be had.

    Source: American Presidency Project, public domain.
    Chapter: 01_embeddings
    """
    learn, _, test = (
        [task.plain_words(speech.text) for speech in side] for side in sotu.split(sotu.load())
    )
    vocabulary = task.vocabulary_of(Counter(word for words in learn for word in words))
    ids = {word: i for i, word in enumerate(vocabulary)}

    def mixed(texts: list[list[str]]) -> Tensor:
        windows = task.windows_of(
            torch.tensor([ids.get(word, task.UNKNOWN) for word in words]) for words in texts
        )
        generator = torch.Generator().manual_seed(SEED)
        return windows[torch.randperm(len(windows), generator=generator)]

    return vocabulary, mixed(learn), mixed(test)[:TEST]


def _fit(model: CBOW, checkpoint: Path) -> list[float]:
    _, windows, _ = load()
    batches = windows.split(ROWS)
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
    _, _, windows = load()

    def summed(model: CBOW, batch: Tensor) -> tuple[Tensor, int]:
        return task.guess_loss(model, batch) * len(batch), len(batch)

    return {"perplexity": perplexity(evaluate(model, windows.split(500), summed), 1)}


RECIPE = Recipe(
    name="cbow_sotu",
    data=("sotu",),
    seed=SEED,
    build=lambda: CBOW(CONFIG),
    fit=_fit,
    measure=_measure,
)
