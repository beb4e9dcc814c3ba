"""A map of words: each at its point, told apart by group."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from attnbook import plots


def word_map(
    groups: Mapping[str, tuple[ArrayLike, Sequence[str]]],
    *,
    xlabel: str,
    ylabel: str,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Words in the plane, with a marker and a colour for each group, and one scale on both axes.

    Args:
        groups: for each name, the points (n, 2), an array or a tensor, and their n words. A word
            that would be written over an earlier one is left out; its point is drawn.
        xlabel, ylabel: what the axes are.
        ax: where to draw; a new figure unless given.

    Raises:
        ValueError: points whose shape is not (words, 2), or no group.

    Chapter: 01_embeddings
    """
    if not groups:
        raise ValueError("groups must hold at least one group")
    with plots.style():
        if ax is None:
            ax = plots.plt.subplots(figsize=(5.2, 5.2))[1]
        for i, (name, (points, words)) in enumerate(groups.items()):
            xy = np.asarray(points.detach().cpu() if hasattr(points, "detach") else points)
            if xy.shape != (len(words), 2):
                raise ValueError(
                    f"the points of {name} must have the shape ({len(words)}, 2), not {xy.shape}"
                )
            colour = plots.COLOURS[i % len(plots.COLOURS)]
            marker = plots.MARKERS[i % len(plots.MARKERS)]
            ax.plot(*xy.T, marker, color=colour, label=name, markersize=4)
            for word, point in zip(words, xy, strict=True):
                near = {"xytext": (4, 2), "textcoords": "offset points", "parse_math": False}
                ax.annotate(word, point, color=colour, fontsize=8, **near)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(x=0.12)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        ax.figure.canvas.draw()  # only now is known where the words stand
        taken = []
        for label in ax.texts:
            box = label.get_window_extent()
            label.set_visible(not box.count_overlaps(taken))
            taken += [box] if label.get_visible() else []
    return ax.figure, ax
