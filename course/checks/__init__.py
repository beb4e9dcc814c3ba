"""What is asked of each task, as numbers: one module an assignment, NN_name.

A task has properties, each with its points. A property holds where the function gives the expected
numbers on all of its cases. The expected ones come from plain loops over numpy, never from
`attnbook`: so the same cases grade a student and guard the library.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COURSE = Path(__file__).resolve().parent.parent
PUBLIC_SEED, HIDDEN_SEED = 1, 20_261


@dataclass(frozen=True)
class Property:
    """One thing that must hold: `says` is what the student reads, `cases` are plain numbers."""

    says: str
    points: int
    cases: list[dict[str, Any]]

    def plain(self) -> dict[str, Any]:
        return {"says": self.says, "points": self.points, "cases": self.cases}


@dataclass(frozen=True)
class Task:
    """One task of a notebook.

    Args:
        name: the grade id of its cell.
        function: the name that the student defines; None for a task that is graded by hand.
        points: the sum over its properties.
        make: (rng, public) -> properties; small sizes for the public tests, others for the hidden.
        answers: for a task with numbers of the student's own: these numbers -> the right results,
            as plain numbers. It stands alone: its source goes into the instructor's notebook.
        seconds: of processor time, for one call.
        teaches: what the student learns, for the guide.
    """

    name: str
    function: str | None
    points: int
    teaches: str
    make: Callable[[np.random.Generator, bool], list[Property]] | None = None
    answers: Callable[[dict], list[dict]] | None = None
    seconds: int = 10

    def properties(self, public: bool) -> list[Property]:
        seed = PUBLIC_SEED if public else HIDDEN_SEED
        # A stream for each task: another task's draws do not change this one's numbers.
        stream = [seed, *self.name.encode()]
        return [] if self.make is None else self.make(np.random.default_rng(stream), public)


@dataclass(frozen=True)
class Assignment:
    """A notebook in `source/`: its tasks in order, the hours they take and the chapters before."""

    name: str
    title: str
    chapters: str
    hours: float
    tasks: list[Task]
    numbers: dict[str, dict] = field(default_factory=dict)

    @property
    def points(self) -> int:
        return sum(task.points for task in self.tasks)

    @property
    def source(self) -> Path:
        return COURSE / "source" / self.name / f"{self.name}.ipynb"

    @property
    def automatic(self) -> list[Task]:
        return [task for task in self.tasks if task.function]

    @property
    def by_hand(self) -> list[Task]:
        return [task for task in self.tasks if not task.function]


def names() -> list[str]:
    """The assignments that there are."""
    return sorted(file.stem for file in Path(__file__).parent.glob("[0-9][0-9]_*.py"))


def load(name: str) -> Assignment:
    """Raises: ValueError for a name that there is not."""
    if name not in names():
        raise ValueError(f"there is no assignment {name!r}; there are {', '.join(names())}")
    return importlib.import_module(f"course.checks.{name}").ASSIGNMENT


def array(x: Any) -> dict[str, Any]:
    """Numbers as they travel, with the kind that a tensor of them gets."""
    x = np.asarray(x)
    kind = {"b": "bool", "i": "int", "f": "float"}[x.dtype.kind]
    flat = x.ravel().tolist()
    # What goes out as decimal text is what the reference computes with.
    return {"shape": list(x.shape), "data": flat, "kind": kind}


def expected(x: Any) -> dict[str, Any] | None:
    """A result as `handout.compare` reads it: an array, or several of them as a tuple."""
    if isinstance(x, tuple):
        return {"parts": [expected(part) for part in x]}
    if x is None:
        return None
    x = np.asarray(x, dtype=float)
    return {"shape": list(x.shape), "data": x.ravel().tolist()}


def case(reference: Callable, *args: Any) -> dict[str, Any]:
    """A case whose expected result the reference computes now."""
    plain = [array(x) if isinstance(x, np.ndarray) else x for x in args]
    return {"args": plain, "expected": expected(reference(*args))}


# What several assignments need


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draws with two decimals, short enough to be shown to a student."""
    return rng.normal(size=shape).round(2)


def only(reference: Callable, *parts: int) -> Callable:
    """The reference, of whose results only these are looked at."""
    return lambda *args: tuple(
        x if i in parts else None for i, x in enumerate(reference(*args))
    )  # fmt: skip


def own_part(i: int, n: int, form: dict[str, Any]) -> list[dict[str, Any]]:
    """The i-th of n results by hand: its form for everyone, its numbers by the student's id."""
    parts = [form if j == i else None for j in range(n)]
    return [{"args": [], "of": [j == i for j in range(n)], "tolerance": 0.003,
             "expected": {"parts": parts}}]  # fmt: skip


def at_least(share: float, labels: np.ndarray, *args: np.ndarray) -> list[dict[str, Any]]:
    """A case of a training: this share of the labels must be right."""
    wanted = {"labels": labels.ravel().tolist(), "at_least": share}
    if labels.ndim > 1:
        wanted["shape"] = list(labels.shape)
    return [{"args": [array(x) for x in args], "expected": wanted}]
