"""Patches: an image cut into pieces of one size, each a vector, and put together again."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook import checks


def cut_patches(
    images: Float[Tensor, "B C height width"], patch_size: int | Sequence[int]
) -> Float[Tensor, "B N P"]:
    """Cut images into patches that do not overlap, row by row from the top left.

    Args:
        images: shape (B, C, height, width).
        patch_size: (h, w) of a patch, or one number for both.

    Returns:
        The N patches of each image, shape (B, N, P): P = C h w numbers each, channel by channel
        and in it row by row, as the weight of a convolution has them.

    Raises:
        TypeError: images that are not floating-point, a patch_size that is no int or two.
        ValueError: images without 4 axes, or a size that the patch does not divide.

    Source: Dosovitskiy et al. 2021, section 3.1.
    Chapter: 16_vit
    """
    checks.images(images)
    h, w = _pair("patch_size", patch_size)
    rows, columns = _grid(checks.shape(images)[2:], (h, w))
    x = images.unflatten(3, (columns, w)).unflatten(2, (rows, h))  # (B, C, rows, h, columns, w)
    return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # (B, rows, columns, C, h, w) -> …


def join_patches(
    patches: Float[Tensor, "B N P"],
    image_size: int | Sequence[int],
    patch_size: int | Sequence[int],
) -> Float[Tensor, "B C height width"]:
    """Put patches together again: what `cut_patches` cut, or what a model painted.

    Args:
        patches: shape (B, N, P).
        image_size: (height, width) of the images, or one number for both.
        patch_size: (h, w) of a patch, or one number for both.

    Returns:
        The images, shape (B, C, height, width) with C = P / (h w).

    Raises:
        TypeError: patches that are not floating-point, a size that is no int or two.
        ValueError: sizes that do not fit.

    Chapter: 17_beyond_text
    """
    checks.floating(patches=patches)
    h, w = _pair("patch_size", patch_size)
    rows, columns = _grid(_pair("image_size", image_size), (h, w))
    if patches.ndim != 3 or patches.shape[1] != rows * columns or patches.shape[2] % (h * w):
        raise ValueError(
            f"patches must have the shape (B, {rows * columns}, C x {h * w}), "
            f"not {checks.shape(patches)}"
        )
    x = patches.unflatten(2, (-1, h, w)).unflatten(1, (rows, columns))
    x = x.permute(0, 3, 1, 4, 2, 5)  # (B, rows, columns, C, h, w) -> (B, C, rows, h, columns, w)
    return x.flatten(4).flatten(2, 3)  # (B, C, height, width)


def _pair(name: str, given: int | Sequence[int]) -> tuple[int, int]:
    """One size as two."""
    sizes = tuple(given) if isinstance(given, list | tuple) else (given, given)
    if len(sizes) != 2:
        raise ValueError(f"{name} must be one number or two, (height, width), not {given!r}")
    checks.positive(**{f"{name}[0]": sizes[0], f"{name}[1]": sizes[1]})
    return sizes


def _grid(image_size: tuple[int, int], patch_size: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns of patches: none is cropped, none is filled up."""
    (height, width), (h, w) = image_size, patch_size
    if height % h or width % w:
        raise ValueError(
            f"patch_size must divide the image's size, but {h} x {w} does not divide "
            f"{height} x {width}"
        )
    return height // h, width // w
