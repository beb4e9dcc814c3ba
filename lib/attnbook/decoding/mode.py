"""How a model is run when it writes: without dropout, without gradients."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """`with evaluating(model):` runs it in eval mode without gradients; its mode is put back.

    Chapter: 09_decoder
    """
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
