"""Between lists of ids, each of its own length, and the rows of a batch."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks


def left_padded(
    prompts: Sequence[Sequence[int]], pad_id: int = 0
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Prompts of different lengths as one batch, so that all end at the last place.

    Args:
        prompts: the ids of each.
        pad_id: what stands before the shorter ones; it is never attended to.

    Returns:
        The ids (B, T), and `real` (B, T): True at a real token.

    Raises:
        TypeError: a pad_id that is no int.
        ValueError: no prompt, or an empty one.

    Chapter: 09_decoder
    """
    checks.not_negative(pad_id=pad_id)
    lengths = [len(prompt) for prompt in prompts]
    if not lengths or min(lengths) < 1:
        raise ValueError(f"prompts must each have a token, but their lengths are {lengths}")
    T = max(lengths)
    ids = [[pad_id] * (T - n) + list(prompt) for n, prompt in zip(lengths, prompts, strict=True)]
    real = torch.arange(T) >= T - torch.tensor(lengths)[:, None]  # (B, T)
    return torch.tensor(ids), real


def cut_at(ids: Int[Tensor, "B T"], eos: int) -> list[list[int]]:
    """Each row up to its first `eos`, which is left out; the whole row where there is none.

    Raises:
        TypeError: ids that are not integers, an eos that is no int.

    Chapter: 09_decoder
    """
    checks.integers("ids", ids)
    checks.whole(eos=eos)
    rows = ids.tolist()
    return [row[: row.index(eos)] if eos in row else row for row in rows]
