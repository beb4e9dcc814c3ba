"""The photographs as a task: their sides and colours, and that both models learn from them."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from attnbook import photographs, runtime
from attnbook.data import cifar10
from attnbook.data.archive import DataError
from attnbook.digits import DigitTask

CHAPTER = Path(__file__).parents[1] / "book" / "16_vit.ipynb"


def test_the_sides_and_the_colours(monkeypatch):
    images = np.zeros((40, 3, 32, 32), np.uint8)
    images[:, 1] = 255
    images[35] = 51
    test = np.full((7, 3, 32, 32), 204, np.uint8), np.arange(7)
    monkeypatch.setattr(cifar10, "load", lambda: ((images, np.arange(40) % 10), test))
    task = photographs.load()
    assert [len(x) for x, _ in (task.train, task.valid, task.test)] == [36, 4, 7]
    assert task.train[0].dtype == torch.float32
    assert task.train[0][0, :, 5, 6].tolist() == [-1, 1, -1]
    torch.testing.assert_close(task.train[0][35], torch.full((3, 32, 32), -0.6))
    torch.testing.assert_close(task.test[0], torch.full((7, 3, 32, 32), 0.6))
    assert task.valid[1].tolist() == [6, 7, 8, 9]
    assert task.test[1].tolist() == list(range(7))


@pytest.fixture
def by_colour(monkeypatch):
    """Which channel is bright says which of three classes it is; and a narrow ViT for it."""
    narrow = dataclasses.replace(photographs.CONFIG, d_model=16, d_ff=24, n_layers=1, n_heads=2)
    monkeypatch.setattr(photographs, "CONFIG", narrow)

    def side(n):
        labels = torch.arange(n) % 3
        images = 0.3 * torch.randn(n, 3, 32, 32)
        images[torch.arange(n), labels] += 0.5
        return images, labels

    return DigitTask(train=side(90), valid=side(9), test=side(60))


def test_both_models_learn(by_colour):
    scores = photographs.score_models(by_colour, steps=12)
    assert list(scores) == ["ViT", "CNN"]
    assert min(scores.values()) > 0.9  # a guess has 1/3


def test_the_models_are_those_of_the_digits_but_for_the_images(by_colour, monkeypatch):
    made, settings = {}, []

    def record(make, lr, task, **given):
        made[len(made)] = make()
        settings.append((lr, given))
        return 0.5

    monkeypatch.setattr(photographs, "score_once", record)
    assert photographs.score_models(by_colour, steps=4, seed=6) == {"ViT": 0.5, "CNN": 0.5}
    how = {"n_images": 90, "augment": True, "seed": 6, "steps": 4}
    assert settings == [(3e-3, how), (3e-3, how)]
    images = by_colour.test[0][:2]
    assert [tuple(model(images)[0].shape) for model in made.values()] == [(2, 10), (2, 10)]
    assert made[0].config.n_patches == 64
    assert [type(model).__name__ for model in made.values()] == ["ViT", "DigitCNN"]


def cell():
    """Runs the chapter's own cell."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(x["source"]) for x in cells if x["cell_type"] == "code"]
    (text,) = [text for text in texts if "import photographs" in text]
    exec(text, {"runtime": runtime})


def test_the_chapters_cell_on_a_processor(monkeypatch, capsys):
    monkeypatch.setattr(runtime, "device", lambda: torch.device("cpu"))
    monkeypatch.setattr(photographs, "load", lambda: pytest.fail("asked for the data"))
    cell()
    assert capsys.readouterr().out == ""


def test_the_chapters_cell_on_a_gpu(by_colour, monkeypatch, capsys):
    monkeypatch.setattr(runtime, "preset", lambda *, cpu, gpu: gpu // 1000)
    monkeypatch.setattr(photographs, "load", lambda: by_colour)
    cell()
    vit, cnn = capsys.readouterr().out.splitlines()
    assert vit.startswith("ViT, 5 steps: ")
    assert cnn.startswith("CNN, 5 steps: ")
    assert cnn.endswith(" right on the test images")


def test_the_chapters_cell_on_a_gpu_without_a_network(monkeypatch, capsys):
    def closed():
        raise DataError("cifar10 could not be fetched")

    monkeypatch.setattr(runtime, "preset", lambda *, cpu, gpu: gpu)
    monkeypatch.setattr(photographs, "load", closed)
    cell()
    assert capsys.readouterr().out == "cifar10 could not be fetched\n"
