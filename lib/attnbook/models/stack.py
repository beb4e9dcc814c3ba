"""The stack that the encoder, BERT, GPT and ViT share: layers of one kind, one after the other.

The models differ in what goes in (tokens, tokens and segments, patches), in the mask, and in what
is read off at the end.
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnbook import checks
from attnbook.cache import KeyValueCache, by_layer
from attnbook.layers import EncoderLayer, Rotation
from attnbook.sublayers import ACTIVATIONS


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """The sizes and choices of an `EncoderStack`.

    `dataclasses.asdict` makes it into plain numbers and names for a JSON file, and
    `StackConfig(**loaded)` takes them back.

    Args:
        d_model: width D.
        n_heads: heads H of each layer; must divide d_model.
        d_ff: inner width of the feed-forward networks.
        n_layers: number of layers.
        dropout: share dropped in training, of the input vectors and as in `EncoderLayer`.
        pre_norm: where the layer norms stand (see `attnbook.layers`); with True a last norm
            follows the last layer.
        activation: of the feed-forward networks: "relu", "gelu", "gelu_tanh" or "squared_relu".
        norm_eps: what the layer norms add to the variance.

    Raises:
        TypeError: a size that is no int, a pre_norm that is no bool.
        ValueError: a size below 1, n_heads that does not divide d_model, a dropout outside
            [0, 1), a norm_eps that is not above 0, or an activation of no such name.

    Chapter: 08_encoder
    """

    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    dropout: float = 0.0
    pre_norm: bool = False
    activation: str = "relu"
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        checks.positive(
            d_model=self.d_model, n_heads=self.n_heads, d_ff=self.d_ff, n_layers=self.n_layers
        )
        checks.probability(dropout=self.dropout)
        checks.flag(pre_norm=self.pre_norm)
        checks.heads(self.d_model, self.n_heads)
        checks.choice("activation", self.activation, ACTIVATIONS)
        checks.rate(norm_eps=self.norm_eps)

    @property
    def d_head(self) -> int:
        """The width of a head."""
        return self.d_model // self.n_heads

    def layer(self) -> dict[str, Any]:
        """The arguments of one `EncoderLayer` or `DecoderLayer`."""
        names = ("d_model", "n_heads", "d_ff", "dropout", "pre_norm", "activation", "norm_eps")
        return {name: getattr(self, name) for name in names}

    def last_norm(self) -> nn.Module:
        """What follows the last layer: a layer norm (pre_norm), or nothing."""
        return nn.LayerNorm(self.d_model, self.norm_eps) if self.pre_norm else nn.Identity()


class EncoderStack(nn.Module):
    """`EncoderLayer`s one after the other, over vectors that are there already.

    Args:
        config: its sizes and choices.
        rotate: of each layer's attention; see `MultiHeadAttention`.

    Attributes:
        layers: the `EncoderLayer`s, the first one first.
        norm: the last layer norm (pre_norm), or nothing.

    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020 (the norm at the end).
    Chapter: 08_encoder
    """

    def __init__(self, config: StackConfig, rotate: Rotation | None = None) -> None:
        super().__init__()
        # Each layer is drawn for itself: copies of one layer would all start alike.
        self.layers = nn.ModuleList(
            EncoderLayer(**config.layer(), rotate=rotate) for _ in range(config.n_layers)
        )
        self.norm = config.last_norm()

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], tuple[Float[Tensor, "B H T _S"], ...] | None]:
        """x (B, T, D) -> vectors (B, T, D), and the weights (B, H, T, T) of each layer or None.

        Args:
            x: the input.
            mask: True where the query may attend, for all layers; see `MultiHeadAttention.forward`.
            cache: what the layers have read before x.
            need_weights: whether to return the attention weights.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention.forward`; a cache of another number of
                layers.
        """
        weights = []
        for layer, kept in zip(self.layers, by_layer(cache, len(self.layers)), strict=True):
            x, w = layer(x, mask, cache=kept, need_weights=need_weights)
            weights.append(w)
        return self.norm(x), tuple(weights) if need_weights else None
