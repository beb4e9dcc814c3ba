"""The next token: each position is asked for the token after it."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks, masks
from attnbook.objectives.labels import IGNORE


def next_tokens(
    ids: Int[Tensor, "B L"],
    *,
    lengths: Int[Tensor, " B"] | None = None,
    real: Bool[Tensor, "B L"] | None = None,
) -> tuple[Int[Tensor, "B L-1"], Int[Tensor, "B L-1"]]:
    """Inputs and labels for a model that sees the past: the label is the input one place later.

    This is the only shift: the loss is `mean_nll(model(inputs), labels)`. What is padding is told
    by its place, not by its id, so that the end-of-sequence token keeps its label where it is also
    the token that pads.

    Args:
        ids: token ids, with the start and end tokens that the model is to see, shape (B, L).
        lengths: number of real tokens of each sequence, with the padding behind them.
        real: True at a real token, for padding that stands elsewhere. With neither, all are real.

    Returns:
        inputs: the first L - 1 ids of each row, shape (B, L - 1).
        labels: the last L - 1, `IGNORE` where the input or the label is padding, (B, L - 1).

    Raises:
        TypeError: ids or lengths that are not integers, a `real` that is not boolean, or both
            lengths and real.
        ValueError: fewer than 2 tokens a row, negative ids, or shapes or lengths that do not fit.

    Source: Bengio et al. 2003; Radford et al. 2018 (GPT), equation 1.
    Chapter: 09_decoder
    """
    checks.integers("ids", ids)
    if ids.ndim != 2 or ids.shape[1] < 2:
        raise ValueError(f"ids must have the shape (B, L), L at least 2, not {checks.shape(ids)}")
    ids = ids.long()  # torch has no minimum for some of the narrow kinds
    if ids.numel() and int(ids.min()) < 0:
        raise ValueError(f"ids must be at least 0, but {int(ids.min())} is among them")
    real = _real(ids, lengths, real)
    asked = real[:, :-1] & real[:, 1:]  # (B, L - 1)
    labels = ids[:, 1:].masked_fill(~asked, IGNORE)  # (B, L - 1)
    return ids[:, :-1], labels


def _real(ids: Tensor, lengths: Tensor | None, real: Tensor | None) -> Tensor:
    if lengths is not None and real is not None:
        raise TypeError("give lengths or real, not both")
    if lengths is not None:
        real = masks.padding(lengths, ids.shape[1])[:, 0]  # (B, 1, L) -> (B, L)
        if len(real) != len(ids):
            raise ValueError(
                f"lengths must have one entry a sequence, {len(ids)} of them, not {len(real)}"
            )
    if real is None:
        return torch.ones_like(ids, dtype=torch.bool)
    checks.boolean("real", real)
    checks.same_shape("real", real, "ids", ids)
    return real
