"""The short trainings of chapter 14 from other seeds: how much of their losses is chance?"""

from dataclasses import replace
from typing import Any

from attnbook import writing
from attnbook.trained import quality_per_second
from attnbook.trained.keep import about
from attnbook.trained.recipe import Experiment
from attnbook.writing import settings

SEEDS = (15, 16)  # the ladder, which takes longer, has the first alone


def _run() -> dict[str, Any]:
    task = writing.load()
    kept = about(quality_per_second.RECIPE)["results"]
    ratio = kept["plain"]["seconds"][-1] / kept["quick"]["seconds"][-1]
    short = replace(settings.PLAIN, steps=round(settings.PLAIN.steps / ratio))

    def reached(setting: settings.Setting, seed: int) -> float:
        _, curve = settings.learning_curve(task, setting, at=(), seed=seed)
        print(seed, curve, flush=True)
        return curve.losses[-1]

    return {
        "quick": [reached(settings.QUICK, seed) for seed in SEEDS],
        "plain, in the same time": [reached(short, seed) for seed in SEEDS],
        "rungs": {name: reached(rung, SEEDS[0]) for name, rung in quality_per_second.rungs()},
    }


RECIPE = Experiment(name="quality_other_seeds", data=("shakespeare",), seed=15, run=_run)
