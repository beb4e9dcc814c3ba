"""Few labelled digits: an encoder that has painted before, and the same one with random weights."""

from functools import partial
from typing import Any

from attnbook import digits, runtime
from attnbook.few_labels import COUNTS, choose_few
from attnbook.models.masked_autoencoder import MaskedAutoencoder
from attnbook.painting import reader_of
from attnbook.trained import painted_digits
from attnbook.trained.keep import load
from attnbook.trained.recipe import Experiment
from attnbook.training import linear_decay, train

SEEDS = (1, 2, 3)
STEPS, BATCH, LR = 60, 32, 2e-3


def name_digits(
    task: digits.DigitTask,
    autoencoder: MaskedAutoencoder,
    *,
    n: int,
    seed: int,
    pretrained: bool = True,
) -> float:
    """Train a reader with n labelled digits of each class, and measure it on the test images.

    Args:
        task: the labelled ones are drawn from its training images.
        autoencoder: whose encoder the reader starts from, or only has the sizes of.
        n: labelled images of each class.
        seed: of the choice, the weights and the batches.
        pretrained: whether the encoder's weights are taken.

    Returns:
        The share of right answers.

    Chapter: 17_beyond_text
    """
    images, labels = task.train
    few = choose_few(labels, n, seed=seed)
    runtime.seed(seed)
    reader = reader_of(autoencoder, digits.N_DIGITS, pretrained=pretrained)
    batches = digits.DigitBatches(images[few], labels[few], steps=STEPS, size=BATCH, seed=seed)
    settings = {"lr": LR, "schedule": linear_decay(0.1)}
    train(reader, batches, digits.digits_loss, steps=STEPS, **settings)
    return digits.digits_accuracy(reader, task.test)


def _run() -> dict[str, Any]:
    score = partial(name_digits, digits.load(), load(painted_digits.RECIPE))
    return {
        name: {
            str(n): [score(n=n, seed=seed, pretrained=name == "painted") for seed in SEEDS]
            for n in COUNTS
        }
        for name in ("painted", "random")
    }


RECIPE = Experiment(name="few_digits", data=("mnist5k",), seed=1, run=_run)
