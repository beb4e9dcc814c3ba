"""The encoder-decoder of the chapter on cross-attention, trained for 54 epochs in two rounds."""

from pathlib import Path

import torch

from attnbook.data import cmudict
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.optimizers import muon
from attnbook.pronouncing import (
    MAX_LEN,
    SIZES,
    error_rates,
    pronounce,
    pronouncing_batches,
    pronouncing_loss,
)
from attnbook.trained.recipe import Recipe
from attnbook.training import linear_decay, train

_SIZE = 256
# Epochs and the highest learning rate of each round. After the first the rate had come to 0, and
# words of the training side were said much better than others; the second begins at half the rate.
_ROUNDS = ((30, 4e-3), (24, 2e-3))


def _sides() -> tuple[list[cmudict.Entry], ...]:
    return cmudict.split(cmudict.load(stress=False))


def _build() -> Seq2Seq:
    sizes = {"d_model": 128, "n_heads": 4, "d_ff": 512, "n_layers": 3, "max_len": MAX_LEN}
    kind = {"dropout": 0.1, "pre_norm": True, "positions": "sinusoidal"}
    return Seq2Seq(Seq2SeqConfig(**SIZES, **sizes, **kind))


def _fit(model: Seq2Seq, checkpoint: Path) -> list[float]:
    entries, _, _ = _sides()
    losses: list[float] = []
    for i, (epochs, lr) in enumerate(_ROUNDS):
        batches = list(pronouncing_batches(entries, _SIZE, epochs=epochs, seed=i))
        losses += train(
            model,
            batches,
            pronouncing_loss,
            steps=len(batches),
            lr=lr,
            optimizer=muon(model),
            schedule=linear_decay(warmup=0.02),
            autocast=torch.bfloat16,
            checkpoint=checkpoint.with_suffix(f".{i}.training"),
            every=200,
        )
        model.half().float()  # the second round began from what the first had kept
    return losses


def _measure(model: Seq2Seq) -> dict[str, float]:
    _, _, test = _sides()
    per, wer = error_rates(pronounce(model, [entry.word for entry in test]), test)
    return {"phoneme_error_rate": per, "word_error_rate": wer}


RECIPE = Recipe(
    name="letters_to_phones",
    data=("cmudict",),
    seed=0,
    build=_build,
    fit=_fit,
    measure=_measure,
)
