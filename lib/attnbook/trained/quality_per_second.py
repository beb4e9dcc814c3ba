"""Two ways to train a small GPT, in one run, and what each change between them brings."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attnbook import writing
from attnbook.trained.recipe import Experiment
from attnbook.training import linear_decay
from attnbook.writing import settings

SMALL_STEPS = 400


def rungs() -> Iterator[tuple[str, settings.Setting]]:
    """From the plain setting to the quick one, one change after the other, at the quick one's size.

    Chapter: 14_gpt
    """
    quick = settings.QUICK.config
    plain = replace(quick, positions="learned", activation="gelu")
    setting = replace(settings.PLAIN, config=plain, steps=SMALL_STEPS)
    yield "plain, but small", setting
    setting = replace(setting, lr=0.005)
    yield "a larger learning rate", setting
    setting = replace(setting, config=replace(plain, positions="rotary"))
    yield "rotary positions", setting
    setting = replace(setting, config=quick)
    yield "squared ReLU", setting
    setting = replace(setting, silent=True)
    yield "silent layers", setting
    setting = replace(setting, use_muon=True, lr=0.02)
    yield "Muon", setting
    yield "linear decay", replace(setting, schedule=linear_decay())


def _run() -> dict[str, Any]:
    task = writing.load()
    results: dict[str, Any] = {}
    for name, setting in (("quick", settings.QUICK), ("plain", settings.PLAIN)):
        at = [round(setting.steps * share) for share in (0.125, 0.25, 0.5, 0.75)]
        model, curve = settings.learning_curve(task, setting, at=at)
        results[name] = {
            "parameters": sum(p.numel() for p in model.parameters()),
            "steps": [*at, setting.steps],
            "seconds": curve.seconds,
            "losses": curve.losses,
        }
        print(name, results[name], flush=True)
    results["rungs"] = {}
    for name, setting in rungs():
        _, curve = settings.learning_curve(task, setting, at=())
        results["rungs"][name] = {"seconds": curve.seconds[-1], "loss": curve.losses[-1]}
        print(name, results["rungs"][name], flush=True)
    return results


RECIPE = Experiment(name="quality_per_second", data=("shakespeare",), seed=14, run=_run)
