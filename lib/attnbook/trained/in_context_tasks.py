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
    for n in MAPS:
        part = checkpoint.with_suffix(f".{n}.training")
        losses += in_context.train_on_examples(models[str(n)], part, maps=n)
    return losses


def _measure(models: nn.ModuleDict) -> dict[str, float]:
    found = {}
    for n in MAPS:
        for kind, maps in (("its own", n), ("new", None)):
            draws = torch.Generator().manual_seed(0)
            batches = task.ExampleBatches(in_context.ROWS, in_context.SEED, maps=maps)
            batch = task.letter_maps(batches.drawn(500, draws), draws)
            right, shown = task.answered_right(models[str(n)], batch), task.shown_before(batch)
            for seen, where in (("shown", shown), ("not shown", ~shown)):
                found[f"{n} maps, {kind}, {seen}"] = right[where].mean().item()
    return found


RECIPE = Recipe(
    name="in_context_tasks",
    data=(),
    seed=in_context.SEED,
    build=_build,
    fit=_fit,
    measure=_measure,
)
