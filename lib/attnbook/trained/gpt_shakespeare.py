"""A GPT of 1.2 million parameters that writes Shakespeare, character by character."""

from pathlib import Path

from torch import nn

from attnbook import writing
from attnbook.metrics.counts import bits_per_character
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import evaluate, linear_decay, train
from attnbook.writing import settings

CONFIG = GPTConfig(
    d_model=128,
    n_heads=4,
    d_ff=512,
    n_layers=6,
    vocab_size=writing.VOCAB_SIZE,
    max_len=256,
    positions="rotary",
    activation="squared_relu",
)
STEPS, B, T = 1500, 16, 128


def _build() -> GPT:
    model = GPT(CONFIG)
    settings.silence(model)
    return model


def _fit(model: nn.Module, checkpoint: Path) -> list[float]:
    task = writing.load()
    windows = writing.RandomWindows(task.train, task.bos, B=B, T=T, steps=STEPS, seed=14)
    return train(
        model,
        windows,
        writing.character_loss,
        steps=STEPS,
        lr=0.01,
        optimizer=muon(model, momentum=0.9),
        schedule=linear_decay(),
        device="cpu",
        checkpoint=checkpoint,
        every=50,
    )


def _measure(model: nn.Module) -> dict[str, float]:
    task = writing.load()
    text = writing.whole_text(task.test, task.bos, B=64, T=T)
    nll = evaluate(model, text, writing.character_nll, device="cpu")
    return {"test bits per character": bits_per_character(nll * len(task.test), len(task.test))}


RECIPE = Recipe(
    name="gpt_shakespeare",
    data=("shakespeare",),
    seed=14,
    build=_build,
    fit=_fit,
    measure=_measure,
)
