"""BERT of chapter 12, pre-trained for minutes on the addresses to Congress; chapter 13 goes on."""

from pathlib import Path

import torch

from attnbook import blank_filling as task
from attnbook.models.bert import Bert, BertConfig
from attnbook.models.bert_heads import BertPretraining
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import evaluate, linear_decay, train

CONFIG = BertConfig(
    vocab_size=task.VOCAB_SIZE, max_len=task.MAX_LEN, d_model=128, n_heads=4, d_ff=512, n_layers=2
)
# What limits here is the number of blanks seen. More of them in the same time: 40 % of the tokens
# are asked for, as Wettig et al. 2023 tried, with another reason, for large models. The test: 15 %.
SEED, STEPS, ROWS, LR, SHARE = 12, 3600, 64, 0.01, 0.4


def _build() -> BertPretraining:
    return BertPretraining(Bert(CONFIG))


def _fit(model: BertPretraining, checkpoint: Path) -> list[float]:
    documents, _, _ = task.load_documents()
    return train(
        model,
        task.PairBatches(documents, task.load_tokenizer(), rows=ROWS, seed=SEED, share=SHARE),
        task.blank_loss,
        steps=STEPS,
        lr=LR,
        optimizer=muon(model),
        schedule=linear_decay(warmup=0.05),
        autocast=torch.bfloat16,
        checkpoint=checkpoint,
        every=200,
    )


def _measure(model: BertPretraining) -> dict[str, float]:
    batches = task.held_out(25)
    return {
        "blanks": evaluate(model, batches, task.filled_right),
        "next sentences": evaluate(model, batches, task.follows_right),
    }


RECIPE = Recipe(
    name="bert_sotu", data=("sotu",), seed=SEED, build=_build, fit=_fit, measure=_measure
)
