"""Muon for the matrices inside a model, AdamW for all else, as one optimizer."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn


def muon(
    model: nn.Module,
    *,
    leave: Iterable[nn.Module] = (),
    momentum: float = 0.95,
    weight_decay: float = 0.01,
) -> Callable[..., torch.optim.Optimizer]:
    """An `optimizer` for `train`: Muon for the weights of linear layers, AdamW for the others.

    Muon replaces the momentum of a matrix by the nearest orthogonal one, so that all its
    directions are learned alike. That is for matrices between two hidden layers: embeddings,
    positions, norms, biases and an output tied to the embeddings stay with AdamW. Both take one
    learning rate, for torch scales Muon's updates to the size of AdamW's.

    Args:
        model: whose parameters are trained.
        leave: modules whose weights AdamW is to have too, such as an output layer of its own.
        momentum: of Muon: how much of the mean gradient is kept each step; short trainings want
            less than the default.
        weight_decay: share by which weights shrink each step, times the learning rate.

    Returns:
        A function `(parameters, lr=…)` that makes the optimizer; a ValueError for parameters of
        another model.

    Raises:
        RuntimeError: a torch without Muon (it came with 2.9).
        ValueError: a model without a linear layer to use it on.

    Source: Jordan et al. 2024 (Muon); Liu et al. 2025 (the common learning rate).
    Chapter: 10_cross_attention
    """
    if not hasattr(torch.optim, "Muon"):
        raise RuntimeError(f"Muon needs torch 2.9 or newer, and this is {torch.__version__}")
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    left = tables | {id(p) for module in leave for p in module.parameters()}
    linear = [m.weight for m in model.modules() if isinstance(m, nn.Linear)]
    # With the weights, not their ids alone: an id goes to another tensor once its own is gone.
    matrices = {id(weight): weight for weight in linear if id(weight) not in left}
    if not matrices:
        raise ValueError("model has no linear layer that Muon could train")

    def make(parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Optimizer:
        parameters = list(parameters)
        inner = [p for p in parameters if id(p) in matrices]
        if not inner:
            raise ValueError("parameters must be those of the model that muon was given")
        others = [p for p in parameters if id(p) not in matrices]
        return MuonAdamW(inner, others, lr=lr, momentum=momentum, weight_decay=weight_decay)

    return make


class MuonAdamW(torch.optim.Optimizer):
    """torch's Muon and AdamW behind one step, one state and one list of groups.

    Args:
        matrices: parameters with two axes, for Muon.
        others: all else, for AdamW.
        lr: learning rate of both.
        momentum: of Muon.
        weight_decay: of both.

    Source: see `muon`.
    Chapter: 10_cross_attention
    """

    def __init__(
        self,
        matrices: list[nn.Parameter],
        others: list[nn.Parameter],
        *,
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
    ) -> None:
        kinds = (
            (
                torch.optim.Muon,
                matrices,
                {"adjust_lr_fn": "match_rms_adamw", "momentum": momentum},
            ),
            (torch.optim.AdamW, others, {}),
        )
        self.parts = [
            kind(parameters, lr=lr, weight_decay=weight_decay, **choices)
            for kind, parameters, choices in kinds
            if parameters
        ]
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        self._join()

    def _join(self) -> None:
        # One state and the same groups for all: whoever looks at this optimizer, changes the rate
        # or saves it, has those of its parts in hand.
        groups = iter(self.param_groups)
        for part in self.parts:
            part.param_groups = [next(groups) for _ in part.param_groups]
            part.state = self.state

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One update of every parameter that has a gradient."""
        with torch.enable_grad():
            loss = closure() if closure is not None else None
        for part in self.parts:
            part.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As torch's."""
        super().load_state_dict(state_dict)
        self._join()
