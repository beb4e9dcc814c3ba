"""Truncated self-attention in blocks: what lies outside of the window is not even computed."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attnbook import checks, masks
from attnbook.attention import fused_attention

# Rows of a block, at least: products of a few rows leave a processor idle.
_ROWS = 32


def windowed_attention(
    query: Float[Tensor, "*batch L d"],
    key: Float[Tensor, "*batch L d"],
    value: Float[Tensor, "*batch L d_v"],
    width: int,
    *,
    mask: Bool[Tensor, "..."] | None = None,
    causal: bool = False,
) -> Float[Tensor, "*batch L d_v"]:
    """`attention` with `masks.window(L, width)`, in time and memory that grow with L times width.

    The queries are cut into blocks. Each block is compared with its own keys and the `width` keys
    on either side of it, not with all L.

    Args:
        query, key: one row a place, shape (…, L, d).
        value: shape (…, L, d_v).
        width: the largest distance that is still seen; 0 leaves each place only itself.
        mask: the keys that may be attended to, the same for all queries, such as
            `masks.padding`: broadcasts to (…, 1, L). A query that sees no key gives zeros.
        causal: whether only the past and the present are seen, as with `masks.causal(L)`.

    Returns:
        The output (…, L, d_v).

    Raises:
        TypeError: as `attention`, or a width that is no int.
        ValueError: as `attention`, a negative width, or other than one key a query.

    Source: Yeh et al. 2019 (truncated self-attention); Beltagy et al. 2020 (Longformer), for the
        blocks.
    Chapter: 07_spans_cnn_rnn
    """
    checks.queries_keys_values(query, key, value)
    checks.not_negative(width=width)
    checks.flag(causal=causal)
    L, device = query.shape[-2], query.device
    if key.shape[-2] != L:
        raise ValueError(f"there must be one key a query: {key.shape[-2]} keys, {L} queries")
    if mask is None:
        mask = torch.ones(1, L, dtype=torch.bool, device=device)
    checks.mask(mask, (*query.shape[:-2], 1, L))
    mask = torch.atleast_2d(mask)  # (…, 1, L)

    width = min(width, max(L - 1, 0))  # nothing lies further away
    rows = max(width, min(L, _ROWS), 1)
    blocks = max(-(-L // rows), 1)
    left, right, fill = width, 0 if causal else width, blocks * rows - L
    S = left + rows + right  # keys of a block

    def neighbourhoods(x: Tensor) -> Tensor:
        """(…, L, d) -> (…, blocks, S, d): blocks overlap, and zeros stand beyond the ends."""
        return F.pad(x, (0, 0, left, fill + right)).unfold(-2, S, rows).transpose(-2, -1)

    queries = F.pad(query, (0, 0, 0, fill)).unflatten(-2, (blocks, rows))  # (…, blocks, rows, d)
    # The queries of a block stand at the places left … left + rows - 1 of its keys.
    sees = masks.window(rows + right, width, S, device=device)[:rows]  # (rows, S)
    if causal:
        sees = sees & masks.causal(rows, S, device=device)
    real = neighbourhoods(mask.expand(*mask.shape[:-1], L).transpose(-2, -1))  # (…, blocks, S, 1)
    sees = sees & real.transpose(-2, -1)  # (…, blocks, rows, S)
    output = fused_attention(queries, neighbourhoods(key), neighbourhoods(value), sees)
    return output.flatten(-3, -2)[..., :L, :]  # (…, blocks, rows, d_v) -> (…, L, d_v)
