"""The machine at hand: which device, how large a model, which seed."""

import random
from typing import TypeVar

import numpy as np
import torch

T = TypeVar("T")


def device() -> torch.device:
    """The fastest device there is: cuda, else mps, else cpu.

    Chapter: 04_self_attention
    """
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def preset(*, cpu: T, gpu: T) -> T:
    """The sizes to use here: `gpu` where there is an accelerator, else `cpu`.

    Args:
        cpu: the sizes for the time budget of two processor cores; the book's outputs come from it.
        gpu: the sizes for an accelerator.

    Chapter: 04_self_attention
    """
    return cpu if device().type == "cpu" else gpu


def seed(number: int) -> None:
    """Start the random numbers of Python, NumPy and torch (all devices) from `number`.

    Chapter: 04_self_attention
    """
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)
