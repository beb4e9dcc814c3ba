"""How small should patches be? The ViT of `digit_models` with each size, on plain images."""

from functools import partial
from typing import Any

from attnbook import digits
from attnbook.trained.digit_models import COUNTS, MODELS, PATCHES, SEEDS, score_once, small_vit
from attnbook.trained.recipe import Experiment


def _run() -> dict[str, Any]:
    _, lr = MODELS["ViT"]
    settings = {"n_images": max(COUNTS), "augment": False}
    task = digits.load()
    return {
        str(p): [score_once(partial(small_vit, p), lr, task, seed=s, **settings) for s in SEEDS]
        for p in PATCHES
    }


RECIPE = Experiment(name="plain_patches", data=("mnist5k",), seed=1, run=_run)
