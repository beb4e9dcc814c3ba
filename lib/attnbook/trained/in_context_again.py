"""The GPTs of `in_context` and `in_context_tasks` once more, from another seed: what holds?"""

from pathlib import Path

from torch import nn

from attnbook.models.gpt import GPT
from attnbook.trained import in_context, in_context_tasks
from attnbook.trained.recipe import Recipe

SEED = 16
MAPS = {"new": None, **{str(n): n for n in in_context_tasks.MAPS}}


def _build() -> nn.ModuleDict:
    return nn.ModuleDict({name: GPT(in_context.CONFIG) for name in MAPS})


def _fit(models: nn.ModuleDict, checkpoint: Path) -> list[float]:
    losses = []
    parts = {name: checkpoint.with_suffix(f".{name}.training") for name in MAPS}
    for name, part in parts.items():
        losses += in_context.train_on_examples(models[name], part, seed=SEED, maps=MAPS[name])
    for part in parts.values():
        part.unlink()
    return losses


def _measure(models: nn.ModuleDict) -> dict[str, float]:
    found = in_context.RECIPE.measure(models["new"])
    for n in in_context_tasks.MAPS:
        scores = in_context_tasks.own_and_new(models[str(n)], n, seed=SEED)
        found |= {f"{n} maps, {kind}": x for kind, x in scores.items()}
    return found


RECIPE = Recipe(
    name="in_context_again", data=(), seed=SEED, build=_build, fit=_fit, measure=_measure
)
