"""The encoder: tokens in, one vector a token out, each in the light of the others.

Nothing in it is one-sided but the mask: with `masks.causal(T)` the same stack of the same layers is
the body of a **decoder-only** model such as GPT, `Encoder(config)(ids, masks.causal(T))`.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnbook import checks
from attnbook.cache import KeyValueCache
from attnbook.layers import Rotation
from attnbook.models.inputs import POSITIONS, InputEmbedding
from attnbook.models.stack import EncoderStack, StackConfig
from attnbook.positions import RotaryPositions


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(StackConfig):
    """The sizes and choices of an `Encoder`: those of `StackConfig`, and of its input.

    Args:
        vocab_size: number of tokens V.
        max_len: the longest sequence that is taken, in tokens.
        positions: "sinusoidal", "learned", "rotary" or "none" (see `InputEmbedding`).

    Raises:
        TypeError, ValueError: as `StackConfig`; positions of no such name, or rotary positions
            on heads of odd width.

    Chapter: 08_encoder
    """

    vocab_size: int
    max_len: int
    positions: str = "sinusoidal"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(vocab_size=self.vocab_size, max_len=self.max_len)
        checks.choice("positions", self.positions, POSITIONS)
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(
                f"d_model / n_heads must be even for rotary positions, not "
                f"{self.d_model} / {self.n_heads} = {self.d_head}"
            )

    def rotation(self) -> Rotation | None:
        """The `rotate` of the self-attention: rotary positions, or nothing."""
        return RotaryPositions(self.d_head) if self.positions == "rotary" else None


class Encoder(EncoderStack):
    """Token embedding and positions, then a stack of `EncoderLayer`s.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        embed: the `InputEmbedding`; its table is `embed.tokens.weight`.
        layers, norm: those of `EncoderStack`.

    Source: Vaswani et al. 2017, section 3.1.
    Chapter: 08_encoder
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config, config.rotation())
        c = self.config = config
        self.embed = InputEmbedding(
            c.vocab_size, c.d_model, c.max_len, positions=c.positions, dropout=c.dropout
        )

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "..."] | None = None,
        *,
        places: Int[Tensor, "..."] | None = None,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], tuple[Float[Tensor, "B H T _S"], ...] | None]:
        """ids (B, T) -> vectors (B, T, D), and the weights (B, H, T, T) of each layer or None.

        Args:
            ids: token ids.
            mask: True where the query may attend, for all layers: `masks.padding` (B, 1, T),
                `masks.causal` (T, T) for a decoder-only model, or both with `&`.
            places: of the tokens under left padding; see `InputEmbedding.forward`.
            cache: as `EncoderStack.forward`; `places` must then go on from where it ends.
            need_weights: whether to return the attention weights.

        Raises:
            TypeError, ValueError: as `InputEmbedding.forward` and `EncoderStack.forward`.
        """
        x = self.embed(ids, places)  # (B, T, D)
        return super().forward(x, mask, cache=cache, need_weights=need_weights)
