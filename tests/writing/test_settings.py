"""The settings do what they say, and the clock stands still while measuring."""

import time
from dataclasses import replace

import pytest
import torch

from attnbook import runtime
from attnbook.models.gpt import GPT
from attnbook.optimizers import MuonAdamW
from attnbook.tokenization.characters import character_tokenizer
from attnbook.trained.quality_per_second import rungs
from attnbook.writing import Writing, settings
from attnbook.writing.settings import PLAIN, QUICK, learning_curve, silence

SMALL = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 3, "max_len": 5}


def small(setting, steps=6):
    return replace(setting, config=replace(setting.config, **SMALL), steps=steps, B=3)


@pytest.fixture
def task():
    text = "to be or not to be: that is the question" * 3
    tokenizer = character_tokenizer([text])
    ids = tokenizer([text], add_special_tokens=False)["input_ids"][0]
    return Writing(tokenizer, ids, ids[:37], ids[:23])


def test_silent_layers_add_nothing():
    runtime.seed(0)
    model, ids = small(QUICK).build().eval(), torch.tensor([[2, 7, 9, 11], [2, 8, 9, 11]])
    x = model.body.embed(ids)
    assert torch.equal(model(ids)[0], model.output(model.body.norm(x)))
    loud = GPT(model.config).eval()
    assert not torch.allclose(loud(ids)[0], loud.output(loud.body.norm(loud.body.embed(ids))))
    silence(loud)
    assert torch.equal(loud(ids)[0], loud.output(loud.body.norm(loud.body.embed(ids))))


def test_the_sizes_are_those_of_the_comparison():
    plain, quick = (sum(p.numel() for p in s.build().parameters()) for s in (PLAIN, QUICK))
    assert 800_000 < plain < 820_000
    assert quick < plain / 4
    assert PLAIN.B * PLAIN.config.max_len == QUICK.B * QUICK.config.max_len


def test_each_setting_has_its_optimizer(monkeypatch):
    taken = []

    def train(model, batches, loss, *, optimizer, **how):
        taken.append((optimizer(list(model.parameters()), lr=1.0), how))
        return []

    monkeypatch.setattr(settings, "train", train)
    for setting in (PLAIN, QUICK):
        setting.fit(setting.build(), [])
    (adamw, plain), (muon, quick) = taken
    assert type(adamw) is torch.optim.AdamW
    assert type(muon) is MuonAdamW
    assert muon.param_groups[0]["momentum"] == 0.9
    assert (plain["steps"], plain["lr"]) == (2000, 0.001)
    assert (quick["steps"], quick["lr"]) == (QUICK.steps, 0.02)


def test_the_rungs_lead_from_the_one_to_the_other_by_one_change_each():
    made = [setting for _, setting in rungs()]
    assert made[-1] == replace(QUICK, steps=made[-1].steps, schedule=made[-1].schedule)
    assert len({setting.steps for setting in made}) == 1
    assert made[0].config.d_model == QUICK.config.d_model
    assert (made[0].lr, made[0].use_muon, made[0].silent) == (PLAIN.lr, False, False)
    assert made[0].config.positions == PLAIN.config.positions
    assert made[-1].schedule(0.25) == 0.75


def test_a_curve_has_a_point_for_each_number_of_steps_and_the_end(task, monkeypatch):
    scored = []

    def evaluate(model, text, score):
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        scored.append(sum(batch[:, 1:].numel() for batch in text))
        return float(len(scored))

    monkeypatch.setattr(settings, "evaluate", evaluate)
    model, curve = learning_curve(task, small(QUICK), at=(2, 4))
    assert curve.losses == [1.0, 2.0, 3.0]
    assert scored == [37, 37, 37]  # the whole validation side
    assert 0 < curve.seconds[0] < curve.seconds[1] < curve.seconds[2]
    last = curve.seconds[2] - curve.seconds[1]
    assert last < 0.19  # the measuring in between is not counted
    assert not model.training


def test_measuring_on_the_way_does_not_change_the_training(task):
    one, _ = learning_curve(task, small(PLAIN), at=(1, 3))
    two, _ = learning_curve(task, small(PLAIN), at=())
    assert all(a.equal(b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    other, _ = learning_curve(task, small(PLAIN), at=(), seed=15)
    assert not other.output.weight.equal(two.output.weight)


def test_the_seed_is_that_of_the_first_weights_too(task, monkeypatch):
    monkeypatch.setattr(settings.Setting, "fit", lambda *given: [])
    runtime.seed(15)
    first = small(QUICK).build()
    model, _ = learning_curve(task, small(QUICK), at=(), seed=15)
    assert all(a.equal(b) for a, b in zip(first.parameters(), model.parameters(), strict=True))
