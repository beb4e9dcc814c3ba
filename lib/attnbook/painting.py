"""Painting in hidden patches of digits: the task of the masked autoencoder in chapter 17.

The images are those of `attnbook.digits`; what was learned by painting is then used to name them.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnbook import checks
from attnbook.models.masked_autoencoder import MaskedAutoencoder
from attnbook.models.patches import cut_patches
from attnbook.models.vit import ViT
from attnbook.objectives.masked_patches import mask_patches, patch_loss
from attnbook.training import evaluate

# Images, and keep, restore and hidden as `mask_patches` gives them.
Riddle = tuple[Tensor, Tensor, Tensor, Tensor]


class PaintBatches:
    """Batches of images with hidden patches: new masks each time through, the same on a rerun.

    Args:
        images: N images (N, C, height, width).
        n_patches: of each image.
        steps: how many batches in all.
        size: images a batch, at most N.
        share: of the patches that are hidden.
        seed: of the order and of the masks.

    Raises:
        ValueError: steps or size below 1, or fewer images than size.

    Chapter: 17_beyond_text
    """

    def __init__(
        self,
        images: Float[Tensor, "N C height width"],
        n_patches: int,
        *,
        steps: int,
        size: int = 64,
        share: float = 0.75,
        seed: int = 0,
    ) -> None:
        checks.positive(n_patches=n_patches, steps=steps, size=size)
        if len(images) < size:
            raise ValueError(f"images must be at least size, {size}, but there are {len(images)}")
        self.images, self.n_patches = images, n_patches
        self.steps, self.size, self.share, self.seed = steps, size, share, seed

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Riddle]:
        generator = torch.Generator().manual_seed(self.seed)
        left = torch.empty(0, dtype=torch.long)
        for _ in range(self.steps):
            if len(left) < self.size:
                left = torch.cat((left, torch.randperm(len(self.images), generator=generator)))
            chosen, left = left[: self.size], left[self.size :]
            masks = mask_patches(self.size, self.n_patches, share=self.share, generator=generator)
            yield self.images[chosen], *masks


def paint_loss(model: nn.Module, batch: Riddle) -> Tensor:
    """The mean squared error over the hidden patches, a `loss_fn` for `train`.

    Args:
        model: a `MaskedAutoencoder`, or what is called as one and has its `config`.
        batch: of `PaintBatches`.

    Chapter: 17_beyond_text
    """
    images, keep, restore, hidden = batch
    target = cut_patches(images, model.config.patch_size)  # (B, N, P)
    return patch_loss(model(images, keep, restore), target, hidden)


def paint_error(
    model: nn.Module,
    images: Float[Tensor, "N C height width"],
    *,
    share: float = 0.75,
    seed: int = 0,
    size: int = 100,
) -> float:
    """The mean squared error over hidden patches of images, each seen once with one mask.

    Args:
        model: as for `paint_loss`.
        images: their number must be a multiple of size.
        share, seed: of the masks.
        size: images a batch.

    Raises:
        ValueError: a number of images that size does not divide.

    Chapter: 17_beyond_text
    """
    checks.positive(size=size)
    if not len(images) or len(images) % size:
        raise ValueError(f"size must divide the number of images, but {size} and {len(images)}")
    generator = torch.Generator().manual_seed(seed)
    n_patches = model.config.n_patches
    batches = [
        (part, *mask_patches(size, n_patches, share=share, generator=generator))
        for part in images.split(size)
    ]
    return evaluate(model, batches, lambda model, batch: (paint_loss(model, batch), 1))


def reader_of(autoencoder: MaskedAutoencoder, n_classes: int, *, pretrained: bool = True) -> ViT:
    """A `ViT` that names images, with the encoder of a masked autoencoder or as one at the start.

    The decoder is left behind. The class token, which the autoencoder's encoder has too, is read.

    Args:
        autoencoder: it is not changed.
        n_classes: of the new output layer.
        pretrained: whether to take the encoder's weights; else all are random.

    Source: He et al. 2022 (MAE), appendix A.1.
    Chapter: 17_beyond_text
    """
    checks.flag(pretrained=pretrained)
    vit = ViT(replace(autoencoder.config.encoder(), n_classes=n_classes))
    if pretrained:
        weights = vit.state_dict() | autoencoder.encoder.state_dict()  # the output's stay
        vit.load_state_dict(weights)
    return vit
