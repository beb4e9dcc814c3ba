"""Naming photographs: two models of chapter 16 on CIFAR-10, for a machine with a GPU.

The images are in colour and 32 x 32. Batches, training and score are those of the digits.
"""

import dataclasses
from functools import partial

import torch

from attnbook import digits
from attnbook.data import cifar10
from attnbook.models.vit import ViT
from attnbook.trained import vit_mnist5k
from attnbook.trained.digit_models import MODELS, score_once

SIZE = 32
# The ViT that read the digits best: patches of 4 x 4.
CONFIG = dataclasses.replace(
    vit_mnist5k.CONFIG, image_size=SIZE, n_channels=3, n_classes=len(cifar10.CLASSES)
)


def load() -> digits.DigitTask:
    """CIFAR-10 as a task: images (N, 3, 32, 32) from -1 to 1, and what is on them.

    What `attnbook.digits.jitter` lets in from outside is 0, here a middle grey. The validation side
    is the last tenth of the set's training images: 45,000, 5,000 and 10,000 images.

    Raises:
        DataError: the data set cannot be had.

    Source: Krizhevsky 2009.
    Chapter: 16_vit
    """
    (images, labels), test = cifar10.load()
    cut = len(labels) * 9 // 10
    sides = (images[:cut], labels[:cut]), (images[cut:], labels[cut:]), test
    return digits.DigitTask(*((torch.tensor(x) / 127.5 - 1, torch.tensor(y)) for x, y in sides))


def score_models(task: digits.DigitTask, *, steps: int, seed: int = 1) -> dict[str, float]:
    """Train the ViT and the CNN on the jittered training images, and measure both on the test ones.

    Args:
        task: what `load` gives.
        steps: batches of 64 images.
        seed: of the weights and of the batches.

    Returns:
        The share of right answers of each, by its name.

    Chapter: 16_vit
    """
    cnn = partial(digits.DigitCNN, n_channels=CONFIG.n_channels, image_size=SIZE)
    makers = {"ViT": lambda: ViT(CONFIG), "CNN": cnn}
    settings = {"n_images": len(task.train[0]), "augment": True, "seed": seed, "steps": steps}
    return {
        name: score_once(make, MODELS[name][1], task, **settings) for name, make in makers.items()
    }
