"""Naming handwritten digits: the task that the chapters on images share.

Chapter 16 explains it. Every model takes images (B, 1, 28, 28) and gives, as `ViT` does, the logits
(B, 10) and the attention weights or None, so that one loss and one score serve them all. All but
`load` and `PixelRegression` take larger images in colour as well: see `attnbook.photographs`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.data import mnist5k
from attnbook.training import evaluate

N_DIGITS = 10
IMAGE_SIZE = 28
Labelled = tuple[Tensor, Tensor]  # images (N, C, height, width) and labels (N,)


@dataclass(frozen=True)
class DigitTask:
    """The three sides of a data set of images, as tensors.

    Args:
        train, valid, test: images (N, C, height, width) and labels (N,) of each.

    Chapter: 16_vit
    """

    train: Labelled
    valid: Labelled
    test: Labelled


def load() -> DigitTask:
    """The task on `mnist5k`: images (N, 1, 28, 28), ink from 0 (paper) to 1, and the digits.

    Its sides have 4,000, 500 and 500 images, in their order.

    Raises:
        DataError: the data set cannot be had.

    Source: LeCun et al. 1998.
    Chapter: 16_vit
    """
    sides = mnist5k.split(*mnist5k.load())
    return DigitTask(
        *((torch.tensor(x)[:, None] / 255, torch.tensor(labels)) for x, labels in sides)
    )


def jitter(
    images: Float[Tensor, "B C height width"],
    *,
    shift: float = 2.0,
    turn: float = 10.0,
    zoom: float = 0.1,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "B C height width"]:
    """Each image a little moved, turned and made larger or smaller, by draws of its own.

    What comes in from outside is 0, which is paper.

    Args:
        images: shape (B, C, height, width).
        shift: the farthest move along each axis, in pixels.
        turn: the largest turn to either side, in degrees.
        zoom: the largest change of the size: a share of it, below 1.
        generator: what the draws come from; torch's own unless given.

    Raises:
        TypeError: images that are not floating-point.
        ValueError: images without 4 axes, a bound below 0, a zoom of 1 or more.

    Chapter: 16_vit
    """
    checks.images(images)
    checks.factor(shift=shift, turn=turn)
    checks.probability(zoom=zoom)
    if generator is not None:
        checks.generator(generator)
    B, _, height, width = checks.shape(images)
    # Drawn on the processor, so that they are the same wherever the images are.
    draws = (2 * torch.rand(4, B, generator=generator) - 1).to(images)
    angle = torch.deg2rad(turn * draws[0])
    size = 1 + zoom * draws[1]
    cos, sin = angle.cos() / size, angle.sin() / size
    right, down = shift * draws[2], shift * draws[3]  # (B,)
    # affine_grid's units: an image is 2 high and 2 wide, whatever its pixels.
    ratio = height / width
    maps = torch.stack(
        (
            torch.stack((cos, sin * ratio, 2 * right / width), dim=1),
            torch.stack((-sin / ratio, cos, 2 * down / height), dim=1),
        ),
        dim=1,
    )  # (B, 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)  # (B, height, width, 2)
    return F.grid_sample(images, grid, align_corners=False)


class DigitBatches:
    """Batches of a training: shuffled anew each time through, and the same ones again on a rerun.

    Args:
        images, labels: N images (N, C, height, width) and labels (N,).
        steps: how many batches in all.
        size: images a batch; of fewer than that, some come more than once.
        seed: of the order and of the jitter.
        augment: whether each image goes through `jitter` each time it is taken.

    Raises:
        ValueError: steps or size below 1, or not as many labels as images.

    Chapter: 16_vit
    """

    def __init__(
        self,
        images: Float[Tensor, "N C height width"],
        labels: Int[Tensor, " N"],
        *,
        steps: int,
        size: int = 64,
        seed: int = 0,
        augment: bool = False,
    ) -> None:
        checks.positive(steps=steps, size=size)
        checks.flag(augment=augment)
        if len(images) != len(labels) or not len(images):
            raise ValueError(f"labels must be one an image: {len(labels)} for {len(images)} images")
        self.images, self.labels = images, labels
        self.steps, self.size, self.seed, self.augment = steps, size, seed, augment

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Labelled]:
        generator = torch.Generator().manual_seed(self.seed)
        left = torch.empty(0, dtype=torch.long)
        for _ in range(self.steps):
            while len(left) < self.size:
                left = torch.cat((left, torch.randperm(len(self.images), generator=generator)))
            chosen, left = left[: self.size], left[self.size :]
            images = self.images[chosen]
            yield (
                jitter(images, generator=generator) if self.augment else images,
                self.labels[chosen],
            )


def digits_loss(model: nn.Module, batch: Labelled) -> Tensor:
    """The cross-entropy between the logits and the labels, a `loss_fn` for `train`.

    Chapter: 16_vit
    """
    images, labels = batch
    return F.cross_entropy(model(images)[0], labels)


def digits_accuracy(model: nn.Module, side: Labelled, size: int = 250) -> float:
    """The share of the images that get their label.

    Args:
        model: gives logits (B, V) first.
        side: images and labels.
        size: images a batch.

    Chapter: 16_vit
    """
    checks.positive(size=size)

    def right(model: nn.Module, batch: Labelled) -> tuple[Tensor, int]:
        images, labels = batch
        return (model(images)[0].argmax(dim=1) == labels).sum(), len(labels)

    return evaluate(model, list(zip(*(part.split(size) for part in side), strict=True)), right)


class MatrixConv(nn.Linear):
    """A convolution of 3 x 3 that keeps the size, and has its kernels as the rows of a matrix.

    Thus Muon, which is for matrices, can train it. It starts as an `nn.Conv2d` does.

    Source: Jordan et al. 2024 (kernels as rows, for Muon).
    Chapter: 16_vit
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(9 * n_in, n_out)

    def forward(self, x: Float[Tensor, "B C height width"]) -> Float[Tensor, "B D height width"]:
        """x (B, n_in, height, width) -> (B, n_out, height, width)."""
        return F.conv2d(x, self.weight.unflatten(1, (-1, 3, 3)), self.bias, padding=1)


