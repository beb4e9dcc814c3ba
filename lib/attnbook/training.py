"""The training loop and the evaluation: plain functions, no Trainer."""

import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from attnbook import checks, runtime
from attnbook.checkpoints import load_training, save_training

Batch = Any  # a tensor, or a tuple, list or dict of them
Schedule = Callable[[float], float]


def linear_decay(warmup: float = 0.0) -> Schedule:
    """The learning rate over the training: up during the share `warmup`, then down to 0.

    Args:
        warmup: the share of the steps spent on the way up, 0 <= warmup < 1.

    Returns:
        A function from the progress, 0 … 1, to the factor of `lr`.

    Chapter: 04_self_attention
    """
    checks.probability(warmup=warmup)
    return lambda done: done / warmup if done < warmup else (1 - done) / (1 - warmup)


def cosine_decay(warmup: float = 0.0) -> Schedule:
    """As `linear_decay`, but down along half a cosine.

    Source: Loshchilov and Hutter 2017.
    Chapter: 14_gpt
    """
    line = linear_decay(warmup)
    return lambda done: line(done) if done < warmup else (1 - math.cos(math.pi * line(done))) / 2


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    loss_fn: Callable[[nn.Module, Batch], Tensor],
    *,
    steps: int,
    lr: float,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    schedule: Schedule | None = None,
    clip: float | None = 1.0,
    device: torch.device | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 500,
) -> list[float]:
    """Train the model in place, with a progress bar of loss, speed and time left.

    Args:
        model: moved to the device and left there, in `eval()` mode.
        batches: gone through again and again until the steps are done, such as a list or a
            DataLoader. To resume exactly, the same call must give the same batches again.
        loss_fn: from the model and a batch on the device to the loss, a tensor of one number.
        steps: how many updates in all, those before a resumed checkpoint included.
        lr: the highest learning rate.
        optimizer: called as `optimizer(parameters, lr=lr)`.
        schedule: from the progress (0 … 1) to the factor of `lr`; constant unless given.
        clip: the largest norm of the whole gradient; None leaves it as it is.
        device: `runtime.device()` unless given.
        checkpoint: a file to go on from where it exists, and to save to.
        every: steps between two saves; the last step is always saved.

    Returns:
        The loss of each step, those before a resumed checkpoint included.

    Raises:
        FloatingPointError: a loss or gradient that is not finite, with the step; the weights are
            those before that step.
        CheckpointError: a checkpoint that is damaged, of another model, or cannot be written.
        KeyboardInterrupt: Ctrl-C, once the step at hand is finished and saved. Call again with
            the same checkpoint to go on. (A second Ctrl-C stops at once.)

    The bar is off where the environment variable ATTNBOOK_PROGRESS is 0.

    Chapter: 04_self_attention
    """
    checks.positive(steps=steps, every=every)
    checks.rate(lr=lr, clip=1.0 if clip is None else clip)
    device = torch.device(device) if device is not None else runtime.device()
    model.to(device)
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("model has no parameters to train: none has requires_grad=True")
    updates = optimizer(parameters, lr=lr)
    # Those that it took: others keep their gradients, which must not count for the clipping.
    parameters = [p for group in updates.param_groups for p in group["params"]]
    stream = _endless(batches)
    losses = load_training(checkpoint, model, updates, stream) if checkpoint is not None else []
    if len(losses) > steps:
        raise ValueError(f"steps must be at least the {len(losses)} of the checkpoint, not {steps}")

    with _training(model), _bar(steps, len(losses)) as bar, _ctrl_c() as ctrl_c:
        for step in range(len(losses), steps):
            # At the middle of the step: neither the first nor the last has a rate of 0.
            factor = schedule((step + 0.5) / steps) if schedule else 1.0
            checks.factor(schedule=factor)
            for group in updates.param_groups:
                group["lr"] = lr * factor
            loss = loss_fn(model, _to(next(stream), device))
            value = _finite("loss", loss, step, steps)
            updates.zero_grad()
            if loss.requires_grad:
                loss.backward()
            if all(p.grad is None for p in parameters):  # the loss of another model, say
                raise ValueError("loss_fn must return a loss that depends on the parameters")
            norm = nn.utils.clip_grad_norm_(parameters, math.inf if clip is None else clip)
            _finite("norm of the gradient", norm, step, steps)
            updates.step()
            losses.append(value)
            bar.set_postfix(loss=f"{value:.4f}", refresh=False)
            bar.update()
            last = step + 1 == steps or ctrl_c.pressed
            if checkpoint is not None and (last or (step + 1) % every == 0):
                save_training(checkpoint, model, updates, losses)
            if ctrl_c.pressed:
                raise KeyboardInterrupt(f"stopped by Ctrl-C after {step + 1} of {steps} steps")
    return losses


