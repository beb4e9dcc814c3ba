"""GPT of chapter 15, trained on rows of worked examples: letter maps and translations."""

from pathlib import Path

import torch

from attnbook import worked_examples as task
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import linear_decay, train

CONFIG = GPTConfig(
    vocab_size=len(task.TOKENS),
    max_len=2 * task.EXAMPLES,
    d_model=64,
    n_heads=4,
    d_ff=128,
    n_layers=2,
    positions="rotary",
    tie_output=False,
)
SEED, STEPS, ROWS, LR = 15, 1600, 48, 0.02


def _build() -> GPT:
    return GPT(CONFIG)


def train_on_examples(
    model: GPT, checkpoint: Path, *, seed: int = SEED, maps: int | None = None
) -> list[float]:
    """Train on rows of letter maps and of translations -> the loss of each step.

    Args:
        model: what is trained.
        checkpoint: the file to go on from.
        seed, maps: as `ExampleBatches`.

    Chapter: 15_in_context
    """
    return train(
        model,
        task.ExampleBatches(ROWS, seed, maps=maps),
        task.answers_loss,
        steps=STEPS,
        lr=LR,
        optimizer=muon(model),
        schedule=linear_decay(warmup=0.05),
        checkpoint=checkpoint,
        every=100,
    )


def _measure(model: GPT) -> dict[str, float]:
    draws = torch.Generator().manual_seed(0)
    batch = task.letter_maps(task.random_maps(1000, draws), draws)
    right, shown = task.answered_right(model, batch), task.shown_before(batch)
    trained, held_out = (
        task.answered_right(model, task.translations(torch.tensor(some).repeat(n, 1), draws))
        for some, n in ((task.DIRECTIONS, 50), (task.HELD_OUT, 250))
    )
    return {
        "letters shown before": right[shown].mean().item(),
        "letters not shown": right[~shown].mean().item(),
        "translations, no example": trained[:, 0].mean().item(),
        "translations, 1 example": trained[:, 1].mean().item(),
        "held-out directions, 1 example": held_out[:, 1].mean().item(),
        "held-out directions, 11 examples": held_out[:, 11].mean().item(),
    }


RECIPE = Recipe(
    name="in_context", data=(), seed=SEED, build=_build, fit=train_on_examples, measure=_measure
)
