"""Heads one by one: what each looks at, and what a model is without it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.attention import MultiHeadAttention


def attentions(model: nn.Module) -> list[MultiHeadAttention]:
    """The attention layers of a model, in the order in which it holds them.

    In an encoder or a GPT that is one for each layer, the first layer first.

    Chapter: 15_in_context
    """
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


@contextmanager
def without_heads(model: nn.Module, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """`with without_heads(model, [(1, 3)]):` runs the model with head 3 of layer 1 silent.

    A silent head adds nothing to the sum of the heads: its part of what goes into W^O is 0. The
    weights of the model stay as they are.

    Args:
        model: one with `MultiHeadAttention` in it.
        heads: which to silence: (layer, head), both from 0, the layer as `attentions` counts.

    Raises:
        ValueError: a layer or head that the model does not have.

    Source: Michel et al. 2019, section 2.3.
    Chapter: 15_in_context
    """
    layers = attentions(model)
    silent: dict[int, list[int]] = {}
    for layer, head in heads:
        if not 0 <= layer < len(layers):
            raise ValueError(f"heads must name a layer below {len(layers)}, not {layer}")
        if not 0 <= head < layers[layer].n_heads:
            raise ValueError(
                f"heads must name a head below {layers[layer].n_heads} in layer {layer}, not {head}"
            )
        silent.setdefault(layer, []).append(head)
    hooks = [_silence(layers[layer], gone) for layer, gone in silent.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _silence(layer: MultiHeadAttention, gone: list[int]) -> torch.utils.hooks.RemovableHandle:
    def hook(_: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        parts = inputs[0].unflatten(-1, (layer.n_heads, -1)).clone()  # (B, T, H, d_head)
        parts[:, :, gone] = 0
        return parts.flatten(-2)  # (B, T, D)

    return layer.w_o.register_forward_pre_hook(hook)


def prefix_matching(
    ids: Int[Tensor, "B T"],
    weights: Float[Tensor, "B H T T"],
    at: Bool[Tensor, "B T"] | None = None,
) -> Float[Tensor, " H"]:
    """How much each head looks at what followed the token at hand when it stood there before.

    Args:
        ids: the tokens.
        weights: the attention weights of a layer with a causal mask.
        at: True at the places to count as the token at hand; all unless given. Those whose token
            has not stood there before are never counted.

    Returns:
        For each head the mean over those places of the summed weight on all places right behind an
        earlier one with the same token: 0 … 1.

    Raises:
        ValueError: shapes that do not fit, or no token that comes again.

    Source: Olsson et al. 2022 (the score; there on random tokens, repeated).
    Chapter: 15_in_context
    """
    B, T = ids.shape
    if weights.ndim != 4 or (len(weights), *weights.shape[2:]) != (B, T, T):
        raise ValueError(
            f"weights must have the shape (B, H, T, T) with the B = {B} and T = {T} of ids, "
            f"not {checks.shape(weights)}"
        )
    same = (ids[:, :, None] == ids[:, None, :]).tril(diagonal=-1)  # (B, T, T): query, earlier key
    behind = same.roll(1, dims=2)  # (B, T, T): one place later; nothing stands in the last column
    counted = same.any(dim=-1)  # (B, T)
    if at is not None:
        checks.boolean("at", at)
        checks.same_shape("at", at, "ids", ids)
        counted = counted & at
    if not counted.any():
        raise ValueError("ids must have a token that comes again at a place to count")
    on_them = (weights * behind[:, None]).sum(dim=-1)  # (B, H, T)
    return on_them.transpose(0, 1)[:, counted].mean(dim=-1)  # (H, N) -> (H,)
