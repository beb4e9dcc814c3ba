"""Strong or weak? Mutants of a promoter, read by a BERT as words of three letters.

Chapter 13 explains the task; its longer comparison (`attnbook.trained.dna`) takes the same words,
batches and models.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.data.promoter import Promoter
from attnbook.models.bert import Bert
from attnbook.models.bert_heads import BertSequenceClassifier
from attnbook.training import Batch
from attnbook.transplant import LAYERS, transplant

WORD_IDS = {"".join(letters): i for i, letters in enumerate(product("ACGT", repeat=3), start=1)}
FIRST = 0  # the id of [CLS]; the 64 words have 1 … 64


def dna_words(letters: str) -> Int[Tensor, " T"]:
    """[CLS] and the words of a stretch of DNA, three letters each: 75 letters make T = 26 ids.

    Raises:
        ValueError: letters that are not A, C, G and T, or do not come in threes.

    Chapter: 13_bert_finetuning
    """
    words = [letters[i : i + 3] for i in range(0, len(letters), 3)]
    if not words or any(word not in WORD_IDS for word in words):
        raise ValueError(f"letters must be A, C, G and T in threes, not {letters!r}")
    return torch.tensor([FIRST] + [WORD_IDS[word] for word in words])


def promoter_batches(promoters: Sequence[Promoter], rows: int = 32) -> list[Batch]:
    """Ids (B, T) and labels (B,), 1 for a strong promoter; in the order that is given.

    Raises:
        ValueError: no promoters, or of different lengths; rows below 1.

    Chapter: 13_bert_finetuning
    """
    checks.positive(rows=rows)
    if len({len(p.letters) for p in promoters}) != 1:
        raise ValueError("promoters must be at least one, all of one length")
    ids = torch.stack([dna_words(p.letters) for p in promoters])  # (N, T)
    labels = torch.tensor([int(p.strong) for p in promoters])  # (N,)
    return list(zip(ids.split(rows), labels.split(rows), strict=True))


def dna_reader(text: Bert, *, n_layers: int, length: int, layers: str) -> BertSequenceClassifier:
    """A classifier of DNA on top of frozen layers, of which only the layer norms learn.

    Tokens, places and the head are new and trained: what text can give is in the layers.

    Args:
        text: the model of text; it is not changed.
        n_layers: how many of its layers to take, the lowest first.
        length: T, the number of ids of an input.
        layers: "text", with the text's weights; "shuffled", with the same numbers in each tensor,
            but in random places; or "random", as BERT starts.

    Raises:
        ValueError: more layers than `text` has, or `layers` of another name.

    Source: Lu et al. 2022, section 2.
    Chapter: 13_bert_finetuning
    """
    checks.positive(n_layers=n_layers, length=length)
    checks.choice("layers", layers, LAYERS)
    if n_layers > len(text.layers):
        raise ValueError(f"n_layers must be at most the {len(text.layers)} of text, not {n_layers}")
    sizes = {"vocab_size": len(WORD_IDS) + 1, "max_len": length, "n_layers": n_layers}
    bert = Bert(replace(text.config, **sizes))
    source = bert.layers if layers == "random" else text.layers[:n_layers]
    transplant(bert.layers, source, shuffled=layers == "shuffled")
    return BertSequenceClassifier(bert, 2, pool="mean")


def dna_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The mean cross-entropy of the right answers.

    Chapter: 13_bert_finetuning
    """
    ids, labels = batch
    return nn.functional.cross_entropy(model(ids).float(), labels)


def right_promoters(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """How many promoters are judged right, and how many there are: for `evaluate`.

    Chapter: 13_bert_finetuning
    """
    ids, labels = batch
    return (model(ids).argmax(dim=-1) == labels).sum(), len(labels)
