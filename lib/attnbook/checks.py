"""What every module asks of its arguments, with errors that say what was given and what is wanted.

The names here are the library's own tools; chapters do not use them.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor


def whole(**values: int) -> None:
    """Each keyword must be a whole number."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, not {value!r} ({type(value).__name__})")


def positive(**sizes: int) -> None:
    """Each keyword must be a whole number of at least 1; the error names the first that is not."""
    for name, size in sizes.items():
        whole(**{name: size})
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")


def at_most(name: str, size: int, most: int) -> int:
    """`size`, which must be a whole number from 1 to `most`."""
    positive(**{name: size})
    if size > most:
        raise ValueError(f"{name} must be at most {most}, not {size}")
    return size


def not_negative(**sizes: int) -> None:
    """Each keyword must be a whole number of at least 0."""
    for name, size in sizes.items():
        whole(**{name: size})
        if size < 0:
            raise ValueError(f"{name} must be at least 0, not {size}")


def flag(**values: bool) -> None:
    """Each keyword must be True or False, not something that only counts as one of them."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r}")


def choice(name: str, value: str, options: Iterable[str]) -> None:
    """`value` must be one of the names in `options`."""
    if value not in tuple(options):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, not {value!r}")


def heads(d_model: int, n_heads: int) -> None:
    """`d_model` must part into `n_heads` heads of one width."""
    positive(d_model=d_model, n_heads=n_heads)
    if d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model, but {n_heads} does not divide {d_model}")


def _numbers(values: dict[str, float], fits: Callable[[float], bool], wanted: str) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name} must be a number, not {value!r} ({type(value).__name__})")
        if not fits(value):
            raise ValueError(f"{name} must be {wanted}, not {value}")


def probability(**values: float) -> None:
    """Each keyword must be a number p with 0 <= p < 1, as a share that is dropped."""
    _numbers(values, lambda p: 0.0 <= p < 1.0, "at least 0 and below 1")


def share(**values: float) -> None:
    """Each keyword must be a number p with 0 < p < 1, as a share that is chosen."""
    _numbers(values, lambda p: 0.0 < p < 1.0, "above 0 and below 1")


def rate(**values: float) -> None:
    """Each keyword must be a finite number above 0."""
    _numbers(values, lambda x: 0 < x < math.inf, "above 0 and finite")


def factor(**values: float) -> None:
    """Each keyword must be a finite number of at least 0."""
    _numbers(values, lambda x: 0 <= x < math.inf, "at least 0 and finite")


def floating(**tensors: Tensor) -> None:
    """Each keyword must be a floating-point tensor, and all of one dtype and one device."""
    kinds: dict[str, tuple[torch.dtype, torch.device]] = {}
    for name, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a tensor, not {type(x).__name__}")
        if not x.is_floating_point():
            raise TypeError(f"{name} must hold floating-point numbers, not {x.dtype}")
        kinds[name] = (x.dtype, x.device)
    if len(set(kinds.values())) > 1:
        given = ", ".join(f"{name} {dtype} on {device}" for name, (dtype, device) in kinds.items())
        raise TypeError(f"all must have one dtype and stand on one device, not {given}")


def last_size(name: str, x: Tensor, size: int, *, ndim: int | None = None) -> None:
    """The last axis of `x` must have `size` entries (and `x` must have `ndim` axes, if given)."""
    if ndim is not None and x.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axes, not {x.ndim}: its shape is {shape(x)}")
    if x.ndim == 0 or x.shape[-1] != size:
        raise ValueError(f"the last axis of {name} must be {size}, but its shape is {shape(x)}")


def activations(name: str, x: Tensor, weight: Tensor, *, ndim: int | None = None) -> None:
    """`x` must fit a linear map or norm of this weight: its dtype, its width last."""
    floating(**{name: x})
    last_size(name, x, weight.shape[-1], ndim=ndim)
    # Under autocast torch itself brings the two to one dtype.
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"{name} must be {weight.dtype} as the weights are, not {x.dtype}")


def leading(name: str, x: Tensor, of: str, y: Tensor, axes: int) -> None:
    """The axes `[:axes]` of `x` must be those of `y`, which the caller knows as `of`."""
    if x.shape[:axes] != y.shape[:axes]:
        raise ValueError(
            f"the leading axes of {name} must be those of {of}: its shape is {shape(x)}, "
            f"{of}'s {shape(y)}"
        )


def images(x: Tensor) -> None:
    """`x` must be a batch of images (B, C, height, width), of floating-point numbers."""
    floating(images=x)
    if x.ndim != 4:
        raise ValueError(f"images must have 4 axes (B, C, height, width), not {shape(x)}")


def integers(name: str, x: Tensor) -> None:
    """`x` must be a tensor of whole numbers (bool is not one)."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(x).__name__}")
    if x.dtype == torch.bool or x.is_floating_point() or x.is_complex():
        raise TypeError(f"{name} must hold integers, not {x.dtype}")


