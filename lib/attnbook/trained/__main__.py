"""`python -m attnbook.trained [name ...]`: do the longer trainings again, all or those named."""

import argparse
import importlib
import json
import pkgutil
from pathlib import Path

from attnbook.trained.keep import make
from attnbook.trained.recipe import Experiment, Recipe


def found() -> dict[str, Recipe | Experiment]:
    """Each longer training of the book, by name: the `RECIPE` of each module of this package."""
    modules = (
        importlib.import_module(f"attnbook.trained.{module.name}")
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if module.name not in ("__main__", "keep", "recipe")
    )
    return {module.RECIPE.name: module.RECIPE for module in modules}


def main(arguments: list[str] | None = None) -> None:
    """Train, and print what was measured."""
    recipes = found()
    parser = argparse.ArgumentParser(prog="python -m attnbook.trained", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(recipes))
    names = parser.parse_args(arguments).names or list(recipes)
    if unknown := sorted(set(names) - set(recipes)):
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(recipes)}")
    for name in names:
        print(json.dumps(make(recipes[name]), indent=1, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
