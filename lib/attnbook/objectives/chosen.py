"""The choice of what is hidden: a fixed share of each row, drawn anew each time."""

import torch
from jaxtyping import Bool
from torch import Tensor

from attnbook import checks


def choose(
    eligible: Bool[Tensor, "B L"], share: float, *, generator: torch.Generator
) -> Bool[Tensor, "B L"]:
    """Choose a fixed share of the eligible places of each row, each set of them equally likely.

    Also the whole of masking frames: `choose(real, 0.15, generator=…)` says which frames of each
    utterance to hide.

    Args:
        eligible: True where a place may be chosen, shape (B, L).
        share: how many of them, 0 < share < 1. The number is rounded, and is at least 1 in each row
            that has an eligible place.
        generator: where the draws come from, and go on from at the next call. The draws of a
            generator on the processor are the same on every machine.

    Returns:
        True at the chosen places, shape (B, L).

    Raises:
        TypeError: `eligible` is not boolean, or `generator` is no torch.Generator.
        ValueError: `eligible` without exactly two axes, or a share outside its range.

    Source: Devlin et al. 2019 (BERT), section 3.1; He et al. 2022 (MAE), section 3.
    Chapter: 12_bert_pretraining
    """
    checks.boolean("eligible", eligible)
    if eligible.ndim != 2:
        raise ValueError(
            f"eligible must have 2 axes (B, L), but its shape is {checks.shape(eligible)}"
        )
    checks.share(share=share)
    checks.generator(generator)
    number = (eligible.sum(dim=1, keepdim=True) * share + 0.5).floor().clamp(min=1)  # (B, 1)
    lots = torch.rand(eligible.shape, generator=generator, device=generator.device)  # below 1
    lots = lots.to(eligible.device).masked_fill(~eligible, 1.0)
    rank = lots.argsort(dim=1).argsort(dim=1)  # (B, L): 0 for the lowest lot of the row
    return eligible & (rank < number)
