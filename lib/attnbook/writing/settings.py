"""How a small GPT is trained on Shakespeare: the usual way, and the quick one of chapter 14."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnbook import runtime
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.optimizers import muon
from attnbook.training import Schedule, cosine_decay, evaluate, linear_decay, train
from attnbook.writing import (
    VOCAB_SIZE,
    RandomWindows,
    Writing,
    character_loss,
    character_nll,
    whole_text,
)


def silence(model: GPT) -> None:
    """Set the last projection of each sub-layer to 0, so that each layer at first adds nothing.

    What the model gives then depends on the present token alone, and the layers grow from there.

    Source: Zhang, Dauphin and Ma 2019 (Fixup), section 3.
    Chapter: 14_gpt
    """
    for layer in model.body.layers:
        nn.init.zeros_(layer.attention.w_o.weight)
        nn.init.zeros_(layer.feed_forward.w_2.weight)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A model and how it is trained: all that two trainings may differ in.

    Args:
        config: of the `GPT`, whose max_len is the number of characters of a window.
        steps, lr, schedule: as for `train`.
        B: windows a batch.
        silent: whether the layers start by adding nothing (`silence`).
        use_muon: Muon for the matrices of the layers; else AdamW has all.

    Chapter: 14_gpt
    """

    config: GPTConfig
    steps: int
    lr: float
    schedule: Schedule
    B: int = 12
    silent: bool = False
    use_muon: bool = False

    def build(self) -> GPT:
        """The model with its first weights."""
        model = GPT(self.config)
        if self.silent:
            silence(model)
        return model

    def fit(self, model: GPT, batches: Iterable[Tensor]) -> list[float]:
        """Train on the batches -> the loss of each step."""
        optimizer = muon(model, momentum=0.9) if self.use_muon else torch.optim.AdamW
        how = {"steps": self.steps, "lr": self.lr, "schedule": self.schedule}
        return train(model, batches, character_loss, optimizer=optimizer, **how)


# The usual small GPT: four layers of width 128, AdamW, half a cosine.
PLAIN = Setting(
    config=GPTConfig(
        d_model=128, n_heads=4, d_ff=512, n_layers=4, vocab_size=VOCAB_SIZE, max_len=64
    ),
    steps=2_000,
    lr=0.001,
    schedule=cosine_decay(warmup=0.05),
)
# What the chapter arrives at.
QUICK = Setting(
    config=GPTConfig(
        d_model=64,
        n_heads=2,
        d_ff=256,
        n_layers=2,
        vocab_size=VOCAB_SIZE,
        max_len=64,
        positions="rotary",
        activation="squared_relu",
    ),
    steps=420,
    lr=0.02,
    schedule=linear_decay(),
    silent=True,
    use_muon=True,
)


@dataclass(frozen=True)
class Curve:
    """What a training reached, and when: processor seconds spent on training, and nats a character.

    Chapter: 14_gpt
    """

    seconds: list[float]
    losses: list[float]


def learning_curve(
    task: Writing, setting: Setting, *, at: Iterable[int], seed: int = 14
) -> tuple[GPT, Curve]:
    """Train by the setting, and measure on the whole validation side on the way and at the end.

    The clock counts the processor's time, and stands still while measuring.

    Args:
        task: the text.
        setting: the model and its training.
        at: numbers of steps after which to measure.
        seed: of the first weights and of the windows.

    Chapter: 14_gpt
    """
    runtime.seed(seed)
    model, T = setting.build(), setting.config.max_len
    windows = RandomWindows(task.train, task.bos, B=setting.B, T=T, steps=setting.steps, seed=seed)
    text = whole_text(task.valid, task.bos, B=64, T=T)
    curve, at = Curve([], []), set(at)
    last, spent = time.process_time(), 0.0

    def watched() -> Iterator[Tensor]:
        nonlocal last, spent
        for step, window in enumerate(windows):
            if step in at:
                spent += time.process_time() - last
                curve.seconds.append(spent)
                curve.losses.append(evaluate(model, text, character_nll))
                last = time.process_time()
            yield window

    setting.fit(model, watched())
    curve.seconds.append(spent + time.process_time() - last)
    curve.losses.append(evaluate(model, text, character_nll))
    return model, curve
