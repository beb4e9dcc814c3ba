"""A left-to-right model beside BERT: as large, trained as long, on the same rows of speeches."""

from pathlib import Path

import torch

from attnbook import blank_filling as task
from attnbook.blank_filling import from_left
from attnbook.metrics.counts import perplexity
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import evaluate, linear_decay, train
from attnbook.writing import settings

# The width, heads and layers of `bert_sotu`; the rest is what chapter 14 found to learn fastest.
CONFIG = GPTConfig(
    vocab_size=task.VOCAB_SIZE,
    max_len=task.MAX_LEN,
    d_model=128,
    n_heads=4,
    d_ff=512,
    n_layers=2,
    positions="rotary",
    activation="squared_relu",
)
# Pairs of sentences and not running text: of these the exam is made, and BERT learned from them.
# Each token is asked for, not 40 % of them: a step costs more, so that there are fewer.
SEED, STEPS, ROWS, LR = 12, 2400, 64, 0.01


def _build() -> GPT:
    model = GPT(CONFIG)
    settings.silence(model)
    return model


def _fit(model: GPT, checkpoint: Path) -> list[float]:
    documents, _, _ = task.load_documents()
    return train(
        model,
        task.PairBatches(documents, task.load_tokenizer(), rows=ROWS, seed=SEED),
        from_left.next_piece_loss,
        steps=STEPS,
        lr=LR,
        optimizer=muon(model, momentum=0.9),
        schedule=linear_decay(),
        autocast=torch.bfloat16,
        checkpoint=checkpoint,
        every=200,
    )


def _measure(model: GPT) -> dict[str, float]:
    batches = task.held_out(25)
    return {
        "blanks": evaluate(model, batches, from_left.filled_from_left),
        "perplexity": perplexity(evaluate(model, batches, from_left.next_piece_nll), 1),
    }


RECIPE = Recipe(
    name="gpt_sotu", data=("sotu",), seed=SEED, build=_build, fit=_fit, measure=_measure
)
