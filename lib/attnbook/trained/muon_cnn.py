"""The CNN of `digit_models` for as many steps as `vit_mnist5k`, and with its optimizer."""

from typing import Any

from attnbook import digits
from attnbook.trained.digit_models import COUNTS, LONG_STEPS, score_once
from attnbook.trained.recipe import Experiment

LR = 1e-2  # better after 300 steps than 3e-3, and than AdamW's 3e-3, on the validation images


def _run() -> dict[str, Any]:
    settings = {"n_images": max(COUNTS), "augment": True, "steps": LONG_STEPS, "use_muon": True}
    return {"accuracy": score_once(digits.DigitCNN, LR, digits.load(), seed=1, **settings)}


RECIPE = Experiment(name="muon_cnn", data=("mnist5k",), seed=1, run=_run)
