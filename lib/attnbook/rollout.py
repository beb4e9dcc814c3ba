"""Attention rollout: what each output of a stack took from each input, along all layers."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook import checks


def attention_rollout(
    weights: Sequence[Float[Tensor, "B _ T T"]], *, residual: float = 0.5
) -> Float[Tensor, "B T T"]:
    """The shares of the inputs in the outputs, if each layer only passed on what it attends to.

    One layer is the mean of its heads, mixed with the residual path, on which each token keeps
    what it has. The layers are multiplied, the last one leftmost. It is an approximation: values,
    feed-forward networks and norms are left out.

    Args:
        weights: of each layer, the first one first, (B, H, T, T), as a stack returns them.
        residual: the share of the residual path; the rest is attention's.

    Returns:
        Row t says what token t took from each input token, (B, T, T); each row sums to 1 where the
        rows of the weights do.

    Raises:
        TypeError: weights that are not floating-point.
        ValueError: no layer, layers whose shapes differ or are not (B, H, T, T), or a residual
            outside [0, 1].

    Source: Abnar and Zuidema 2020, section 3 (residual 0.5).
    Chapter: 16_vit
    """
    checks.probability(residual=residual)
    if not weights:
        raise ValueError("weights must hold those of at least one layer")
    for i, w in enumerate(weights):
        checks.floating(**{f"weights[{i}]": w})
        if w.ndim != 4 or w.shape[2] != w.shape[3] or w.shape[::2] != weights[0].shape[::2]:
            raise ValueError(
                "weights must be (B, H, T, T) of one B and T for all layers, but the shape of "
                f"weights[{i}] is {checks.shape(w)}"
            )
    B, _, T, _ = weights[0].shape
    kept = residual * torch.eye(T, dtype=weights[0].dtype, device=weights[0].device)
    shares = torch.eye(T, dtype=weights[0].dtype, device=weights[0].device).expand(B, T, T)
    for w in weights:
        shares = ((1 - residual) * w.mean(dim=1) + kept) @ shares  # (B, T, T)
    return shares
