"""Few labels: so many examples of each class, and a linear reader of vectors as a baseline."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attnbook import checks

COUNTS = (1, 5, 20)  # labelled examples of each class, as chapter 17 compares them


def choose_few(labels: Int[Tensor, " N"], n: int, *, seed: int) -> Int[Tensor, " M"]:
    """The places of n examples of each class, drawn at random.

    With one seed, the n examples of a class are among those of any larger n.

    Args:
        labels: of N examples, whole numbers.
        n: how many of each class.
        seed: of the draws.

    Returns:
        M = n x (number of classes) places, class by class.

    Raises:
        ValueError: n below 1, or a class with fewer examples.

    Chapter: 17_beyond_text
    """
    checks.positive(n=n)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    classes, counts = labels.unique(return_counts=True)
    if not len(labels) or counts.min() < n:
        raise ValueError(f"n must be at most the size of the smallest class, but is {n}")
    return torch.cat([order[labels[order] == c][:n] for c in classes])


def linear_probe(
    train: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
    test: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    *,
    penalty: float = 1.0,
) -> float:
    """Logistic regression on vectors that stay as they are: its share of right answers.

    What is minimised is the cross-entropy, summed over the M examples, plus penalty / 2 times the
    sum of the squared weights (not of the biases). The minimum is one, so that no seed is needed.

    Args:
        train: M vectors, and their labels from 0.
        test: N others; a label that train has not is never given.
        penalty: above 0: the larger, the smaller the weights.

    Returns:
        The share of the N that get their label.

    Raises:
        TypeError: vectors that are not floating-point.
        ValueError: not as many labels as vectors, other sizes, or a penalty that is not above 0.

    Source: Alain and Bengio 2017 (linear probes).
    Chapter: 17_beyond_text
    """
    (x, y), (test_x, test_y) = train, test
    checks.floating(train=x, test=test_x)
    checks.rate(penalty=penalty)
    for name, vectors, labels in (("train", x, y), ("test", test_x, test_y)):
        if vectors.ndim != 2 or len(vectors) != len(labels) or vectors.shape[1] != x.shape[1]:
            raise ValueError(
                f"{name} must be vectors (N, {x.shape[1]}) and N labels, not "
                f"{checks.shape(vectors)} and {checks.shape(labels)}"
            )
    x, test_x = x.detach().double(), test_x.detach().double()
    n_classes = int(y.max()) + 1
    weight = torch.zeros(x.shape[1], n_classes, dtype=x.dtype, requires_grad=True)
    bias = torch.zeros(n_classes, dtype=x.dtype, requires_grad=True)
    search = torch.optim.LBFGS([weight, bias], max_iter=200, line_search_fn="strong_wolfe")

    def total() -> Tensor:
        search.zero_grad()
        loss = F.cross_entropy(x @ weight + bias, y, reduction="sum")
        loss = loss + penalty / 2 * weight.square().sum()
        loss.backward()
        return loss

    search.step(total)
    with torch.no_grad():
        answers = (test_x @ weight + bias).argmax(dim=1)
    return (answers == test_y).double().mean().item()
