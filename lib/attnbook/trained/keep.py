"""Longer trainings on disk: weights in half precision, and a JSON file that says what they are."""

import hashlib
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import nn

import attnbook
from attnbook import runtime
from attnbook.checkpoints import CheckpointError
from attnbook.trained.recipe import Experiment, Recipe

# In the package, so that a notebook on Colab has them as soon as the library is installed.
WEIGHTS = Path(__file__).parent / "weights"


def make(recipe: Recipe | Experiment, folder: Path = WEIGHTS) -> dict[str, Any]:
    """Do the training, measure, and write the files: minutes to an hour on a processor.

    The weights are rounded to half precision before they are measured: what is measured is what is
    kept. An interrupted training of a `Recipe` goes on where it was (see `train`).

    Args:
        recipe: what to do.
        folder: where the files go.

    Returns:
        What `about` gives.

    Raises:
        CheckpointError: a weight is not finite in half precision, or a file cannot be written.
    """
    runtime.seed(recipe.seed)
    start = time.process_time()
    facts: dict[str, Any] = {"name": recipe.name, "data": list(recipe.data), "seed": recipe.seed}
    if isinstance(recipe, Recipe):
        model = recipe.build()
        steps = len(recipe.fit(model, folder / f"{recipe.name}.training"))
        seconds = time.process_time() - start
        model.half().float()
        if bad := [name for name, x in model.named_parameters() if not x.isfinite().all()]:
            raise CheckpointError(f"{recipe.name}: {bad[0]} is not finite in half precision")
        weights = folder / f"{recipe.name}.safetensors"
        _keep(model, weights)
        facts |= {
            "steps": steps,
            "parameters": sum(p.numel() for p in model.parameters()),
            "sha256": _sha256(weights),
            "metrics": recipe.measure(model),
        }
        # Several where the recipe consists of several trainings.
        for partial in folder.glob(f"{recipe.name}.*training"):
            partial.unlink()
    else:
        facts["results"] = recipe.run()
        seconds = time.process_time() - start
    facts |= {
        "processor_seconds": round(seconds),
        "device": _device(),
        "versions": {
            "attnbook": attnbook.__version__,
            "commit": _commit(),
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "command": f"python -m attnbook.trained {recipe.name}",
    }
    _write(folder / f"{recipe.name}.json", facts)
    return facts


def about(recipe: Recipe | Experiment, folder: Path = WEIGHTS) -> dict[str, Any]:
    """What is known of a longer training.

    Returns:
        Data sets, seed, processor seconds, device, versions and command. Of a `Recipe` also the
        steps, the number of parameters, the sha256 of the weights and `metrics`; of an
        `Experiment` its `results`.

    Raises:
        CheckpointError: it has not been made.
    """
    path = folder / f"{recipe.name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}. {_again(recipe)}") from error


def load(recipe: Recipe, folder: Path = WEIGHTS) -> nn.Module:
    """The trained model, in float32 and in `eval()` mode, on the processor.

    Raises:
        CheckpointError: it has not been made, the file is damaged, or it holds another model.
    """
    weights = folder / f"{recipe.name}.safetensors"
    model = recipe.build()
    wanted = about(recipe, folder)["sha256"]
    try:
        if _sha256(weights) != wanted:
            raise CheckpointError(f"{weights} is damaged or of another day. {_again(recipe)}")
        load_model(model, weights)
    except (OSError, RuntimeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{weights} cannot be used: {error}. {_again(recipe)}") from error
    return model.eval()


def _again(recipe: Recipe | Experiment) -> str:
    return f"To make it again: python -m attnbook.trained {recipe.name}"


def _keep(model: nn.Module, path: Path) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        save_model(model.half(), str(partial))  # what is tied is written once
        partial.chmod(0o644)  # safetensors makes files that nobody else may read
        os.replace(partial, path)
    except OSError as error:
        raise CheckpointError(f"{path} could not be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
        model.float()


def _write(path: Path, facts: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise CheckpointError(f"{path} could not be written: {error}") from error


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _device() -> str:
    device = runtime.device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _commit() -> str:
    """The commit of the checkout, with a plus where files differ from it; "" if there is none."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return commit.stdout.decode().strip()[:12] + ("+" if changed.stdout.strip() else "")
