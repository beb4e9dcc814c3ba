"""The GPT of `in_context` again, on few letter maps: does it learn them, or learn to learn?"""

from pathlib import Path

import torch
from torch import nn

from attnbook import worked_examples as task
from attnbook.models.gpt import GPT
from attnbook.trained import in_context
from attnbook.trained.recipe import Recipe

MAPS = (4, 64)  # of each model; that of `in_context` has a new one in each row


def _build() -> nn.ModuleDict:
    return nn.ModuleDict({str(n): GPT(in_context.CONFIG) for n in MAPS})


def _fit(models: nn.ModuleDict, checkpoint: Path) -> list[float]:
    losses = []
    parts = [checkpoint.with_suffix(f".{n}.training") for n in MAPS]
    for n, part in zip(MAPS, parts, strict=True):
        losses += in_context.train_on_examples(models[str(n)], part, maps=n)
    for part in parts:
        part.unlink()
    return losses


def own_and_new(
    model: GPT, maps: int | None, *, seed: int = in_context.SEED, first: int = 0
) -> dict[str, float]:
    """The shares of right answers on 500 rows of a model's own letter maps, and on new ones.

    Args:
        model: what is examined.
        maps, seed: as `ExampleBatches` had them in the training.
        first: the first question of a row that counts, from 0.

    Returns:
        "its own, shown", "its own, not shown", "new, shown" and "new, not shown": whether the row
        had shown the answer before.

    Chapter: 15_in_context
    """
    found = {}
    for kind, n in (("its own", maps), ("new", None)):
        draws = torch.Generator().manual_seed(0)
        rows = task.ExampleBatches(in_context.ROWS, seed, maps=n).drawn(500, draws)
        batch = task.letter_maps(rows, draws)
        right, shown = task.answered_right(model, batch), task.shown_before(batch)
        right, shown = right[:, first:], shown[:, first:]
        found[f"{kind}, shown"] = right[shown].mean().item()
        found[f"{kind}, not shown"] = right[~shown].mean().item()
    return found


def _measure(models: nn.ModuleDict) -> dict[str, float]:
    return {
        f"{n} maps, {kind}": x for n in MAPS for kind, x in own_and_new(models[str(n)], n).items()
    }


RECIPE = Recipe(
    name="in_context_tasks",
    data=(),
    seed=in_context.SEED,
    build=_build,
    fit=_fit,
    measure=_measure,
)
