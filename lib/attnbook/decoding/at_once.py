"""Non-autoregressive decoding: all places in one pass, and two ways to know where the text ends."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks
from attnbook.decoding.mode import evaluating
from attnbook.decoding.rows import cut_at
from attnbook.models.non_autoregressive import NonAutoregressive


def at_once_by_length(
    model: NonAutoregressive,
    source: Int[Tensor, "B S"],
    source_mask: Bool[Tensor, "..."] | None = None,
) -> list[list[int]]:
    """As many places as the model's predictor says, each with its most probable token.

    Returns:
        The ids of each text.

    Raises:
        TypeError, ValueError: as `NonAutoregressive.forward`.

    Source: Gu et al. 2018.
    Chapter: 09_decoder
    """
    with evaluating(model):
        logits, length_logits = model(source, source_mask=source_mask)
    lengths = length_logits.argmax(dim=-1) + 1  # (B,)
    rows = logits.argmax(dim=-1).tolist()  # (B, T, V) -> (B, T)
    return [row[:n] for row, n in zip(rows, lengths.tolist(), strict=True)]


def at_once_to_eos(
    model: NonAutoregressive,
    source: Int[Tensor, "B S"],
    source_mask: Bool[Tensor, "..."] | None = None,
    *,
    eos: int,
) -> list[list[int]]:
    """All max_len places; what stands from the first eos on is cut off.

    The model must have been trained with targets that go on with eos up to max_len.

    Returns:
        The ids of each text, without the eos.

    Raises:
        TypeError, ValueError: as `NonAutoregressive.forward`; an eos outside the vocabulary.

    Chapter: 09_decoder
    """
    checks.not_negative(eos=eos)
    if eos >= model.config.target_vocab_size:
        raise ValueError(f"eos must lie in 0 … {model.config.target_vocab_size - 1}, not {eos}")
    lengths = torch.full((len(source),), model.config.max_len, device=source.device)
    with evaluating(model):
        logits, _ = model(source, lengths, source_mask)
    return cut_at(logits.argmax(dim=-1), eos)
