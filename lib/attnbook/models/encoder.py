"""The encoder: tokens in, one vector a token out, each in the light of the others.

Nothing in it is one-sided but the mask: with `masks.causal(T)` the same stack of the same layers is
the body of a **decoder-only** model such as GPT, `Encoder(config)(ids, masks.causal(T))`.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.layers import EncoderLayer
from attnbook.models.inputs import POSITIONS, InputEmbedding
from attnbook.positions import RotaryPositions


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The sizes and choices of an `Encoder`.

    `dataclasses.asdict` makes it into plain numbers and names for a JSON file, and
    `EncoderConfig(**loaded)` takes them back.

    Args:
        vocab_size: number of tokens V.
        d_model: width D.
        n_heads: heads H of each layer; must divide d_model.
        d_ff: inner width of the feed-forward networks.
        n_layers: number of layers.
        max_len: the longest sequence that is taken, in tokens.
        dropout: share dropped in training, of the input vectors and as in `EncoderLayer`.
        pre_norm: where the layer norms stand (see `attnbook.layers`); with True a last norm
            follows the last layer.
        positions: "sinusoidal", "learned", "rotary" or "none" (see `InputEmbedding`).

    Raises:
        TypeError: a size that is no int, a pre_norm that is no bool.
        ValueError: a size below 1, n_heads that does not divide d_model, a dropout outside
            [0, 1), positions of no such name, or rotary positions on heads of odd width.

    Chapter: 08_encoder
    """

    vocab_size: int
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    max_len: int
    dropout: float = 0.0
    pre_norm: bool = False
    positions: str = "sinusoidal"

    def __post_init__(self) -> None:
        checks.positive(
            vocab_size=self.vocab_size,
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_ff=self.d_ff,
            n_layers=self.n_layers,
            max_len=self.max_len,
        )
        checks.probability(dropout=self.dropout)
        checks.flag(pre_norm=self.pre_norm)
        checks.choice("positions", self.positions, POSITIONS)
        checks.heads(self.d_model, self.n_heads)
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(
                f"d_model / n_heads must be even for rotary positions, not "
                f"{self.d_model} / {self.n_heads} = {self.d_head}"
            )

    @property
    def d_head(self) -> int:
        """The width of a head."""
        return self.d_model // self.n_heads


class Encoder(nn.Module):
    """Token embedding and positions, then a stack of `EncoderLayer`s.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        embed: the `InputEmbedding`; its table is `embed.tokens.weight`.
        layers: the `EncoderLayer`s, the first one first.
        norm: the last layer norm (pre_norm), or nothing.

    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020 (the norm at the end).
    Chapter: 08_encoder
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        c = self.config = config
        self.embed = InputEmbedding(
            c.vocab_size, c.d_model, c.max_len, positions=c.positions, dropout=c.dropout
        )
        rotate = RotaryPositions(c.d_head) if c.positions == "rotary" else None
        # Each layer is drawn for itself: copies of one layer would all start alike.
        self.layers = nn.ModuleList(
            EncoderLayer(
                c.d_model,
                c.n_heads,
                c.d_ff,
                dropout=c.dropout,
                pre_norm=c.pre_norm,
                rotate=rotate,
            )
            for _ in range(c.n_layers)
        )
        self.norm = nn.LayerNorm(c.d_model) if c.pre_norm else nn.Identity()

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        places: Int[Tensor, "..."] | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], tuple[Float[Tensor, "B H T T"], ...] | None]:
        """ids (B, T) -> vectors (B, T, D), and the weights (B, H, T, T) of each layer or None.

        Args:
            ids: token ids.
            mask: True where the query may attend, for all layers: `masks.padding` (B, 1, T),
                `masks.causal` (T, T) for a decoder-only model, or both with `&`.
            places: of the tokens under left padding; see `InputEmbedding.forward`.
            need_weights: whether to return the attention weights.

        Raises:
            TypeError, ValueError: as `InputEmbedding.forward` and `MultiHeadAttention.forward`.
        """
        x = self.embed(ids, places)  # (B, T, D)
        weights = []
        for layer in self.layers:
            x, w = layer(x, mask, need_weights=need_weights)
            weights.append(w)
        return self.norm(x), tuple(weights) if need_weights else None
