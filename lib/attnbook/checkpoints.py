"""Checkpoints: a training on disk, whole or not at all, in safetensors (no pickle, no code)."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

FORMAT = "attnbook training 1"


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be read or written, or that belongs to something else."""


def save_training(
    path: str | os.PathLike[str],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    losses: list[float],
) -> None:
    """Save what `load_training` needs to go on: weights, optimizer, torch's random state, losses.

    A checksum over all of it tells a damaged file later, which safetensors alone does not.
    The file is written under another name and renamed when it is complete, so that a crash or a
    full disk leaves the previous checkpoint as it was.

    Raises:
        CheckpointError: it could not be written, or the optimizer has a parameter that is not
            the model's; the previous file, if any, is still there.

    Chapter: 11_training
    """
    tensors = {f"model.{name}": x for name, x in model.state_dict().items()}
    numbers: dict[str, dict[str, Any]] = {}
    for index, state in optimizer.state_dict()["state"].items():
        for key, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{index}.{key}"] = value
            else:
                numbers.setdefault(str(index), {})[key] = value
    tensors |= {f"random.{name}": state for name, state in _random_states().items()}
    tensors["losses"] = torch.tensor(losses, dtype=torch.float64)
    # Copies: safetensors refuses tensors that share memory, as tied weights do.
    tensors = {name: x.detach().cpu().clone().contiguous() for name, x in tensors.items()}
    about = {
        "format": FORMAT,
        "optimizer": type(optimizer).__name__,
        "trained": _trained(model, optimizer),
        "numbers": numbers,
    }

    path = Path(path)
    # Written with plain open: tempfile and safetensors make files that nobody else may read.
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(save(tensors, metadata=_metadata(tensors, about)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"the checkpoint {path} could not be written: {error}") from error
    finally:
        with suppress(OSError):  # gone already, or never there: the error above says more
            partial.unlink()


def load_training(
    path: str | os.PathLike[str],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterator[Any],
) -> list[float]:
    """Bring model, optimizer, batches and random state to where `save_training` left them.

    Args:
        path: the checkpoint; where there is none yet, nothing is changed.
        model, optimizer: of the same shapes and kind as those saved; changed in place.
        batches: from its start; as many batches are drawn from it as steps were done.

    Returns:
        The losses so far, none where there is no checkpoint.

    Raises:
        CheckpointError: a damaged file, or one of another model, optimizer or format. Nothing is
            changed then. Also where the folder for the checkpoint is not there, or where a
            checkpoint could not hold all that the optimizer trains.

    Chapter: 11_training
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise CheckpointError(f"the checkpoint {path} has no folder to be in: make {path.parent}")
    here = _trained(model, optimizer)  # before the first step, not at the first save
    if not path.exists():
        return []
    tensors, about = _read(path)
    weights = _part(tensors, "model.")
    _check_same(path, {name: tuple(x.shape) for name, x in weights.items()}, model)
    if about["optimizer"] != type(optimizer).__name__:
        raise CheckpointError(
            f"{path} was saved with {about['optimizer']}, not with {type(optimizer).__name__}"
        )
    # The optimizer knows parameters by their number alone: another set would shift its states.
    there = about["trained"]
    for name in sorted(set(there) ^ set(here)):
        raise CheckpointError(
            f"{path} belongs to another training: {name} was "
            f"{'trained' if name in there else 'frozen'} there and is "
            f"{'trained' if name in here else 'frozen'} here"
        )

    states: dict[int, dict[str, Any]] = {int(i): s for i, s in about["numbers"].items()}
    for name, x in _part(tensors, "optimizer.").items():
        index, key = name.split(".", 1)
        states.setdefault(int(index), {})[key] = x
    losses = tensors["losses"].tolist()
    for _ in losses:
        next(batches)
    model.load_state_dict(weights)
    optimizer.load_state_dict(optimizer.state_dict() | {"state": states})
    # Last, since drawing the batches may have moved it.
    _restore_random(_part(tensors, "random."))
    return losses


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            checksum = (file.metadata() or {}).get("sha256")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"the checkpoint {path} cannot be read: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise CheckpointError(f"{path} is no checkpoint of a training ({FORMAT!r} is not in it)")
    if checksum != _metadata(tensors, about)["sha256"]:
        raise CheckpointError(f"the checkpoint {path} is damaged: its checksum is wrong")
    return tensors, about


def _metadata(tensors: dict[str, Tensor], about: dict[str, Any]) -> dict[str, str]:
    text = json.dumps(about)
    total = hashlib.sha256(text.encode())
    for name, x in sorted(tensors.items()):
        total.update(f"{name} {x.dtype} {tuple(x.shape)}".encode())
        total.update(x.flatten().view(torch.uint8).numpy())
    return {"about": text, "sha256": total.hexdigest()}


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}


def _check_same(path: Path, saved: dict[str, tuple[int, ...]], model: nn.Module) -> None:
    wanted = {name: tuple(x.shape) for name, x in model.state_dict().items()}
    for name in sorted(saved.keys() | wanted.keys()):
        if saved.get(name) != wanted.get(name):
            raise CheckpointError(
                f"{path} belongs to another model: {name} is {saved.get(name, 'missing')} there "
                f"and {wanted.get(name, 'missing')} here"
            )


def _trained(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    names = {id(p): name for name, p in model.named_parameters()}
    try:
        return [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
    except KeyError as error:
        raise CheckpointError(
            "a checkpoint holds the model alone, but the optimizer has a parameter that is not "
            "the model's: make it a part of the model"
        ) from error


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda.{i}": s for i, s in enumerate(torch.cuda.get_rng_state_all())}
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def _restore_random(states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    for name, state in states.items():
        if name.startswith("cuda.") and int(name[5:]) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, int(name[5:]))
        if name == "mps" and torch.backends.mps.is_available():
            torch.mps.set_rng_state(state)
