"""A map of words: each at its point, told apart by group."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from attnbook import plots

# Where a word may stand: its offset from the point, and which side of it lies there.
Place = tuple[tuple[int, int], str, str]
PLACES: tuple[Place, ...] = (
    ((4, 0), "left", "center"),
    ((-4, 0), "right", "center"),
    ((0, 4), "center", "bottom"),
    ((0, -4), "center", "top"),
)


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
            stands beside its point, where it covers no point, no earlier word and not the axis.
            One that finds no such place is left out; its point is drawn.
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
            near = {"xytext": (0, 0), "textcoords": "offset points", "parse_math": False}
            for word, point in zip(words, xy, strict=True):
                ax.annotate(word, point, color=colour, fontsize=8, **near)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(x=0.12)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        ax.figure.canvas.draw()  # only now is known where the points lie
        taken = _boxes_of_points(ax)
        for label in ax.texts:
            label.set_visible(any(_put(label, place, taken) for place in PLACES))
    return ax.figure, ax


def _boxes_of_points(ax: Axes) -> list[Bbox]:
    """What the markers cover, in pixels."""
    half = ax.lines[0].get_markersize() / 2 * ax.figure.dpi / 72
    return [
        Bbox([point - half, point + half])
        for line in ax.lines
        for point in ax.transData.transform(line.get_xydata())
    ]


def _put(label: Annotation, place: Place, taken: list[Bbox]) -> bool:
    """Put the word there if nothing is, and say whether it could be."""
    offset, ha, va = place
    label.set(position=offset, ha=ha, va=va)
    box = label.get_window_extent()
    if box.count_overlaps(taken) or box.x0 < label.axes.bbox.x0:
        return False
    taken.append(box)
    return True
