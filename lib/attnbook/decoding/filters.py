"""From logits to the distribution that is sampled: temperature, top-k and top-p.

Each filter is a function from logits (…, V) to logits of the same shape, -inf where a token is out.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook import checks


def keep_top_k(logits: Float[Tensor, "*batch V"], k: int) -> Float[Tensor, "*batch V"]:
    """The k largest logits, and those that equal the smallest of these; all where k >= V.

    Raises:
        TypeError: logits that are no floating-point tensor, a k that is no int.
        ValueError: k below 1.

    Source: Fan et al. 2018.
    Chapter: 09_decoder
    """
    checks.floating(logits=logits)
    checks.positive(top_k=k)
    smallest = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]  # (…, 1)
    return logits.masked_fill(logits < smallest, -math.inf)


def keep_top_p(logits: Float[Tensor, "*batch V"], p: float) -> Float[Tensor, "*batch V"]:
    """The most probable tokens, as few as make up a probability of p together.

    Tokens are taken from the most probable one down until they hold at least p: the one that
    crosses p is in, so that there is always one.

    Raises:
        TypeError: logits that are no floating-point tensor, a p that is no number.
        ValueError: p outside (0, 1].

    Source: Holtzman et al. 2020 (nucleus sampling).
    Chapter: 09_decoder
    """
    checks.floating(logits=logits)
    checks.rate(top_p=p)
    if p > 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {p}")
    if p == 1:  # rounding must not lose the rarest
        return logits
    ordered, order = logits.sort(dim=-1, descending=True)  # (…, V)
    share = ordered.double().softmax(dim=-1)
    before = share.cumsum(dim=-1) - share  # what the more probable ones hold
    out = torch.empty_like(order, dtype=torch.bool).scatter_(-1, order, before >= p)
    return logits.masked_fill(out, -math.inf)


def token_probabilities(
    logits: Float[Tensor, "*batch V"],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "*batch V"]:
    """The distribution that `sample` draws from: softmax(logits / temperature), then the filters.

    Args:
        logits: shape (…, V).
        temperature: below 1 sharpens, above 1 evens out. Towards 0 the largest logit takes all,
            which is `greedy`.
        top_k, top_p: the filters, if given, in this order.

    Returns:
        Probabilities (…, V), float64, each row summing to 1.

    Raises:
        TypeError: an argument of the wrong kind.
        ValueError: a temperature that is not above 0, top_k below 1, top_p outside (0, 1].

    Source: Ackley et al. 1985 (temperature).
    Chapter: 09_decoder
    """
    checks.floating(logits=logits)
    checks.rate(temperature=temperature)
    # The maximum is taken out first: a tiny temperature would make infinities of the rest.
    logits = (logits.double() - logits.max(dim=-1, keepdim=True).values) / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return logits.softmax(dim=-1)
