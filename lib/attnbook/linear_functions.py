"""Linear functions learned from examples in the input: each row has one of its own.

Chapter 15 explains the task.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnbook import checks, masks
from attnbook.models.stack import EncoderStack, StackConfig

WIDTH = 3  # numbers of an input
EXAMPLES = 12  # inputs a row


class Lines(NamedTuple):
    """Rows of inputs and of what a function makes of them: y = w · x, one w a row.

    Args:
        x: the inputs, shape (B, n, d).
        y: the outputs, (B, n).

    Chapter: 15_in_context
    """

    x: Float[Tensor, "B n d"]
    y: Float[Tensor, "B n"]


def linear_rows(rows: int, generator: torch.Generator, *, scale: float = 1.0) -> Lines:
    """New functions: w and x are normal with spread 1.

    Args:
        rows: functions B.
        generator: draws them.
        scale: what x is multiplied with.

    Raises:
        ValueError: rows below 1.

    Source: Garg et al. 2022, section 2.
    Chapter: 15_in_context
    """
    checks.positive(rows=rows)
    w = torch.randn(rows, WIDTH, 1, generator=generator)
    x = scale * torch.randn(rows, EXAMPLES, WIDTH, generator=generator)
    return Lines(x, (x @ w).squeeze(-1))  # (B, n, d) @ (B, d, 1) -> (B, n)


class LineBatches:
    """Endless batches of `linear_rows`, the same ones each time they are gone through.

    Chapter: 15_in_context
    """

    def __init__(self, rows: int, seed: int) -> None:
        self.rows, self.seed = rows, seed

    def __iter__(self) -> Iterator[Lines]:
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            yield linear_rows(self.rows, generator)


class LineReader(nn.Module):
    """A causal stack over numbers instead of tokens: what is y for the x at hand?

    At place i stand x_i, which is asked about, and the whole example before it, x_(i-1) and
    y_(i-1). (Garg et al. give x and y a place each; then a first layer must bring them together.)

    Args:
        config: the sizes of the stack.

    Attributes:
        read: the linear layer 2 d + 1 -> D.
        body: the `EncoderStack`.
        write: the linear layer D -> 1.

    Source: after Garg et al. 2022, section 2.
    Chapter: 15_in_context
    """

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.read = nn.Linear(2 * WIDTH + 1, config.d_model)
        self.body = EncoderStack(config)
        self.write = nn.Linear(config.d_model, 1)

    def forward(self, lines: Lines) -> Float[Tensor, "B n"]:
        """x (B, n, d), y (B, n) -> what y will be (B, n), each from the examples before it."""
        done = torch.cat((lines.x, lines.y[..., None]), dim=-1)  # (B, n, d + 1)
        last = torch.cat((torch.zeros_like(done[:, :1]), done[:, :-1]), dim=1)  # one place later
        x = self.read(torch.cat((lines.x, last), dim=-1))  # (B, n, 2 d + 1) -> (B, n, D)
        x, _ = self.body(x, masks.causal(x.shape[1], device=x.device))
        return self.write(x).squeeze(-1)  # (B, n, D) -> (B, n)


def squared_errors(model: nn.Module, lines: Lines) -> Float[Tensor, " n"]:
    """The mean squared error at each place, i examples seen at place i, counted from 0.

    Chapter: 15_in_context
    """
    return (model(lines) - lines.y).square().mean(dim=0)


def line_loss(model: nn.Module, lines: Lines) -> Tensor:
    """The mean of `squared_errors` over all places.

    Chapter: 15_in_context
    """
    return squared_errors(model, lines).mean()


class LeastSquares(nn.Module):
    """The w of least length among those with the least squared error on the examples so far.

    Chapter: 15_in_context
    """

    def forward(self, lines: Lines) -> Float[Tensor, "B n"]:
        """x (B, n, d), y (B, n) -> what y will be (B, n); 0 where there is no example yet."""
        guesses = [torch.zeros_like(lines.y[:, 0])]
        for i in range(1, lines.x.shape[1]):
            w = torch.linalg.pinv(lines.x[:, :i]) @ lines.y[:, :i, None]  # (B, d, 1)
            guesses.append((lines.x[:, i : i + 1] @ w).flatten())  # (B,)
        return torch.stack(guesses, dim=1)


class OneStep(nn.Module):
    """The w after one step of gradient descent from 0 on the examples so far, of the best size.

    The gradient of the mean of (w · x - y)² / 2 at w = 0 is -mean(y x). For inputs as those of
    `linear_rows` the step that leaves the least error after i examples is of size i / (i + d + 1).

    Source: von Oswald et al. 2023, section 3 (what one layer of attention without softmax does).
    Chapter: 15_in_context
    """

    def forward(self, lines: Lines) -> Float[Tensor, "B n"]:
        """x (B, n, d), y (B, n) -> what y will be (B, n); 0 where there is no example yet."""
        sums = (lines.x * lines.y[..., None]).cumsum(dim=1)[:, :-1]  # (B, n - 1, d)
        seen = torch.arange(1, lines.x.shape[1], device=sums.device)  # (n - 1,)
        w = sums / (seen + WIDTH + 1)[:, None]  # the mean times the size of the step
        guesses = (lines.x[:, 1:] * w).sum(dim=-1)  # (B, n - 1)
        return nn.functional.pad(guesses, (1, 0))