def evaluate(
    model: nn.Module,
    batches: Iterable[Batch],
    score_fn: Callable[[nn.Module, Batch], tuple[Tensor | float, Tensor | float]],
    *,
    device: torch.device | str | None = None,
) -> float:
    """The mean of a score over all batches, in eval mode and without gradients.

    Args:
        model: moved to the device; its mode is put back afterwards.
        batches: gone through once.
        score_fn: from the model and a batch on the device to a sum and a count, such as the
            number of right answers and of answers. Sums are averaged, not the means of batches,
            so that a smaller last batch does not count for more than it holds.
        device: `runtime.device()` unless given.

    Returns:
        The sum of the sums over the sum of the counts.

    Raises:
        ValueError: nothing to score.

    Chapter: 04_self_attention
    """
    device = torch.device(device) if device is not None else runtime.device()
    was_training = model.training
    model.to(device).eval()
    total = count = 0.0
    try:
        with torch.inference_mode():
            for batch in batches:
                part, n = score_fn(model, _to(batch, device))
                total, count = total + float(part), count + float(n)
    finally:
        model.train(was_training)
    if count <= 0:
        raise ValueError(f"batches must hold something to score, but the count is {count:g}")
    return total / count


def _endless(batches: Iterable[Batch]) -> Iterator[Batch]:
    while True:
        empty = True
        for batch in batches:
            empty = False
            yield batch
        if empty:
            raise ValueError(
                "batches gave nothing: it must hold at least one batch, and can be gone through "
                "again (a list or a DataLoader, not a generator that is used up)"
            )


def _to(batch: Batch, device: torch.device) -> Batch:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {name: _to(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = (_to(part, device) for part in batch)
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def _finite(what: str, x: Tensor, step: int, steps: int) -> float:
    if not isinstance(x, Tensor) or x.numel() != 1:
        given = f"one of shape {checks.shape(x)}" if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"loss_fn must return a tensor of one number, not {given}")
    value = x.item()
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the {what} is {value} at step {step + 1} of {steps}; the weights are those before "
            "that step (a smaller lr, a warm-up or a look at that batch may help)"
        )
    return value


def _bar(steps: int, done: int) -> tqdm:
    off = os.environ.get("ATTNBOOK_PROGRESS") == "0"
    # stdout: notebooks paint stderr red, as if something had gone wrong.
    return tqdm(total=steps, initial=done, unit="step", file=sys.stdout, disable=off, ncols=80)


@contextmanager
def _training(model: nn.Module) -> Iterator[None]:
    """However the training ends, the model is left ready for use: without dropout."""
    model.train()
    try:
        yield
    finally:
        model.eval()


@contextmanager
def _ctrl_c() -> Iterator[SimpleNamespace]:
    """Note Ctrl-C for the end of the step, since half an update is no usable model."""
    seen = SimpleNamespace(pressed=False)
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    # Signals reach the main thread alone, and none a process in the background of a script.
    if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield seen
        return

    def note(number: int, frame: Any) -> None:
        seen.pressed = True
        signal.signal(signal.SIGINT, before)  # a second one stops at once

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
