"""What the readers of pretrained weights share: checks that name the key, and the last step.

The names here are the library's own tools; chapters do not use them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attnbook import checks

M = TypeVar("M", bound=nn.Module)
# Hugging Face's names of what `attnbook.sublayers.ACTIVATIONS` has.
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
_SHOWN = 6  # so many keys are named in an error


def check_config(
    hf: Mapping[str, Any], model_type: str, *, needed: Iterable[str], fixed: Mapping[str, Any]
) -> None:
    """`hf` must be the configuration of such a model, with `needed`, and with none but `fixed`.

    A key of `fixed` may be missing: then its value is the one given there.
    """
    if hf.get("model_type", model_type) != model_type:
        raise ValueError(f"hf must be of a {model_type!r} model, not of {hf['model_type']!r}")
    if missing := [name for name in needed if name not in hf]:
        raise ValueError(f"hf must have {_names(missing)}: missing")
    for name, value in fixed.items():
        if hf.get(name, value) != value:
            raise ValueError(
                f"{name} must be {value!r}, the one that this book's model computes, "
                f"not {hf[name]!r}"
            )


def activation(name: str) -> str:
    """This book's name of Hugging Face's activation."""
    if name not in _ACTIVATIONS:
        raise ValueError(
            f"the activation must be one of {', '.join(map(repr, _ACTIVATIONS))}, not {name!r}"
        )
    return _ACTIVATIONS[name]


def dropout(hf: Mapping[str, Any], *names: str) -> float:
    """The one share of dropout: this book's models have one for all places (0.1 unless given)."""
    shares = {name: hf.get(name, 0.1) for name in names}
    if len(set(shares.values())) > 1:
        given = ", ".join(f"{name} {share}" for name, share in shares.items())
        raise ValueError(f"the shares of dropout must all be one, not {given}")
    return shares[names[0]]


def rename(key: str, table: Iterable[tuple[str, str]]) -> str:
    """`key` with each (part, new part) of the table put in, one after the other."""
    for part, new in table:
        key = key.replace(part, new)
    return key


def complete_twins(state: dict[str, Tensor], twins: Iterable[tuple[str, str]]) -> None:
    """Give both names of each tied tensor its value, in place; with both there, they must agree."""
    for one, two in twins:
        if one in state and two in state:
            if not torch.equal(state[one], state[two]):
                raise ValueError(f"{one} and {two} are tied here, but their values differ")
        elif one in state or two in state:
            state[one] = state[two] = state[one] if one in state else state[two]


def check_keys(state: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """`state` must have the wanted keys, no others, tensors of the wanted shapes and one dtype."""
    missing = [name for name in wanted if name not in state]
    unexpected = [name for name in state if name not in wanted]
    if missing or unexpected:
        parts = [("missing", missing), ("unexpected", unexpected)]
        told = "; ".join(f"{what}: {_names(names)}" for what, names in parts if names)
        raise ValueError(f"state_dict does not fit the config and the kind of model: {told}")
    check_dtype(state)
    for name, size in wanted.items():
        if checks.shape(state[name]) != size:
            raise ValueError(
                f"{name} must have the shape {size} that the config asks for, "
                f"not {checks.shape(state[name])}"
            )


def check_dtype(state: Mapping[str, Tensor]) -> None:
    """All of `state` must be tensors of one floating-point dtype."""
    first = next(iter(state))
    for name, x in state.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a tensor, not {type(x).__name__}")
        if not x.is_floating_point() or x.dtype != state[first].dtype:
            raise TypeError(
                f"all weights must be of one floating-point dtype, not {first} "
                f"{state[first].dtype} and {name} {x.dtype}"
            )


def loaded(model: M, state: Mapping[str, Tensor]) -> M:
    """`model` in eval mode, with this state and in its dtype."""
    dtype = next(iter(state.values())).dtype
    model.to(dtype).load_state_dict(dict(state))
    return model.eval()


def copied(x: Tensor) -> Tensor:
    """A copy on the processor that shares no memory: safetensors refuses tensors that do."""
    return x.detach().cpu().clone().contiguous()


def _names(names: list[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
