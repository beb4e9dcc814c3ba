"""A translator from English to German, trained on cross-entropy: the model of chapter 11."""

from functools import partial
from pathlib import Path

from torch import nn

from attnbook import translating
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import evaluate, linear_decay, train
from attnbook.translating import losses

EPOCHS = 7


def _fit(model: nn.Module, checkpoint: Path) -> list[float]:
    task = translating.load()
    batches = translating.translation_batches(task, task.train, tokens=1024)
    return train(
        model,
        batches,
        losses.translation_loss,
        steps=EPOCHS * len(batches),
        lr=0.005,
        optimizer=muon(model),
        schedule=linear_decay(warmup=0.1),
        checkpoint=checkpoint,
        every=100,
    )


def _measure(model: nn.Module) -> dict[str, float]:
    task = translating.load()
    batches = translating.translation_batches(task, task.test)
    bleu = partial(translating.translation_bleu, model, task, task.test)
    return {
        "cross_entropy": evaluate(model, batches, losses.translation_nll),
        "bleu_greedy": bleu(),
        "bleu_4_beams": bleu(beams=4),
    }


RECIPE = Recipe(
    name="english_to_german",
    data=("homeassistant",),
    seed=11,
    build=translating.translator,
    fit=_fit,
    measure=_measure,
)
