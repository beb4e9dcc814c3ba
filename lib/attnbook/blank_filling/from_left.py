"""A model that reads from left to right, on the rows and the blanks that BERT is given.

It reads the true tokens of each row and says at every place what comes next. So every token of the
row is a question to learn from, and a blank is filled from all that stands to its left.
"""

from jaxtyping import Float
from torch import Tensor

from attnbook.blank_filling import N_SPECIAL, Blanks, true_ids
from attnbook.metrics.counts import correct_tokens
from attnbook.models.gpt import GPT
from attnbook.objectives.labels import IGNORE, mean_nll, summed_nll
from attnbook.objectives.next_token import next_tokens


def next_piece_loss(model: GPT, batch: Blanks) -> Float[Tensor, ""]:
    """The mean cross-entropy of each next token of the rows, for `train`.

    Padding stands behind the row: with a causal mask no token sees it, and it is not asked for.

    Chapter: 12_bert_pretraining
    """
    return mean_nll(*_asked(model, batch))


def next_piece_nll(model: GPT, batch: Blanks) -> tuple[Tensor, Tensor]:
    """The same as a sum and a count, for `evaluate`.

    Chapter: 12_bert_pretraining
    """
    return summed_nll(*_asked(model, batch))


def filled_from_left(model: GPT, batch: Blanks) -> tuple[Tensor, Tensor]:
    """How many blanks the model fills right from the true tokens before each, and how many it has.

    A blank never hides a special token, so that none is an answer: else the end of the sentence,
    often the likeliest, would be given where it cannot be right.

    Chapter: 12_bert_pretraining
    """
    x, _ = model.vectors(true_ids(batch))  # (B, T, D)
    labels = batch.labels[:, 1:]  # what the vector before is asked for, (B, T - 1)
    asked = labels != IGNORE
    logits = model.output(x[:, :-1][asked])  # (n, D) -> (n, V)
    return correct_tokens(logits[:, N_SPECIAL:].argmax(dim=-1) + N_SPECIAL, labels[asked])


def _asked(model: GPT, batch: Blanks) -> tuple[Tensor, Tensor]:
    """The logits (n, V) and labels (n,) of all next tokens: padding would teach nothing."""
    inputs, labels = next_tokens(true_ids(batch), real=batch.real)  # (B, T - 1) each
    x, _ = model.vectors(inputs)  # (B, T - 1, D)
    asked = labels != IGNORE
    return model.output(x[asked]), labels[asked]
