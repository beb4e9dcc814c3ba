"""Small pictures side by side: images, what they are cut into, and what a model looks at."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from attnbook import plots

WIDTH = 5.2  # inches, of all columns together


def pictures(
    images: ArrayLike,
    *,
    columns: int,
    titles: Sequence[str] = (),
    cut: int | Sequence[int] | None = None,
    shares: ArrayLike | None = None,
    marks: Sequence[tuple[int, int]] = (),
    lowest: float = 0.0,
    highest: float = 1.0,
    label: str = "",
) -> tuple[Figure, list[Axes]]:
    """Images in rows of `columns`, darker for a larger number.

    Args:
        images: shape (n, height, width); an array or a tensor.
        columns: pictures in a row.
        titles: above each picture; none unless given.
        cut: the size of the patches whose borders are drawn; one number, or one for each picture.
        shares: shape (n, rows, columns), laid over the images in orange, each picture from 0 to
            its own largest: the more, the stronger.
        marks: for each picture, the row and column of a pixel that gets a cross.
        lowest, highest: the numbers of white and of the darkest shade, for all pictures.
        label: of a bar that shows the shades; no bar without.

    Returns:
        The figure, and the axes of the n pictures.

    Raises:
        ValueError: images without 3 axes, columns below 1, or titles, cuts, shares or marks that
            are not one for each picture.

    Chapter: 16_vit
    """
    x = _array(images)
    if x.ndim != 3:
        raise ValueError(f"images must have the shape (n, height, width), not {x.shape}")
    if columns < 1:
        raise ValueError(f"columns must be at least 1, not {columns}")
    cuts = [cut] * len(x) if cut is None or isinstance(cut, int) else list(cut)
    over = None if shares is None else _array(shares)
    for name, given in (("titles", titles), ("cut", cuts), ("shares", over), ("marks", marks)):
        if given is not None and len(given) not in ({len(x)} if name == "cut" else {0, len(x)}):
            raise ValueError(f"{name} must be one for each of {len(x)} images, not {len(given)}")
    rows = -(-len(x) // columns)
    height = WIDTH / columns * x.shape[1] / x.shape[2] + (0.3 if titles else 0.05)
    with plots.style():
        size = (WIDTH, rows * height + (0.6 if label else 0.0))
        fig, grid = plots.plt.subplots(
            rows, columns, figsize=size, squeeze=False, layout="constrained"
        )
        axes = list(grid.flat)
        for ax in axes:
            ax.set_axis_off()
        for i, image in enumerate(x):
            colours = "Greys" if over is not None else "Blues" if label else "Greys"
            drawn = axes[i].imshow(image, cmap=colours, vmin=lowest, vmax=highest)
            if titles:
                axes[i].set_title(titles[i], fontsize=9, parse_math=False)
            _borders(axes[i], image.shape, cuts[i])
            if over is not None and len(over):
                _lay_over(axes[i], over[i], image.shape)
            if marks:
                axes[i].plot(marks[i][1], marks[i][0], "x", color="#D55E00", markersize=4)
        if label:
            fig.colorbar(drawn, ax=axes, location="bottom", label=label, aspect=40)
    return fig, axes[: len(x)]


def _array(x: ArrayLike) -> np.ndarray:
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def _borders(ax: Axes, shape: tuple[int, ...], cut: int | None) -> None:
    """Lines between the patches: pixel 0 reaches from -0.5 to 0.5."""
    if cut is None:
        return
    ax.vlines(np.arange(0, shape[1] + 1, cut) - 0.5, -0.5, shape[0] - 0.5, "#D55E00", lw=0.6)
    ax.hlines(np.arange(0, shape[0] + 1, cut) - 0.5, -0.5, shape[1] - 0.5, "#D55E00", lw=0.6)


def _lay_over(ax: Axes, share: np.ndarray, shape: tuple[int, ...]) -> None:
    """The shares as orange, the more the less transparent, over the whole image."""
    strength = share / share.max() if share.max() > 0 else share
    colour = np.zeros((*share.shape, 4))
    colour[..., :3] = (0.90, 0.62, 0.0)  # Okabe and Ito's orange
    colour[..., 3] = 0.85 * strength
    ax.imshow(colour, extent=(-0.5, shape[1] - 0.5, shape[0] - 0.5, -0.5))
