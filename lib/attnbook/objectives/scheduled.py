"""Scheduled sampling: in training, too, the model reads some of its own words."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnbook import checks


def scheduled_inputs(
    inputs: Int[Tensor, "B T"],
    logits: Float[Tensor, "B T V"],
    share: float,
    *,
    generator: torch.Generator,
) -> Int[Tensor, "B T"]:
    """The true tokens, of which a share is replaced by what the model would have written there.

    A Transformer computes all places at once, so its own words are not known while it reads. Two
    passes do: the first gives logits behind the true tokens, from which the words are drawn; the
    second reads the mixture, and its logits are what the loss is taken of. (A recurrent network can
    draw each word as it goes, as in the first paper.)

    Args:
        inputs: the true tokens, the start token first, shape (B, T).
        logits: of the first pass: `logits[:, t]` is for the token behind `inputs[:, t]`.
        share: the probability with which a token is replaced, 0 <= share < 1, each by its own
            draw. It is to grow during training from 0. The start token always stays.
        generator: where the draws come from, and go on from at the next call.

    Returns:
        The mixture (B, T), without a gradient.

    Raises:
        TypeError: inputs that are not integers, logits that are not floating-point, no generator.
        ValueError: shapes that do not fit, a share outside its range.

    Source: Bengio et al. 2015; Mihaylova and Martins 2019 (two passes for the Transformer).
    Chapter: 11_training
    """
    checks.integers("inputs", inputs)
    checks.floating(logits=logits)
    checks.probability(share=share)
    checks.generator(generator)
    if inputs.ndim != 2 or logits.shape[:-1] != inputs.shape:
        raise ValueError(
            f"inputs must have the shape (B, T) and logits (B, T, V), not "
            f"{checks.shape(inputs)} and {checks.shape(logits)}"
        )
    p = logits.detach()[:, :-1].flatten(0, 1).float().softmax(dim=-1)  # (B * (T - 1), V)
    own = torch.multinomial(p.to(generator.device), 1, generator=generator)  # (B * (T - 1), 1)
    own = torch.cat([inputs[:, :1], own.view(len(inputs), -1).to(inputs)], dim=1)  # (B, T)
    lots = torch.rand(inputs.shape, generator=generator, device=generator.device)
    chosen = lots.to(inputs.device) < share
    chosen[:, 0] = False
    return torch.where(chosen, own, inputs)
