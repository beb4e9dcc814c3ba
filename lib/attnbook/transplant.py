"""Layers of one model in another, frozen: does what a model of text learned help elsewhere?

Chapter 13 asks it of DNA and chapter 17 of speech, both with the same three starts.
"""

import torch
from torch import nn

# What the layers start from: the text's weights, the same numbers in random places, or new ones.
LAYERS = ("text", "shuffled", "random")


def transplant(into: nn.Module, source: nn.Module, *, shuffled: bool = False) -> None:
    """Give layers the weights of others, and freeze them; the layer norms alone go on learning.

    Args:
        into: the layers that are changed.
        source: layers of the same sizes; they stay as they are.
        shuffled: whether the numbers of each tensor come to random places in it.

    Raises:
        RuntimeError: layers of other sizes.

    Source: Lu et al. 2022, section 2.
    Chapter: 17_beyond_text
    """
    taken = source.state_dict()
    if shuffled:
        taken = {k: x.flatten()[torch.randperm(x.numel())].view_as(x) for k, x in taken.items()}
    into.load_state_dict(taken)
    for part in into.modules():
        if not isinstance(part, nn.LayerNorm):
            for weight in part.parameters(recurse=False):
                weight.requires_grad_(False)
