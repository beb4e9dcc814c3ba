"""Longer trainings on disk: what is loaded is what was measured, and nothing else is taken."""

import json
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from attnbook import trained
from attnbook.checkpoints import CheckpointError
from attnbook.trained import Experiment, Recipe, __main__, keep
from attnbook.training import train

X = torch.linspace(-1, 1, 7)[:, None]


class Tied(nn.Module):
    """Two names for one table, as tied embeddings are."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(1, 1)
        self.last = nn.Linear(1, 1)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(self.first(x))


def fit(model, checkpoint):
    def loss_fn(model, x):
        return (model(x) - 4 * x).square().mean()

    return train(model, [X], loss_fn, steps=5, lr=0.1, checkpoint=checkpoint)


def measure(model):
    with torch.no_grad():
        return {"error": (model(X) - 4 * X).square().mean().item()}


RECIPE = Recipe(name="line", data=("ruler",), seed=3, build=Tied, fit=fit, measure=measure)


def test_loaded_as_measured(tmp_path):
    facts = trained.make(RECIPE, tmp_path)
    assert trained.about(RECIPE, tmp_path) == facts
    assert (facts["steps"], facts["parameters"], facts["seed"]) == (5, 3, 3)
    assert facts["data"] == ["ruler"]
    assert facts["command"] == "python -m attnbook.trained line"
    model = trained.load(RECIPE, tmp_path)
    assert not model.training
    assert model.last.weight is model.first.weight
    assert model.first.weight.dtype == torch.float32
    assert measure(model) == facts["metrics"]  # to the bit: it was measured after the rounding
    assert {path.name for path in tmp_path.iterdir()} == {"line.json", "line.safetensors"}


def test_the_seed_is_set(tmp_path):
    first = trained.make(RECIPE, tmp_path)["metrics"]
    torch.rand(1)
    assert trained.make(RECIPE, tmp_path)["metrics"] == first
    assert trained.make(replace(RECIPE, seed=4), tmp_path)["metrics"] != first


def test_goes_on_where_it_was_interrupted(tmp_path):
    whole = trained.make(RECIPE, tmp_path)["metrics"]

    def stops(model, checkpoint):
        def loss_fn(model, x):
            return (model(x) - 4 * x).square().mean()

        train(model, [X], loss_fn, steps=2, lr=0.1, checkpoint=checkpoint)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained.make(replace(RECIPE, fit=stops), tmp_path)
    assert (tmp_path / "line.training").exists()
    assert trained.make(RECIPE, tmp_path)["metrics"] == whole


def test_the_files_of_several_trainings_go_once_the_weights_are_kept(tmp_path):
    def fits(model, checkpoint):
        return [x for n in (1, 2) for x in fit(model, checkpoint.with_suffix(f".{n}.training"))]

    other = tmp_path / "line_two.training"
    other.touch()

    def fails(model):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained.make(replace(RECIPE, fit=fits, measure=fails), tmp_path)
    assert (tmp_path / "line.1.training").exists()
    trained.make(replace(RECIPE, fit=fits), tmp_path)
    assert list(tmp_path.glob("*.training")) == [other]


def test_an_experiment_keeps_its_numbers(tmp_path):
    experiment = Experiment(name="dice", data=(), seed=5, run=lambda: {"x": torch.rand(1).item()})
    first = trained.make(experiment, tmp_path)
    assert first["results"] == trained.make(experiment, tmp_path)["results"]
    assert [path.name for path in tmp_path.iterdir()] == ["dice.json"]
    assert trained.about(experiment, tmp_path)["results"] == first["results"]


def test_not_made_yet(tmp_path):
    with pytest.raises(
        CheckpointError, match=r"To make it again: python -m attnbook\.trained line"
    ):
        trained.load(RECIPE, tmp_path)


def test_other_weights_than_were_measured(tmp_path):
    trained.make(RECIPE, tmp_path)
    path = tmp_path / "line.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x11")
    with pytest.raises(CheckpointError, match="damaged or of another day"):
        trained.load(RECIPE, tmp_path)


def test_weights_of_another_model(tmp_path):
    trained.make(RECIPE, tmp_path)
    with pytest.raises(CheckpointError, match="cannot be used"):
        trained.load(replace(RECIPE, build=lambda: nn.Linear(1, 1)), tmp_path)


def test_a_weight_too_large_for_half_precision(tmp_path):
    def explodes(model, checkpoint):
        with torch.no_grad():
            model.first.bias.fill_(1e6)
        return [math.nan]

    with pytest.raises(CheckpointError, match=r"first\.bias is not finite in half"):
        trained.make(replace(RECIPE, fit=explodes), tmp_path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(CheckpointError):
        trained.make(RECIPE, tmp_path / "nowhere")


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", "0")  # the bar goes to the same place
    monkeypatch.setattr(__main__, "found", lambda: {"line": RECIPE})
    monkeypatch.setattr(__main__, "make", lambda recipe: keep.make(recipe, tmp_path))
    __main__.main(["line"])
    assert json.loads(capsys.readouterr().out) == trained.about(RECIPE, tmp_path)
    with pytest.raises(SystemExit):
        __main__.main(["nothing"])
    assert "there is no 'nothing'; there are line" in capsys.readouterr().err
