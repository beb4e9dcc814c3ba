"""Masks: who may look at whom.

A mask is a boolean tensor, **True = the query may attend to the key**, as in
`torch.nn.functional.scaled_dot_product_attention`. `torch.nn.MultiheadAttention` means the
opposite: `to_torch` converts. Masks are made here and nowhere else, are combined with `&`, and are
handed to the modules. Their last two axes are T (queries) and S (keys); an axis of size 1 stands
for all its rows.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks


def causal(
    T: int, S: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "T S"]:
    """The past and the present, not the future.

    The T queries are the *last* T of the S positions (S = T unless given), as when new tokens
    are decoded behind a cache of old ones: query i stands at position S - T + i and may attend to
    the keys up to there.

    Args:
        T: number of queries.
        S: number of keys, at least T.
        device: where to make the mask.

    Returns:
        True where key <= query, shape (T, S).

    Raises:
        ValueError: T or S below 1, or S < T (a query with no place among the keys).

    Source: Vaswani et al. 2017, section 3.2.3.
    Chapter: 09_decoder
    """
    S = _keys(T, S)
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(diagonal=S - T)


def window(
    T: int, width: int, S: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "T S"]:
    """Truncated self-attention: only the keys at most `width` places away, on either side.

    Combine with `causal` for the past alone: `causal(T) & window(T, width)`.

    Args:
        T: number of queries, the last T of the S positions (as in `causal`).
        width: the largest distance that is still seen; 0 leaves each position only itself.
        S: number of keys, at least T; T unless given.
        device: where to make the mask.

    Returns:
        True where |query - key| <= width, shape (T, S).

    Raises:
        ValueError: T or S below 1, S < T, or a negative width.

    Chapter: 07_spans_cnn_rnn
    """
    S = _keys(T, S)
    checks.not_negative(width=width)
    key = torch.arange(S, device=device)
    query = key[S - T :, None]
    return (query - key).abs() <= width


def padding(lengths: Int[Tensor, " B"], S: int) -> Bool[Tensor, "B 1 S"]:
    """The real tokens of each sequence, not the padding behind them.

    Args:
        lengths: number of real tokens of each sequence, shape (B,); 0 is allowed.
        S: the padded length.

    Returns:
        True for the first `lengths[b]` keys of sequence b, for every query, shape (B, 1, S).

    Raises:
        ValueError: a length below 0 or above S, or S below 1.
        TypeError: lengths that are not a one-dimensional tensor of integers.

    Chapter: 08_encoder
    """
    checks.positive(S=S)
    checks.integers("lengths", lengths)
    if lengths.ndim != 1:
        raise TypeError(f"lengths must have 1 axis, but its shape is {checks.shape(lengths)}")
    lengths = lengths.long()  # torch has no minimum for some of the narrow kinds
    if lengths.numel() and (int(lengths.min()) < 0 or int(lengths.max()) > S):
        raise ValueError(f"lengths must lie in 0 … S = {S}, not {lengths.tolist()}")
    real = torch.arange(S, device=lengths.device) < lengths[:, None]  # (B, S)
    return real[:, None, :]  # (B, 1, S)


def real_tokens(ids: Int[Tensor, "B S"], pad_id: int) -> Bool[Tensor, "B 1 S"]:
    """The keys that are not padding, wherever it stands: left, right or in between.

    Only for vocabularies in which `pad_id` is nothing but padding. Where it is also the
    end-of-sequence token, use `padding` with the lengths.

    Args:
        ids: token ids, shape (B, S).
        pad_id: the id of the padding token.

    Returns:
        True where `ids != pad_id`, for every query, shape (B, 1, S).

    Raises:
        TypeError: ids that are not integers, or a pad_id that is no int (None, say).
        ValueError: ids without exactly two axes.

    Chapter: 04_self_attention
    """
    checks.integers("ids", ids)
    checks.whole(pad_id=pad_id)
    if ids.ndim != 2:
        raise ValueError(f"ids must have 2 axes (B, S), but its shape is {checks.shape(ids)}")
    return (ids.long() != pad_id)[:, None, :]  # (B, 1, S)


def to_torch(mask: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """This book's mask as `torch.nn.MultiheadAttention` and `nn.Transformer…` read it, and back.

    There True means *may not attend*. Only the meaning changes, not the shape.

    Raises:
        TypeError: a mask that is not boolean.

    Chapter: 05_multi_head
    """
    checks.mask(mask, tuple(mask.shape) if isinstance(mask, Tensor) else ())
    return ~mask


def _keys(T: int, S: int | None) -> int:
    """The number of keys: S, or T unless given."""
    S = T if S is None else S
    checks.positive(T=T, S=S)
    if S < T:
        raise ValueError(f"S must be at least T: {T} queries cannot be the last of {S} keys")
    return S
