"""What is kept of each longer training is what its file says, measured again."""

from pathlib import Path

import pytest

from attnbook import trained
from attnbook.data.sources import SOURCES
from attnbook.trained.__main__ import found
from attnbook.trained.keep import WEIGHTS

RECIPES = found()
KEPT = [name for name, recipe in RECIPES.items() if isinstance(recipe, trained.Recipe)]


def test_every_file_has_its_recipe():
    suffixes = {".json", ".safetensors"}
    names = {path.stem for path in WEIGHTS.iterdir() if path.suffix in suffixes}
    assert names == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_provenance(name):
    recipe = RECIPES[name]
    facts = trained.about(recipe)
    assert (Path(trained.__file__).parent / f"{name}.py").exists()  # the command finds it
    assert set(recipe.data) <= set(SOURCES)
    assert facts["data"] == list(recipe.data)
    assert facts["seed"] == recipe.seed
    assert facts["command"] == f"python -m attnbook.trained {name}"
    assert facts["processor_seconds"] > 0
    assert facts["versions"]["torch"]


@pytest.mark.parametrize("name", KEPT)
def test_small_enough_for_a_page(name):
    assert (WEIGHTS / f"{name}.safetensors").stat().st_size <= 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT)
def test_measured_again(name):
    recipe = RECIPES[name]
    model = trained.load(recipe)
    facts = trained.about(recipe)
    assert facts["parameters"] == sum(p.numel() for p in model.parameters())
    # Another processor rounds otherwise, which may turn one answer in a thousand.
    assert recipe.measure(model) == pytest.approx(facts["metrics"], rel=0.005, abs=0.001)
