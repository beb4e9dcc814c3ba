"""Labels and their loss: the negative log-likelihood of what is asked, and of nothing else."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attnbook import checks

# The label of a position that asks nothing: torch's own value. It is no token's id, so that no real
# class can be dropped by it, as happens where the id of padding is ignored.
IGNORE = -100


def summed_nll(
    logits: Float[Tensor, "*batch V"], labels: Int[Tensor, "*batch"]
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """The negative log-likelihood of the labels, summed, and how many labels there were.

    Sums of several batches add up, and `attnbook.training.evaluate` takes such a pair as it is;
    `attnbook.metrics.perplexity` makes a perplexity of it.

    Args:
        logits: scores of the V classes, shape (…, V). Half precision is summed in float32.
        labels: the right class of each, 0 … V - 1, or `IGNORE`; shape (…).

    Returns:
        The sum over the labels that are not `IGNORE`, in nats, and their number.

    Raises:
        TypeError: logits that are not floating-point, labels that are not integers.
        ValueError: shapes that do not fit, or a label that is no class.

    Chapter: 09_decoder
    """
    checks.floating(logits=logits)
    checks.integers("labels", labels)
    if logits.ndim == 0 or logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"labels must have the shape of logits without its last axis, but theirs is "
            f"{checks.shape(labels)} and logits' {checks.shape(logits)}"
        )
    counts = labels != IGNORE
    checks.ids("labels", labels[counts], logits.shape[-1])
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    labels = labels.long().flatten()  # (…) -> (N,)
    total = F.cross_entropy(
        precise.reshape(len(labels), logits.shape[-1]),  # (…, V) -> (N, V)
        labels,
        ignore_index=IGNORE,
        reduction="sum",
    )
    return total, counts.sum()


def mean_nll(logits: Float[Tensor, "*batch V"], labels: Int[Tensor, "*batch"]) -> Float[Tensor, ""]:
    """The cross-entropy loss: the mean of `summed_nll` over the labels that are not `IGNORE`.

    The loss of the next token, of masked tokens, of the next sentence (V = 2) and of any
    classification.

    Args:
        logits, labels: as `summed_nll`.

    Returns:
        The mean in nats, a tensor of one number; ln V for a model that knows nothing.

    Raises:
        TypeError, ValueError: as `summed_nll`, and a ValueError where every label is `IGNORE`: a
            mean of nothing would be NaN, and would reach the weights.

    Chapter: 09_decoder
    """
    total, count = summed_nll(logits, labels)
    if not count:
        raise ValueError(
            f"labels must hold at least one that is not IGNORE = {IGNORE}, but all "
            f"{labels.numel()} are"
        )
    return total / count


def smoothed_nll(
    logits: Float[Tensor, "*batch V"], labels: Int[Tensor, "*batch"], *, smoothing: float = 0.1
) -> Float[Tensor, ""]:
    """The cross-entropy against labels of which a share is spread evenly over all V classes.

    The right class is wanted with 1 - smoothing + smoothing / V and each other with smoothing / V,
    so that no logit is driven towards infinity. Only for training: perplexities come of `mean_nll`.

    Args:
        logits, labels: as `summed_nll`.
        smoothing: the share ε that is spread, 0 <= ε < 1; 0 is `mean_nll`.

    Returns:
        The mean over the labels that are not `IGNORE`, in nats, a tensor of one number.

    Raises:
        TypeError, ValueError: as `mean_nll`; a smoothing outside its range.

    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4 (ε = 0.1).
    Chapter: 11_training
    """
    checks.probability(smoothing=smoothing)
    right = mean_nll(logits, labels)
    asked = logits[labels != IGNORE]  # (…, V) -> (N, V)
    even = -asked.to(right.dtype).log_softmax(dim=-1).mean()
    return (1 - smoothing) * right + smoothing * even
