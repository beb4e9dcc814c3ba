"""What a longer training consists of, so that anyone can do it again with one command."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model that is trained longer than a chapter can, and whose weights are kept.

    Args:
        name: of the module of the recipe, and of its files.
        data: the names of its data sets.
        seed: set before `build` and `fit`.
        build: gives the model with random weights; no data is read.
        fit: trains the model in place, from the model and a file to go on from (the `checkpoint`
            of `attnbook.training.train`), and gives the loss of each step. Where it trains several
            times, each has a file beside it: `checkpoint.with_suffix(".first.training")`, say.
            `make` removes them all once the weights are kept.
        measure: from the trained model to named numbers on held-out data. Tests compute them again
            and compare, so that it should take seconds.
    """

    name: str
    data: tuple[str, ...]
    seed: int
    build: Callable[[], nn.Module]
    fit: Callable[[nn.Module, Path], list[float]]
    measure: Callable[[nn.Module], dict[str, float]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A comparison that is longer than a chapter can be, and whose numbers alone are kept.

    Args:
        name: of the module of the experiment, and of its file.
        data: the names of its data sets.
        seed: set before `run`.
        run: gives the numbers, as dictionaries and lists that JSON can hold. A chapter computes one
            of them again.
    """

    name: str
    data: tuple[str, ...]
    seed: int
    run: Callable[[], dict[str, Any]]
