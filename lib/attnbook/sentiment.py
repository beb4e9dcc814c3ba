"""Good or bad? What a sentence about a film says of it, learned on top of a BERT.

Chapter 13 explains the task; its longer comparison (`attnbook.trained.sentiment`) takes the same
sentences, batches, loss and score.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.data.movies import Snippet
from attnbook.models.bert import Bert
from attnbook.models.bert_heads import BertSequenceClassifier
from attnbook.tokenization.tokenizer import Tokenizer
from attnbook.training import evaluate, linear_decay, train

MAX_LEN = 64  # tokens; only a few sentences are longer


class Reviews(NamedTuple):
    """A batch of sentences: [CLS] sentence [SEP], padded behind.

    Args:
        ids: what the model reads, shape (B, T).
        real: True at real tokens, (B, T).
        labels: 1 where the sentence is positive, else 0, (B,).

    Chapter: 13_bert_finetuning
    """

    ids: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]
    labels: Int[Tensor, " B"]


def draw_snippets(snippets: Sequence[Snippet], n: int, seed: int) -> list[Snippet]:
    """n of the snippets by chance, the same ones for the same seed.

    Raises:
        ValueError: an n below 1 or above their number.

    Chapter: 13_bert_finetuning
    """
    checks.positive(n=n)
    if n > len(snippets):
        raise ValueError(f"n must be at most the {len(snippets)} snippets, not {n}")
    return random.Random(seed).sample(list(snippets), n)


def review_batches(
    snippets: Sequence[Snippet], tokenizer: Tokenizer, *, rows: int = 32, seed: int = 0
) -> list[Reviews]:
    """Snippets of like length together, as batches in a random order.

    Args:
        snippets: at least one.
        tokenizer: of the model that will read them.
        rows: snippets a batch; the last one may be smaller.
        seed: of the order.

    Raises:
        ValueError: no snippets, or rows below 1.

    Chapter: 13_bert_finetuning
    """
    checks.positive(rows=rows)
    ordered = sorted(snippets, key=lambda s: len(s.text))
    groups = [ordered[i : i + rows] for i in range(0, len(ordered), rows)]
    random.Random(seed).shuffle(groups)
    batches = []
    for group in groups:
        read = tokenizer([s.text for s in group], max_length=MAX_LEN)
        labels = torch.tensor([int(s.positive) for s in group])  # (B,)
        batches.append(Reviews(read["input_ids"], read["attention_mask"], labels))
    if not batches:
        raise ValueError("snippets must hold at least one")
    return batches


def review_loss(model: nn.Module, batch: Reviews) -> Tensor:
    """The mean cross-entropy of the right answers.

    Chapter: 13_bert_finetuning
    """
    return nn.functional.cross_entropy(model(batch.ids, batch.real).float(), batch.labels)


def right_reviews(model: nn.Module, batch: Reviews) -> tuple[Tensor, int]:
    """How many sentences are judged right, and how many there are: for `evaluate`.

    Chapter: 13_bert_finetuning
    """
    right = model(batch.ids, batch.real).argmax(dim=-1) == batch.labels  # (B,)
    return right.sum(), len(batch.labels)


def fine_tune(
    bert: Bert,
    snippets: Sequence[Snippet],
    tokenizer: Tokenizer,
    *,
    epochs: int,
    lr: float,
    seed: int,
    rows: int = 32,
    autocast: torch.dtype | None = None,
) -> BertSequenceClassifier:
    """Train all layers of a BERT, under a new head on the mean of its vectors, to judge snippets.

    Args:
        bert: is trained in place, save what needs no gradient.
        snippets: with their labels.
        tokenizer: of this BERT.
        epochs: how often each snippet is seen.
        lr: the highest learning rate of AdamW; a tenth of the steps rises to it.
        seed: of the order.
        rows: snippets a batch.
        autocast: as in `attnbook.training.train`.

    Chapter: 13_bert_finetuning
    """
    model = BertSequenceClassifier(bert, 2, pool="mean")
    batches = review_batches(snippets, tokenizer, rows=rows, seed=seed)
    train(
        model,
        batches,
        review_loss,
        steps=epochs * len(batches),
        lr=lr,
        schedule=linear_decay(warmup=0.1),
        autocast=autocast,
    )
    return model


def share_right(model: nn.Module, snippets: Sequence[Snippet], tokenizer: Tokenizer) -> float:
    """The share of the snippets that the model judges right.

    Chapter: 13_bert_finetuning
    """
    return evaluate(model, review_batches(snippets, tokenizer, rows=64), right_reviews)
