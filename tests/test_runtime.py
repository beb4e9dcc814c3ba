import random

import numpy as np
import pytest
import torch

from attnbook import runtime


def on_a_machine_with(monkeypatch, *kinds):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in kinds)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in kinds)


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [((), "cpu"), (("mps",), "mps"), (("cuda",), "cuda"), (("cuda", "mps"), "cuda")],
)
def test_device_and_preset(monkeypatch, kinds, wanted):
    on_a_machine_with(monkeypatch, *kinds)
    assert runtime.device() == torch.device(wanted)
    assert runtime.preset(cpu=1, gpu=2) == (1 if wanted == "cpu" else 2)


def test_the_device_of_this_machine_works():
    assert torch.ones(2, device=runtime.device()).sum().item() == 2


def test_a_seed_gives_the_same_draws_again():
    def draws():
        return random.random(), np.random.rand(), torch.rand(1).item()

    runtime.seed(5)
    first = draws()
    second = draws()
    runtime.seed(5)
    assert draws() == first
    runtime.seed(6)
    third = draws()
    for other in (second, third):
        assert all(x != y for x, y in zip(first, other, strict=True))
