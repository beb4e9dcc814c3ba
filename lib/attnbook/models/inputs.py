"""What goes into a stack of layers: token ids, made into vectors that know their places."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks, masks
from attnbook.cache import KeyValueCache
from attnbook.embeddings import TokenEmbedding
from attnbook.positions import LearnedPositions, SinusoidalPositions, places

ADDED = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
POSITIONS = (*ADDED, "rotary", "none")


class InputEmbedding(nn.Module):
    """The vector of each token, with that of its place added where positions are of that kind.

    Args:
        vocab_size: number of tokens V.
        d_model: width D.
        max_len: the longest sequence that is taken, in tokens.
        positions: "sinusoidal" or "learned", which are added here; "rotary", which turns queries
            and keys inside the attention, or "none": nothing is added.
        dropout: share of the sums dropped in training.

    Attributes:
        tokens: the `TokenEmbedding`.

    Raises:
        ValueError: a size below 1, a dropout outside [0, 1), or positions of no such name.

    Source: Vaswani et al. 2017, sections 3.4 and 3.5.
    Chapter: 08_encoder
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        max_len: int,
        *,
        positions: str = "sinusoidal",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        checks.positive(max_len=max_len)
        checks.choice("positions", positions, POSITIONS)
        checks.probability(dropout=dropout)
        self.max_len = max_len
        self.tokens = TokenEmbedding(vocab_size, d_model)
        self.positions = ADDED[positions](d_model, max_len) if positions in ADDED else None
        # Sines are large beside the rows of the table, which are small for the sake of a tied
        # output: the paper makes up for it here. Learned vectors are as small as the rows.
        self.scale = math.sqrt(d_model) if positions == "sinusoidal" else 1.0
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, ids: Int[Tensor, "B T"], places: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B T D"]:
        """ids (B, T) -> vectors (B, T, D).

        Args:
            ids: token ids.
            places: of the tokens, (T,) or (B, T), such as `attnbook.positions.places` under left
                padding; 0 … T - 1 unless given. Only positions that are added here heed them,
                but none may lie past max_len.

        Raises:
            TypeError: ids or places that are not integers.
            ValueError: an id outside 0 … vocab_size - 1, more than max_len tokens, or a place
                outside 0 … max_len - 1.
        """
        checks.token_ids("ids", ids, self.tokens.num_embeddings, self.max_len)
        x = self.tokens(ids) * self.scale  # (B, T, D)
        if self.positions is not None:
            x = self.positions(x, places)
        elif places is not None:
            checks.ids("places", places, self.max_len)
        return self.dropout(x)


def mask_and_places(
    ids: Int[Tensor, "B T"],
    real: Bool[Tensor, "..."] | None = None,
    cache: KeyValueCache | None = None,
) -> tuple[Bool[Tensor, "..."] | None, Int[Tensor, "..."] | None]:
    """What the tokens of a decoder may see, and where they stand.

    Args:
        ids: the new tokens.
        real: True at a real token, False at padding on either side, (B, T); all are real unless
            given.
        cache: the tokens before them, whose padding it knows.

    Returns:
        The mask, (T, S) or with padding (B, T, S), S counting the cached tokens: the past and the
        present, without padding; None for a single new token, which sees all. And the places, (T,)
        or with padding (B, T), counted over the real tokens, so that padding on the left changes
        nothing; None where they are 0 … T - 1.

    Raises:
        TypeError: a `real` that is not boolean.
        ValueError: a `real` of another shape than ids; as `KeyValueCache.expect`.

    Chapter: 09_decoder
    """
    if real is not None:
        checks.boolean("real", real)
        checks.same_shape("real", real, "ids", ids)
    T, past = ids.shape[1], 0
    if cache is not None:
        past = cache.length
        real = cache.expect(ids, real)
    mask = masks.causal(T, past + T, device=ids.device) if T > 1 else None  # (T, S)
    if real is None:
        return mask, torch.arange(past, past + T, device=ids.device) if past else None
    seen = real[:, None]  # (B, 1, S)
    return seen if mask is None else mask & seen, places(real)[:, past:]  # (B, T, S), (B, T)
