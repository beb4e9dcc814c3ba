"""Accuracy, perplexity and bits a character, of sums and counts: batches add up to a corpus."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from attnbook import checks
from attnbook.objectives.labels import IGNORE


def correct_tokens(
    predicted: Int[Tensor, "*batch"], labels: Int[Tensor, "*batch"]
) -> tuple[Int[Tensor, ""], Int[Tensor, ""]]:
    """How many predictions equal their label, and how many labels there are.

    The accuracy is their quotient; `attnbook.training.evaluate` takes the pair as it is, and so
    averages over tokens and not over batches.

    Args:
        predicted: the class of each position, such as `logits.argmax(dim=-1)`, shape (…).
        labels: the right class, or `IGNORE` where nothing is asked, shape (…).

    Returns:
        The number of right predictions and of labels that are not `IGNORE`.

    Raises:
        TypeError: tensors that do not hold integers.
        ValueError: different shapes.

    Chapter: 12_bert_pretraining
    """
    asked = _asked(predicted, labels)
    return ((predicted == labels) & asked).sum(), asked.sum()


def correct_sequences(
    predicted: Int[Tensor, "B T"], labels: Int[Tensor, "B T"]
) -> tuple[Int[Tensor, ""], Int[Tensor, ""]]:
    """As `correct_tokens`, for whole rows: a row is right where each of its labels is.

    A row in which every label is `IGNORE` is not counted.

    Raises:
        TypeError, ValueError: as `correct_tokens`, and a ValueError without exactly two axes.

    Chapter: 10_cross_attention
    """
    asked = _asked(predicted, labels)
    if labels.ndim != 2:
        raise ValueError(
            f"labels must have 2 axes (B, T), but their shape is {checks.shape(labels)}"
        )
    counted = asked.any(dim=1)  # (B, T) -> (B,)
    right = ((predicted == labels) | ~asked).all(dim=1)  # (B, T) -> (B,)
    return (right & counted).sum(), counted.sum()


def _asked(predicted: Tensor, labels: Tensor) -> Tensor:
    checks.integers("predicted", predicted)
    checks.integers("labels", labels)
    checks.same_shape("predicted", predicted, "labels", labels)
    return labels != IGNORE


def perplexity(nll: float | Tensor, count: int | Tensor) -> float:
    """Between how many tokens the model hesitates, on the geometric mean: exp(nll / count).

    Perplexities are to be compared only over the same tokens: another tokenisation counts others.

    Args:
        nll: negative log-likelihood of all tokens, summed, in nats; see `summed_nll`.
        count: number of tokens in the sum.

    Returns:
        At least 1; V for a model that knows nothing; infinite for a token held to be impossible.

    Raises:
        ValueError: an nll that is negative or no number, or a count that is not above 0.

    Source: Jelinek et al. 1977.
    Chapter: 09_decoder
    """
    nats = torch.tensor(_mean(nll, count, "count"), dtype=torch.float64)
    return nats.exp().item()  # inf where math.exp would raise


def bits_per_character(nll: float | Tensor, n_characters: int | Tensor) -> float:
    """How many bits a character of the text costs: nll / (n_characters ln 2).

    Args:
        nll: negative log-likelihood of the whole text, summed over its tokens, in nats.
        n_characters: characters of that text, whatever the tokens are: so models with different
            tokenisations compare.

    Raises:
        ValueError: as `perplexity`.

    Source: Shannon 1951.
    Chapter: 14_gpt
    """
    return _mean(nll, n_characters, "n_characters") / math.log(2)


def _mean(nll: float | Tensor, count: int | Tensor, name: str) -> float:
    checks.rate(**{name: float(count)})
    if not float(nll) >= 0:
        raise ValueError(f"nll must be at least 0, not {float(nll)}")
    return float(nll) / float(count)
