import pytest
import torch

from attnbook import linear_functions as task
from attnbook.linear_functions import EXAMPLES, WIDTH, LeastSquares, LineReader, Lines, OneStep
from attnbook.models.stack import StackConfig


def draws():
    return torch.Generator().manual_seed(3)


def rows(n=5, **other):
    return task.linear_rows(n, draws(), **other)


def test_one_function_a_row():
    lines = rows()
    assert lines.x.shape == (5, EXAMPLES, WIDTH)
    w = torch.linalg.pinv(lines.x) @ lines.y[..., None]  # (5, 3, 1)
    torch.testing.assert_close((lines.x @ w).squeeze(-1), lines.y)
    assert (w[0] - w[1]).abs().max() > 0.1
    torch.testing.assert_close(rows(scale=2.0).x, 2 * lines.x)
    torch.testing.assert_close(rows(scale=2.0).y, 2 * lines.y)
    many = task.linear_rows(2000, draws())
    assert abs(many.x.std() - 1) < 0.02
    assert abs(many.y.square().mean() - WIDTH) < 0.25


def test_the_batches_are_the_same_each_time():
    batches = task.LineBatches(7, 5)
    assert torch.equal(next(iter(batches)).x, next(iter(batches)).x)
    stream = iter(batches)
    assert not torch.equal(next(stream).x, next(stream).x)


def reader():
    torch.manual_seed(1)
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 11, "n_layers": 2}
    return LineReader(StackConfig(**sizes, pre_norm=True)).eval()


@torch.no_grad()
def test_the_reader_sees_examples_before_and_not_its_own_answer():
    model, lines = reader(), rows()
    guess = model(lines)
    y = lines.y.clone()
    y[:, 4] += 3.0
    other = model(Lines(lines.x, y))
    assert torch.equal(other[:, :5], guess[:, :5])  # neither its own answer nor a later one
    assert (other[:, 5:] - guess[:, 5:]).abs().max() > 1e-4
    x = lines.x.clone()
    x[:, 4] += 3.0
    other = model(Lines(x, lines.y))
    assert torch.equal(other[:, :4], guess[:, :4])
    assert (other[:, 4] - guess[:, 4]).abs().max() > 1e-4


def test_least_squares_is_exact_from_d_examples_on():
    errors = task.squared_errors(LeastSquares(), task.linear_rows(200, draws()))
    assert errors[WIDTH:].max() < 1e-6
    assert errors[0] > errors[1] > errors[2] > 0.1


def test_one_step_is_the_step_that_autograd_takes():
    lines = rows()
    guesses = OneStep()(lines)
    for i in (1, 4, 11):
        w = torch.zeros(5, WIDTH, requires_grad=True)
        errors = (lines.x[:, :i] @ w[..., None]).squeeze(-1) - lines.y[:, :i]  # (5, i)
        (errors.square().mean(dim=1) / 2).sum().backward()
        wanted = (lines.x[:, i] * (-i / (i + WIDTH + 1) * w.grad)).sum(dim=-1)
        torch.testing.assert_close(guesses[:, i], wanted)
    assert (guesses[:, 0] == 0).all()


def test_the_step_has_the_best_size():
    lines = task.linear_rows(4000, draws())
    guess = OneStep()(lines)
    at = torch.tensor([1, 4, 11])
    errors = [(s * guess - lines.y).square().mean(dim=0)[at] for s in (0.85, 1.0, 1.15)]
    assert (errors[1] < errors[0]).all()
    assert (errors[1] < errors[2]).all()


def test_the_errors_of_each_place():
    class Off(torch.nn.Module):
        def forward(self, lines):
            return lines.y + torch.arange(EXAMPLES)

    errors = task.squared_errors(Off(), rows())
    torch.testing.assert_close(errors, torch.arange(EXAMPLES).float().square())
    torch.testing.assert_close(task.line_loss(Off(), rows()), errors.mean())


def test_what_is_refused(plain):
    with pytest.raises(ValueError, match="rows"):
        task.linear_rows(0, draws())
