"""The training loop and the evaluation: plain functions, no Trainer."""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from attnbook import checks, console, runtime
from attnbook.checkpoints import load_training, save_training
from attnbook.decoding.mode import evaluating
from attnbook.parallel import team

Batch = Any  # a tensor, or a tuple, list or dict of them
Schedule = Callable[[float], float]
LossFn = Callable[[nn.Module, Batch], Tensor]


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
    loss_fn: LossFn,
    *,
    steps: int,
    lr: float,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    schedule: Schedule | None = None,
    clip: float | None = 1.0,
    accumulate: int = 1,
    autocast: torch.dtype | None = None,
    compiled: bool = False,
    device: torch.device | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 500,
) -> list[float]:
    """Train the model in place, with a progress bar of loss, speed and time left.

    Args:
        model: moved to the device and left there, in `eval()` mode.
        batches: gone through again and again until the steps are done, such as a list or a
            DataLoader. To resume exactly, the same call must give the same batches again. Under
            torchrun each of W processes takes every W-th of them: one step for W batches.
        loss_fn: from the model and a batch on the device to the loss, a tensor of one number.
        steps: how many updates in all, those before a resumed checkpoint included.
        lr: the highest learning rate.
        optimizer: called as `optimizer(parameters, lr=lr)`; also `attnbook.optimizers.muon(model)`.
        schedule: from the progress (0 … 1) to the factor of `lr`; constant unless given.
        clip: the largest norm of the whole gradient; None leaves it as it is.
        accumulate: batches whose mean gradient makes one step.
        autocast: torch.bfloat16 to compute the loss in half precision where torch holds it safe;
            the weights keep their own.
        compiled: whether torch.compile translates the loss first.
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
    checks.positive(steps=steps, every=every, accumulate=accumulate)
    checks.flag(compiled=compiled)
    if autocast not in (None, torch.bfloat16):  # float16 would lose small gradients
        raise ValueError(f"autocast must be torch.bfloat16 or None, not {autocast!r}")
    checks.rate(lr=lr, clip=1.0 if clip is None else clip)
    processes = team()
    device = torch.device(device) if device is not None else runtime.device()
    model.to(device)
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("model has no parameters to train: none has requires_grad=True")
    updates = optimizer(parameters, lr=lr)
    # Those that it took: others keep their gradients, which must not count for the clipping.
    parameters = [p for group in updates.param_groups for p in group["params"]]
    stream = processes.own(_endless(batches), accumulate)  # a list of batches for each step
    losses = load_training(checkpoint, model, updates, stream) if checkpoint is not None else []
    if len(losses) > steps:
        raise ValueError(f"steps must be at least the {len(losses)} of the checkpoint, not {steps}")
    loss_of = processes.share(_Loss(model, loss_fn, autocast))
    loss_of = torch.compile(loss_of) if compiled else loss_of

    bar = console.progress_bar(steps, len(losses), hidden=processes.rank > 0)
    with _training(model), bar, console.ctrl_c() as ctrl_c:
        for step in range(len(losses), steps):
            # At the middle of the step: neither the first nor the last has a rate of 0.
            factor = schedule((step + 0.5) / steps) if schedule else 1.0
            checks.factor(schedule=factor)
            for group in updates.param_groups:
                group["lr"] = lr * factor
            updates.zero_grad()
            value = 0.0
            for batch in next(stream):
                loss = loss_of(_to(batch, device))
                value += _finite("loss", loss, step, steps) / accumulate
                if loss.requires_grad:
                    (loss / accumulate).backward()
            if all(p.grad is None for p in parameters):  # the loss of another model, say
                raise ValueError("loss_fn must return a loss that depends on the parameters")
            norm = nn.utils.clip_grad_norm_(parameters, math.inf if clip is None else clip)
            _finite("norm of the gradient", norm, step, steps)
            updates.step()
            # Together: where one process stopped and another went on, that one would wait for ever.
            value, pressed = processes.mean(value, float(ctrl_c.pressed))
            losses.append(value)
            bar.set_postfix(loss=f"{value:.4f}", refresh=False)
            bar.update()
            due = step + 1 == steps or pressed or (step + 1) % every == 0
            if checkpoint is not None and due and processes.rank == 0:
                save_training(checkpoint, model, updates, losses)
            if pressed:
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
        model: moved to the device; its mode, and that of each of its parts, is put back afterwards.
        batches: gone through once.
        score_fn: from the model and a batch on the device to a sum and a count, such as the
            number of right answers and of answers. Sums are averaged, not the means of batches,
            so that a smaller last batch does not count for more than it holds.
        device: `runtime.device()` unless given.

    Returns:
        The sum of the sums over the sum of the counts.

    Raises:
        ValueError: nothing to score.

    Chapter: 03_recurrence
    """
    device = torch.device(device) if device is not None else runtime.device()
    total = count = 0.0
    with evaluating(model.to(device)), torch.inference_mode():
        for batch in batches:
            part, n = score_fn(model, _to(batch, device))
            total, count = total + float(part), count + float(n)
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


class _Loss(nn.Module):
    """The loss as a module: what torch compiles, and what it runs in several processes."""

    def __init__(self, model: nn.Module, loss_fn: LossFn, autocast: torch.dtype | None) -> None:
        super().__init__()
        self.model, self.loss_fn, self.autocast = model, loss_fn, autocast

    def forward(self, batch: Batch) -> Tensor:
        kind = next(self.model.parameters()).device.type
        with torch.autocast(kind, self.autocast) if self.autocast else nullcontext():
            return self.loss_fn(self.model, batch)


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


@contextmanager
def _training(model: nn.Module) -> Iterator[None]:
    """However the training ends, the model is left ready for use: without dropout."""
    model.train()
    try:
        yield
    finally:
        model.eval()
