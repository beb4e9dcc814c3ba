"""Attention: the function first, the module with its heads second.

`attention` is the formula, and gives the weights. `fused_attention` is the same result by torch's
fused kernel, which never stores the T x S weights: the module takes it where nobody asks for them.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnbook import checks
from attnbook.cache import AttentionCache


def attention(
    query: Float[Tensor, "*batch T d"],
    key: Float[Tensor, "*batch S d"],
    value: Float[Tensor, "*batch S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch T d_v"], Float[Tensor, "*batch T S"]]:
    """Scaled dot-product attention: softmax(Q K^T / sqrt(d)) V, one query a row.

    Args:
        query: what each position asks, shape (…, T, d).
        key: what each position answers to, shape (…, S, d).
        value: what each position hands over, shape (…, S, d_v).
        mask: True where the query may attend; broadcasts to (…, T, S). A query that may attend
            to nothing gives zeros, forward and backward.
        dropout: share of the weights that is set to zero in the sum (the rest is scaled up).
            It drops whenever it is above 0: callers pass 0 outside of training.

    Returns:
        The output (…, T, d_v), and the weights (…, T, S) before dropout. The weights are at
        least 0, and each row sums to 1 (to 0 where all is masked).

    Raises:
        TypeError: a tensor that is not floating-point, mixed dtypes, a mask that is not boolean.
        ValueError: sizes that do not fit, or a dropout outside [0, 1).

    Source: Vaswani et al. 2017, equation 1.
    Chapter: 04_self_attention
    """
    _check(query, key, value, mask, dropout)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, T, S)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        # The lowest finite number, not -inf: a row that is masked whole would become NaN.
        # Such a row is even after the softmax; the second fill makes it zero.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    return F.dropout(weights, dropout) @ value, weights  # (…, T, d_v), (…, T, S)


def fused_attention(
    query: Float[Tensor, "*batch T d"],
    key: Float[Tensor, "*batch S d"],
    value: Float[Tensor, "*batch S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch T d_v"]:
    """The output of `attention` without its weights, by torch's fused kernels.

    The arguments, the output and the errors are those of `attention`.

    Source: Dao et al. 2022 (FlashAttention), for the kernel where the device has it.
    Chapter: 04_self_attention
    """
    _check(query, key, value, mask, dropout)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
    # The kernels differ in what they make of a row that is masked whole (some give NaN): let it
    # look at everything, then take its output away.
    mask = torch.atleast_2d(mask)  # the kernels want both axes
    sees = mask.any(dim=-1, keepdim=True)  # (…, T, 1)
    output = F.scaled_dot_product_attention(query, key, value, mask | ~sees, dropout_p=dropout)
    return output.masked_fill(~sees, 0.0)  # (…, T, d_v)


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> None:
    checks.queries_keys_values(query, key, value)
    checks.probability(dropout=dropout)
    if mask is not None:
        checks.mask(mask, (*query.shape[:-1], key.shape[-2]))


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own d_head = d_model / n_heads dimensions.

    With `n_heads=1` this is plain attention between learned projections. Self-attention is
    `forward(x, x, x)`; cross-attention takes `key` and `value` from another sequence.

    Args:
        d_model: width of queries, keys, values and output.
        n_heads: number of heads H; must divide d_model.
        dropout: share of the attention weights dropped in training, 0 <= dropout < 1.
        bias: whether the four projections have a bias.
        rotate: applied to queries and to keys of shape (B, H, T or S, d_head) after the split
            into heads, such as `attnbook.positions.RotaryPositions`; it is called with the
            places of the rows, `rotate(x, places)`: a query's place counts from S - T, so that
            the queries are the last of the keys.

    Attributes:
        w_q, w_k, w_v, w_o: the projections W^Q, W^K, W^V and W^O of the paper (all heads side
            by side), each d_model -> d_model.

    Raises:
        ValueError: a size below 1, n_heads that does not divide d_model, dropout outside [0, 1).

    Source: Vaswani et al. 2017, section 3.2.2.
    Chapter: 05_multi_head
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        rotate: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        checks.heads(d_model, n_heads)
        checks.probability(dropout=dropout)
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.rotate = rotate

    def forward(
        self,
        query: Float[Tensor, "B T D"],
        key: Float[Tensor, "B S D"],
        value: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: AttentionCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T _S"] | None]:
        """Attend from `query` to `key`, and sum `value`.

        Args:
            query: shape (B, T, D).
            key, value: shape (B, S, D).
            mask: True where the query may attend: (T, S) for all, (B, T, S) or (B, 1, S) for
                each sequence, (B, H, T, S) for each head.
            cache: the keys and values of earlier calls. Those of this one are added behind them,
                and S counts all: `mask` and the weights too.
            need_weights: whether to return the weights; without them a fused kernel runs.

        Returns:
            The output (B, T, D), and the weights (B, H, T, S) of each head or None.

        Raises:
            TypeError, ValueError: as `attention`; with a cache, also as `AttentionCache.extend`.
        """
        for name, x in (("query", query), ("key", key), ("value", value)):
            checks.activations(name, x, self.w_q.weight, ndim=3)
            checks.leading(name, x, "query", query, 1)
        past = 0 if cache is None else cache.length
        B, T, S = *query.shape[:2], past + key.shape[1]
        if mask is not None:
            checks.mask_of_heads(mask, (B, self.n_heads, T, S))
            mask = mask[:, None] if mask.ndim == 3 else mask  # (B, 1, T, S): the same for all heads

        q = self._split(self.w_q(query))  # (B, H, T, d_head)
        k = self._split(self.w_k(key))  # (B, H, S - past, d_head)
        v = self._split(self.w_v(value))  # (B, H, S - past, d_head)
        if self.rotate is not None:
            if T > S:
                raise ValueError(f"{T} queries cannot be the last of {S} keys: rotate needs T <= S")
            places = torch.arange(S, device=k.device)
            q, k = self.rotate(q, places[S - T :]), self.rotate(k, places[past:])
        if cache is not None:  # what it holds is turned already
            k, v = cache.extend(k, v)  # (B, H, S, d_head) each

        dropout = self.dropout if self.training else 0.0
        if need_weights:
            heads, weights = attention(q, k, v, mask, dropout=dropout)
        else:
            heads, weights = fused_attention(q, k, v, mask, dropout=dropout), None
        return self.w_o(self._join(heads)), weights  # (B, T, D), (B, H, T, S)

    def _split(self, x: Tensor) -> Tensor:
        # A head is a slice of the width: cut the last axis, then bring the heads forward. A bare
        # view(B, H, T, d_head) has the same shape but deals out positions to the heads instead.
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, T, D) -> (B, H, T, d_head)

    def _join(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(-2)  # (B, H, T, d_head) -> (B, T, D)