def ids(name: str, x: Tensor, size: int) -> None:
    """`x` must hold whole numbers from 0 to `size` - 1; the error names the value out of range.

    While torch.compile traces, and on the device "meta", there are no values to look at: the range
    is not checked then.
    """
    integers(name, x)
    if torch.compiler.is_compiling() or x.is_meta:
        return
    x = x.long()  # torch has no minimum for some of the narrow kinds
    low, high = (int(x.min()), int(x.max())) if x.numel() else (0, 0)
    if low < 0 or high >= size:
        worst = low if low < 0 else high
        raise ValueError(f"{name} must lie in 0 … {size - 1}, but {worst} is among them")


def token_ids(name: str, x: Tensor, vocab_size: int, max_len: int) -> None:
    """`x` must be a batch (B, T) of ids below `vocab_size`, with T at most `max_len`."""
    integers(name, x)
    if x.ndim != 2:
        raise ValueError(f"{name} must have 2 axes (B, T), but its shape is {shape(x)}")
    if x.shape[1] > max_len:
        raise ValueError(
            f"{name} must have at most max_len = {max_len} tokens a sequence, not {x.shape[1]}"
        )
    ids(name, x, vocab_size)


def queries_keys_values(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Queries (…, T, d), keys (…, S, d) and values (…, S, d_v) that fit one another."""
    floating(query=query, key=key, value=value)
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise ValueError(f"{name} needs at least 2 axes, but its shape is {shape(x)}")
        leading(name, x, "query", query, -2)
    last_size("key", key, query.shape[-1])
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"there must be one value a key: value has {value.shape[-2]} rows (shape "
            f"{shape(value)}), key {key.shape[-2]} (shape {shape(key)})"
        )


def boolean(name: str, x: Tensor) -> None:
    """`x` must be a boolean tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a boolean tensor, not {type(x).__name__}")
    if x.dtype != torch.bool:
        raise TypeError(f"{name} must be boolean, not {x.dtype}")


def same_shape(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """`x` must have the shape of `other`; the error names both."""
    if x.shape != other.shape:
        raise ValueError(
            f"{name} must have the shape of {other_name}, {shape(other)}, not {shape(x)}"
        )


def one_length(**lists: Sequence[object]) -> None:
    """Each keyword must be a list (no string), all of one length, which is at least 1."""
    for name, given in lists.items():
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TypeError(f"{name} must be a list, not {given!r}")
    lengths = [len(given) for given in lists.values()]
    if len(set(lengths)) > 1 or not lengths[0]:
        raise ValueError(
            f"{' and '.join(lists)} must be of one length, at least 1, not "
            f"{' and '.join(map(str, lengths))}"
        )


def generator(x: torch.Generator) -> None:
    """`x` must be a source of random numbers of its own, so that a seed fixes the draws."""
    if not isinstance(x, torch.Generator):
        raise TypeError(f"generator must be a torch.Generator, not {type(x).__name__}")


def mask(x: Tensor, target: tuple[int, ...], *, name: str = "mask") -> None:
    """`x` must be boolean (True = may attend) and broadcast to the shape `target` of the scores."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a boolean tensor or None, not {type(x).__name__}")
    if x.dtype != torch.bool:
        raise TypeError(
            f"{name} must be boolean, True where the query may attend, not {x.dtype}; "
            "a mask of 0 and 1 becomes one with `mask == 1`"
        )
    sizes = zip(reversed(x.shape), reversed(target), strict=False)
    if x.ndim > len(target) or any(given not in (1, wanted) for given, wanted in sizes):
        raise ValueError(f"{name} must broadcast to {tuple(target)}, but its shape is {shape(x)}")


def mask_of_heads(x: Tensor, scores: tuple[int, int, int, int], *, name: str = "mask") -> None:
    """As `mask`, for scores (B, H, T, S): with 4 axes for each head, with fewer for all heads."""
    B, _, T, S = scores
    mask(x, scores if isinstance(x, Tensor) and x.ndim == 4 else (B, T, S), name=name)


def shape(x: Tensor) -> tuple[int, ...]:
    """The shape as a plain tuple, for messages."""
    return tuple(x.shape)
