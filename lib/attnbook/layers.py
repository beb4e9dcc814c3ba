"""The layers of the Transformer: attention and a feed-forward network, each with a residual path.

`pre_norm=False` is the order of the paper, `norm(x + sublayer(x))`; `pre_norm=True` is
`x + sublayer(norm(x))`, which most models since GPT-2 use and which leaves a straight path from the
last layer to the first (a stack then wants one more norm at its end).
"""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnbook import checks
from attnbook.attention import MultiHeadAttention
from attnbook.cache import AttentionCache
from attnbook.sublayers import ACTIVATIONS, FeedForward, Residual

__all__ = ["ACTIVATIONS", "DecoderLayer", "EncoderLayer", "FeedForward", "Residual", "Rotation"]

Rotation = Callable[[Tensor, Tensor], Tensor]


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with its residual path.

    With a causal mask this is also the layer of a decoder-only model such as GPT.

    Args:
        d_model: width D.
        n_heads: number of heads H; must divide d_model.
        d_ff: inner width of the feed-forward network.
        dropout: share dropped in training, of the attention weights, of the inner activations
            and of both updates.
        pre_norm: where the layer norms stand (see the module's text).
        activation: of the feed-forward network.
        norm_eps: of the layer norms.
        rotate: see `MultiHeadAttention`.

    Raises:
        ValueError: as `MultiHeadAttention` and `FeedForward`.

    Source: Vaswani et al. 2017, section 3.1.
    Chapter: 08_encoder
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        pre_norm: bool = False,
        activation: str = "relu",
        norm_eps: float = 1e-5,
        rotate: Rotation | None = None,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, rotate=rotate)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        path = {"pre_norm": pre_norm, "dropout": dropout, "norm_eps": norm_eps}
        self.around_attention = Residual(d_model, **path)
        self.around_feed_forward = Residual(d_model, **path)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: AttentionCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T _S"] | None]:
        """x (B, T, D) -> the output (B, T, D) and the weights (B, H, T, T) or None.

        Args:
            x: the input.
            mask: True where the query may attend; see `MultiHeadAttention.forward`.
            cache: the keys and values of earlier calls, which x then attends to as well.
            need_weights: whether to return the attention weights.
        """
        h = self.around_attention.enter(x)
        h, weights = self.attention(h, h, h, mask, cache=cache, need_weights=need_weights)
        x = self.around_attention.leave(x, h)

        h = self.feed_forward(self.around_feed_forward.enter(x))
        x = self.around_feed_forward.leave(x, h)
        return x, weights


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the encoder's output, then a feed-forward network.

    Args:
        d_model, n_heads, d_ff, dropout, pre_norm, activation, norm_eps: as `EncoderLayer`.
        rotate: as `EncoderLayer`, for the self-attention alone: places in two different
            sequences have no difference that means anything.

    Raises:
        ValueError: as `MultiHeadAttention` and `FeedForward`.

    Source: Vaswani et al. 2017, section 3.1.
    Chapter: 10_cross_attention
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        pre_norm: bool = False,
        activation: str = "relu",
        norm_eps: float = 1e-5,
        rotate: Rotation | None = None,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, rotate=rotate)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        path = {"pre_norm": pre_norm, "dropout": dropout, "norm_eps": norm_eps}
        self.around_self = Residual(d_model, **path)
        self.around_cross = Residual(d_model, **path)
        self.around_feed_forward = Residual(d_model, **path)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: AttentionCache | None = None,
        memory_cache: AttentionCache | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "B T D"],
        Float[Tensor, "B H T _S"] | None,
        Float[Tensor, "B H T S"] | None,
    ]:
        """x (B, T, D) and the memory (B, S, D) -> the output (B, T, D) and both weights or None.

        Args:
            x: what the decoder has so far.
            memory: the encoder's output, from which cross-attention takes keys and values.
            mask: for the self-attention; the layer adds no causal mask of its own, pass
                `masks.causal(T)` (and padding, with `&`).
            memory_mask: for the cross-attention, such as the source's padding.
            cache: as `EncoderLayer.forward`, for the self-attention.
            memory_cache: of the cross-attention. Once the memory's keys and values are in it,
                the memory is not read again: give the same on each call.
            need_weights: whether to return the attention weights.
        """
        checks.activations("memory", memory, self.cross_attention.w_k.weight, ndim=3)
        h = self.around_self.enter(x)
        checks.leading("memory", memory, "x", x, 1)
        if memory_mask is not None:
            scores = (len(x), self.cross_attention.n_heads, x.shape[1], memory.shape[1])
            checks.mask_of_heads(memory_mask, scores, name="memory_mask")
        h, weights = self.self_attention(h, h, h, mask, cache=cache, need_weights=need_weights)
        x = self.around_self.leave(x, h)

        h = self.around_cross.enter(x)
        new = memory if memory_cache is None else memory[:, memory_cache.length :]  # all or none
        h, cross_weights = self.cross_attention(
            h, new, new, memory_mask, cache=memory_cache, need_weights=need_weights
        )
        x = self.around_cross.leave(x, h)

        h = self.feed_forward(self.around_feed_forward.enter(x))
        x = self.around_feed_forward.leave(x, h)
        return x, weights, cross_weights
