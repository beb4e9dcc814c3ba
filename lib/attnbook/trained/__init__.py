"""The longer trainings: one file for each, and what came of it in `weights/`.

A chapter trains what its minute allows. What takes longer is trained here by `make train`, kept,
and told with its provenance.
"""

from attnbook.trained.keep import about, load, make
from attnbook.trained.recipe import Experiment, Recipe

__all__ = ["Experiment", "Recipe", "about", "load", "make"]
