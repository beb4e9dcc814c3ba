"""Masked patches: most of an image, or some frames of speech, are hidden and to be restored.

Patches are left out, so that the encoder has less to do: that wants as many hidden in each row, and
`mask_patches` gives them, for `attnbook.models.masked_autoencoder`. Utterances of different lengths
are padded to one, and what is hidden of the padding does not count: the loss takes `hidden & real`.
Frames that stay in their places, with a mask's vector in theirs, may be chosen row by row with
`attnbook.objectives.chosen.choose`. The loss is the same.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnbook import checks
from attnbook.objectives.chosen import choose


def mask_patches(
    batch_size: int, n_patches: int, *, share: float = 0.75, generator: torch.Generator
) -> tuple[Int[Tensor, "B K"], Int[Tensor, "B L"], Bool[Tensor, "B L"]]:
    """Choose which patches of each image to hide, the same number in each.

    Use, as `MaskedAutoencoder` does with x (B, L, D) and copies of a learned vector::

        visible = torch.take_along_dim(x, keep[..., None], dim=1)  # (B, K, D)
        everything = torch.cat((encoder(visible), copies), dim=1)  # (B, L, D), out of order
        everything = torch.take_along_dim(everything, restore[..., None], dim=1)  # in order

    Args:
        batch_size: number of images B.
        n_patches: number of patches L of each.
        share: how many are hidden, 0 < share < 1; rounded.
        generator: where the draws come from; the results are on its device.

    Returns:
        keep: the places of the K patches that stay, in order, shape (B, K).
        restore: where each patch is found behind the K that stay and the L - K hidden, (B, L).
        hidden: True where a patch is hidden, shape (B, L).

    Raises:
        TypeError: no generator.
        ValueError: a size below 1, or a share that hides all patches.

    Source: He et al. 2022 (MAE), section 3.
    Chapter: 17_beyond_text
    """
    checks.positive(batch_size=batch_size, n_patches=n_patches)
    checks.generator(generator)
    every = torch.ones(batch_size, n_patches, dtype=torch.bool, device=generator.device)
    hidden = choose(every, share, generator=generator)  # (B, L), as many in each row
    n_visible = n_patches - int(hidden[0].sum())
    if not n_visible:
        raise ValueError(f"share must leave a patch, but {share} of {n_patches} hides them all")
    order = hidden.int().argsort(dim=1, stable=True)  # (B, L): the visible, then the hidden
    return order[:, :n_visible], order.argsort(dim=1), hidden  # (B, K), (B, L), (B, L)


def patch_loss(
    predicted: Float[Tensor, "B L P"],
    target: Float[Tensor, "B L P"],
    hidden: Bool[Tensor, "B L"],
    *,
    normalize: bool = False,
) -> Float[Tensor, ""]:
    """The mean squared error over the hidden patches or frames, and over no others.

    Args:
        predicted: what the model makes of each patch, shape (B, L, P), P numbers a patch.
        target: the patches as they are.
        hidden: True where a patch was hidden, shape (B, L).
        normalize: whether each target is first brought to mean 0 and spread 1 by itself (divisor
            P - 1, as in the authors' code; an even patch becomes 0).

    Returns:
        The mean, a tensor of one number, in squared units of the target.

    Raises:
        TypeError: tensors of another kind.
        ValueError: shapes that do not fit, nothing hidden, or normalising patches of one number.

    Source: He et al. 2022 (MAE), section 3.
    Chapter: 17_beyond_text
    """
    checks.floating(predicted=predicted, target=target)
    checks.boolean("hidden", hidden)
    checks.same_shape("target", target, "predicted", predicted)
    if predicted.ndim != 3 or hidden.shape != predicted.shape[:2]:
        raise ValueError(
            f"predicted must have the shape (B, L, P) and hidden (B, L), not "
            f"{checks.shape(predicted)} and {checks.shape(hidden)}"
        )
    if not hidden.any():
        raise ValueError("hidden must be True at least once, where there is something to predict")
    predicted, target = predicted[hidden], target[hidden]  # (B, L, P) -> (number hidden, P)
    if normalize:
        if target.shape[1] < 2:
            raise ValueError("normalize needs patches of at least 2 numbers, not 1: no spread")
        variance, mean = torch.var_mean(target, dim=1, keepdim=True)  # (number hidden, 1)
        target = (target - mean) / (variance + 1e-6).sqrt()
    return (predicted - target).square().mean()
