"""The layers of the Transformer: attention and a feed-forward network, each with a residual path.

`pre_norm=False` is the order of the paper, `norm(x + sublayer(x))`; `pre_norm=True` is
`x + sublayer(norm(x))`, which most models since GPT-2 use and which leaves a straight path from the
last layer to the first (a stack then wants one more norm at its end).
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnbook import checks
from attnbook.attention import MultiHeadAttention

Rotation = Callable[[Tensor, Tensor], Tensor]
# By name, so that a configuration can go into a JSON file. GPT-2 computes GELU by a tanh.
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh")}


class FeedForward(nn.Module):
    """The same two-layer network at every position: w_2(activation(w_1(x))).

    Args:
        d_model: width D of input and output.
        d_ff: width in between; the paper takes 4 D.
        dropout: share dropped in training between the two.
        activation: "relu" as in the paper, "gelu", or "gelu_tanh", GELU's approximation in GPT-2.

    Raises:
        ValueError: a size below 1, a dropout outside [0, 1), or an activation of no such name.

    Source: Vaswani et al. 2017, equation 2; Hendrycks and Gimpel 2016 (GELU).
    Chapter: 08_encoder
    """

    def __init__(
        self, d_model: int, d_ff: int, *, dropout: float = 0.0, activation: str = "relu"
    ) -> None:
        super().__init__()
        checks.positive(d_model=d_model, d_ff=d_ff)
        checks.probability(dropout=dropout)
        checks.choice("activation", activation, ACTIVATIONS)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """x (…, D) -> (…, D), each position by itself."""
        checks.activations("x", x, self.w_1.weight)
        return self.w_2(self.dropout(self.activation(self.w_1(x))))  # (…, D) -> (…, d_ff) -> (…, D)


class Residual(nn.Module):
    """The path around a sub-layer, and the place of the layer norm.

    Use: `update = sublayer(around.enter(x)); x = around.leave(x, update)`.

    Args:
        d_model: width D.
        pre_norm: norm on the way into the sub-layer (True) or after the sum (False).
        dropout: share of the update dropped in training.
        norm_eps: what the layer norm adds to the variance, so that it never divides by 0.

    Source: He et al. 2016 (residual); Ba et al. 2016 (layer norm); Xiong et al. 2020 (pre-norm).
    Chapter: 08_encoder
    """

    def __init__(
        self, d_model: int, *, pre_norm: bool, dropout: float = 0.0, norm_eps: float = 1e-5
    ) -> None:
        super().__init__()
        checks.positive(d_model=d_model)
        checks.probability(dropout=dropout)
        checks.rate(norm_eps=norm_eps)
        self.norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def enter(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """What the sub-layer gets to see of x."""
        checks.activations("x", x, self.norm.weight)
        return self.norm(x) if self.pre_norm else x

    def leave(
        self, x: Float[Tensor, "*batch D"], update: Float[Tensor, "*batch D"]
    ) -> Float[Tensor, "*batch D"]:
        """x with the sub-layer's update added.

        Raises:
            ValueError: an update of another shape, which would be stretched to that of x.
        """
        checks.same_shape("update", update, "x", x)
        x = x + self.dropout(update)
        return x if self.pre_norm else self.norm(x)


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
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T T"] | None]:
        """x (B, T, D) -> the output (B, T, D) and the weights (B, H, T, T) or None.

        Args:
            x: the input.
            mask: True where the query may attend; see `MultiHeadAttention.forward`.
            need_weights: whether to return the attention weights.
        """
        h = self.around_attention.enter(x)
        h, weights = self.attention(h, h, h, mask, need_weights=need_weights)
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
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "B T D"],
        Float[Tensor, "B H T T"] | None,
        Float[Tensor, "B H T S"] | None,
    ]:
        """x (B, T, D) and the memory (B, S, D) -> the output (B, T, D) and both weights or None.

        Args:
            x: what the decoder has so far.
            memory: the encoder's output, from which cross-attention takes keys and values.
            mask: for the self-attention; the layer adds no causal mask of its own, pass
                `masks.causal(T)` (and padding, with `&`).
            memory_mask: for the cross-attention, such as the source's padding.
            need_weights: whether to return the attention weights.
        """
        checks.activations("memory", memory, self.cross_attention.w_k.weight, ndim=3)
        h = self.around_self.enter(x)
        checks.leading("memory", memory, "x", x, 1)
        if memory_mask is not None:
            scores = (len(x), self.cross_attention.n_heads, x.shape[1], memory.shape[1])
            checks.mask_of_heads(memory_mask, scores, name="memory_mask")
        h, weights = self.self_attention(h, h, h, mask, need_weights=need_weights)
        x = self.around_self.leave(x, h)

        h = self.around_cross.enter(x)
        h, cross_weights = self.cross_attention(
            h, memory, memory, memory_mask, need_weights=need_weights
        )
        x = self.around_cross.leave(x, h)

        h = self.feed_forward(self.around_feed_forward.enter(x))
        x = self.around_feed_forward.leave(x, h)
        return x, weights, cross_weights
