"""The GPT of `in_context` again, on few letter maps: does it learn them, or learn to learn?"""

from pathlib import Path

import torch
from torch import nn

from attnbook import worked_examples as task
from attnbook.models.gpt import GPT
from attnbook.optimizers import muon
from attnbook.trained.in_context import CONFIG, LR, ROWS, SEED, STEPS
from attnbook.trained.recipe import Recipe
from attnbook.training import linear_decay, train

MAPS = (4, 64)  # of each model; that of `in_context` has a new one in each row


def _build() -> nn.ModuleDict:
    return nn.ModuleDict({str(n): GPT(CONFIG) for n in MAPS})


def _fit(models: nn.ModuleDict, checkpoint: Path) -> list[float]:
    losses = []
    parts = [checkpoint.with_suffix(f".{n}.training") for n in MAPS]
    for n, part in zip(MAPS, parts, strict=True):
        model = models[str(n)]
        losses += train(
            model,
            task.ExampleBatches(ROWS, SEED, maps=n),
            task.answers_loss,
            steps=STEPS,
            lr=LR,
            optimizer=muon(model),
            schedule=linear_decay(warmup=0.05),
            checkpoint=part,
            every=100,
        )
    for part in parts:
        part.unlink()
    return losses


def _measure(models: nn.ModuleDict) -> dict[str, float]:
    found = {}
    for n in MAPS:
        for kind, maps in (("its own", n), ("new", None)):
            draws = torch.Generator().manual_seed(0)
            rows = task.ExampleBatches(ROWS, SEED, maps=maps).drawn(500, draws)
            batch = task.letter_maps(rows, draws)
            right, shown = task.answered_right(models[str(n)], batch), task.shown_before(batch)
            for seen, where in (("shown", shown), ("not shown", ~shown)):
                found[f"{n} maps, {kind}, {seen}"] = right[where].mean().item()
    return found


RECIPE = Recipe(
    name="in_context_tasks", data=(), seed=SEED, build=_build, fit=_fit, measure=_measure
)
