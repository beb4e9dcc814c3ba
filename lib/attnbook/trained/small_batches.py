"""Fine-tuning on a few hundred labels, as in `sentiment`, but in small batches (chapter 13)."""

from itertools import product
from typing import Any

from attnbook.trained.recipe import Experiment
from attnbook.trained.sentiment import fine_tuned

# Of 8, 16 and 32 sentences a batch, and other rates with 32: the best on the validation side, as
# the mean of the seeds 0 and 1. One is as good as another within a standard error.
ROWS, EPOCHS = 16, 4
SIZES, SEEDS = (400, 800), (0, 1, 2)


def _run() -> dict[str, Any]:
    """The accuracy on the test sentences by the number of labels, a list over the seeds."""
    found: dict[str, list[float]] = {str(n): [] for n in SIZES}
    for n, seed in product(SIZES, SEEDS):
        found[str(n)].append(fine_tuned("pretrained", n, EPOCHS, seed, rows=ROWS))
        print(n, seed, found[str(n)][-1], flush=True)  # the next one takes a minute
    return {"rows": ROWS, "epochs": EPOCHS, "accuracy": found}


RECIPE = Experiment(name="small_batches", data=("minilm", "movies"), seed=0, run=_run)