class DigitCNN(nn.Module):
    """Three convolutions of 3 x 3 with ReLU, the first two with pooling, then a linear layer.

    Args:
        channels: those of the three convolutions.
        n_channels: those of the images, 3 for colour.
        image_size: height and width of the images, in pixels.

    Chapter: 16_vit
    """

    def __init__(
        self,
        channels: tuple[int, int, int] = (16, 32, 64),
        *,
        n_channels: int = 1,
        image_size: int = IMAGE_SIZE,
    ) -> None:
        super().__init__()
        one, two, three = channels
        self.body = nn.Sequential(
            *(nn.Conv2d(n_channels, one, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(MatrixConv(one, two), nn.ReLU(), nn.MaxPool2d(2)),
            *(MatrixConv(two, three), nn.ReLU(), nn.Flatten()),
        )
        self.output = nn.Linear(three * (image_size // 4) ** 2, N_DIGITS)

    def forward(
        self, images: Float[Tensor, "B C height width"]
    ) -> tuple[Float[Tensor, "B V"], None]:
        """images (B, C, height, width) -> logits (B, 10), and no weights."""
        return self.output(self.body(images)), None


class PixelRegression(nn.Module):
    """Logistic regression on the pixels: one weight for each pixel and digit.

    Chapter: 16_vit
    """

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(IMAGE_SIZE**2, N_DIGITS)

    def forward(self, images: Float[Tensor, "B 1 28 28"]) -> tuple[Float[Tensor, "B V"], None]:
        """images (B, 1, 28, 28) -> logits (B, 10), and no weights."""
        return self.output(images.flatten(1)), None
