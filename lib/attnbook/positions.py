"""Positions: how attention, which sees a set, comes to know an order.

Two kinds add a vector to the input (`SinusoidalPositions`, `LearnedPositions`), one turns queries
and keys inside the attention (`RotaryPositions`). All take the places of the tokens as an argument,
so that left padding and decoding behind a cache count as they should.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks


def sinusoidal(max_len: int, d_model: int, base: float = 10_000.0) -> Float[Tensor, "L D"]:
    """The table of sine and cosine positions: row p is the vector of place p.

    Column 2i is sin(p / base^(2i/D)), column 2i+1 its cosine. With an odd d_model the last column
    is a sine without its cosine.

    Args:
        max_len: number of places L.
        d_model: width D of a vector.
        base: the longest wavelength is about 2 pi base places.

    Returns:
        The table, shape (L, D), float32.

    Raises:
        ValueError: a size below 1, or a base of at most 1.

    Source: Vaswani et al. 2017, section 3.5.
    Chapter: 06_positions
    """
    checks.positive(max_len=max_len, d_model=d_model)
    _check_base(base)
    # float64 inside: the angle of a far place has few digits to spare in float32.
    angles = torch.arange(max_len)[:, None] * _frequencies(d_model, base, torch.float64)
    table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (L, D or D + 1)
    return table[:, :d_model].float()  # (L, D)


def places(real: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """The place of each token in its own sequence, wherever the padding stands.

    Args:
        real: True at a real token, False at padding, shape (B, S).

    Returns:
        0, 1, 2 … over the real tokens of each row, and 0 at padding before the first, shape (B, S).

    Raises:
        TypeError: `real` is not boolean.

    Chapter: 09_decoder
    """
    checks.mask(real, tuple(real.shape) if isinstance(real, Tensor) else (), name="real")
    return (real.cumsum(dim=-1) - 1).clamp(min=0)  # (B, S)


class SinusoidalPositions(nn.Module):
    """Adds the sine and cosine vector of each place to the input. Nothing is learned.

    Args:
        d_model: width D.
        max_len: number of places L that there are vectors for.

    Raises:
        ValueError: a size below 1.

    Source: Vaswani et al. 2017, section 3.5.
    Chapter: 06_positions
    """

    table: Tensor

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        # Not part of the state: it can be computed, and max_len may change with the use.
        self.register_buffer("table", sinusoidal(max_len, d_model), persistent=False)

    def forward(
        self, x: Float[Tensor, "B T D"], places: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Add to each row of x (B, T, D) the vector of its place.

        Args:
            x: the input.
            places: shape (T,) for all sequences or (B, T) for each; 0 … T - 1 unless given.

        Raises:
            ValueError: a place outside 0 … max_len - 1, or shapes that do not fit.
        """
        return x + self.table[_checked_places(x, places, self.table)].to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds a learned vector for each place to the input.

    Args:
        d_model: width D.
        max_len: number of places L that there are vectors for.

    Raises:
        ValueError: a size below 1.

    Source: Gehring et al. 2017; Devlin et al. 2019 (BERT).
    Chapter: 06_positions
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        checks.positive(d_model=d_model, max_len=max_len)
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.table, std=0.02)  # small beside the token's own vector

    def forward(
        self, x: Float[Tensor, "B T D"], places: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B T D"]:
        """As `SinusoidalPositions.forward`."""
        return x + self.table[_checked_places(x, places, self.table)].to(x.dtype)


class RotaryPositions(nn.Module):
    """Turns each pair of coordinates of a query or key by an angle that grows with its place.

    Coordinates 2i and 2i+1 are turned by place / base^(2i/d_head), so that the dot product of a
    query at place p and a key at place r depends on their vectors and on p - r alone. Neighbouring
    coordinates make a pair, as in the paper (some libraries pair the first half with the second).

    Args:
        d_head: width of a head; even.
        base: sets the slowest turn.

    Raises:
        ValueError: d_head below 1 or odd, or a base of at most 1.

    Source: Su et al. 2021 (RoFormer), equations 14-16 and 34.
    Chapter: 06_positions
    """

    def __init__(self, d_head: int, base: float = 10_000.0) -> None:
        super().__init__()
        checks.positive(d_head=d_head)
        if d_head % 2:
            raise ValueError(f"d_head must be even, two coordinates a turn, not {d_head}")
        _check_base(base)
        self.d_head, self.base = d_head, base

    def forward(
        self, x: Float[Tensor, "B H T d"], places: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B H T d"]:
        """Turn queries or keys.

        Args:
            x: shape (B, H, T, d_head).
            places: shape (T,) for all sequences or (B, T) for each; 0 … T - 1 unless given.

        Returns:
            The turned vectors, of the same shape and the same lengths.

        Raises:
            ValueError: negative places, or shapes that do not fit.
        """
        checks.floating(x=x)
        checks.last_size("x", x, self.d_head, ndim=4)
        places = _checked_places(x[:, 0], places)
        # The angles stay in at least float32 whatever x is: bfloat16 cannot count past 256.
        precise = torch.promote_types(x.dtype, torch.float32)
        angles = places[..., None] * _frequencies(self.d_head, self.base, precise, x.device)
        angles = angles if angles.ndim == 2 else angles[:, None]  # (T, d/2) or (B, 1, T, d/2)
        cos, sin = angles.cos(), angles.sin()
        even, odd = x[..., 0::2].to(precise), x[..., 1::2].to(precise)  # (B, H, T, d/2) each
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2).to(x.dtype)  # (B, H, T, d/2, 2) -> (B, H, T, d)


def _check_base(base: float) -> None:
    if not base > 1:
        raise ValueError(f"base must be above 1, not {base}")


def _frequencies(
    width: int, base: float, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    return base ** -(torch.arange(0, width, 2, dtype=dtype, device=device) / width)  # (width / 2,)


def _checked_places(x: Tensor, given: Tensor | None, table: Tensor | None = None) -> Tensor:
    """The places of the rows of x (B, T, D), each with a row in `table` where there is one."""
    checks.floating(x=x)
    if table is not None:
        checks.last_size("x", x, table.shape[1], ndim=3)
    B, T = x.shape[:2]
    if given is None:
        lowest, highest, given = 0, T - 1, torch.arange(T, device=x.device)
    else:
        checks.integers("places", given)
        given = given.long()  # torch reads an index of bytes as a mask
        if checks.shape(given) not in ((T,), (B, T)):
            raise ValueError(
                f"places must have the shape (T,) = ({T},) or (B, T) = ({B}, {T}), "
                f"not {checks.shape(given)}"
            )
        unseen = given.is_meta or torch.compiler.is_compiling()  # see checks.ids
        looked_at = given.numel() and not unseen
        lowest, highest = (int(given.min()), int(given.max())) if looked_at else (0, 0)
    if lowest < 0:
        raise ValueError(f"places must be at least 0, but {lowest} is among them")
    if table is not None and highest >= len(table):
        raise ValueError(
            f"places must be below max_len = {len(table)}, but {highest} is among them"
        )
    return given
