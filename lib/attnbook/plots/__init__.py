"""Figures. Each function draws one kind and returns `fig, ax`; `display` puts a figure on the page.

Figures stand on white in light and dark pages alike. Colours are told apart by colour-blind readers
(Okabe and Ito's palette), and no figure tells anything by colour alone.
"""

import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

# Okabe and Ito 2008, darkest first; yellow left out, since it is too pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P")
# Font families with Chinese characters, as the systems name them.
CHINESE_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK HK",
    "Source Han Sans",
    "PingFang HK",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft JhengHei",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
)
PIXELS_PER_INCH = 100  # of the page; the picture itself has twice as many


def display(fig: Figure, *, alt: str) -> Image:
    """The figure as a picture with its alternative text: end a cell with it.

    Args:
        fig: the figure; it is closed.
        alt: what the picture shows, for those who do not see it: the kind of figure, its axes and
            what can be seen in it.

    Raises:
        ValueError: no alternative text.

    Chapter: 04_self_attention
    """
    if not alt.strip():
        raise ValueError("alt must say what the picture shows")
    picture = io.BytesIO()
    fig.savefig(
        picture, format="png", dpi=2 * PIXELS_PER_INCH, facecolor="white", bbox_inches="tight"
    )
    plt.close(fig)
    # PNG: the width stands in bytes 16-19, in pixels.
    width = int.from_bytes(picture.getvalue()[16:20], "big") // 2
    return Image(picture.getvalue(), width=width, alt=alt)


def has_chinese() -> bool:
    """Whether this machine has a font for Chinese characters; without one, draw romanised text.

    Chapter: 04_self_attention
    """
    return bool(_chinese_fonts())


def attention_map(
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str = "",
    values: bool = True,
) -> tuple[Figure, Axes]:
    """Who looks at whom: one row a query, one column a key, darker for a larger weight.

    Args:
        weights: shape (T, S); an array or a tensor.
        queries: the T tokens that look.
        keys: the S tokens that are looked at.
        ax: where to draw; a new figure unless given.
        title: above the map.
        values: whether to write the weights into the cells.

    Raises:
        ValueError: weights whose shape is not (T, S).

    Chapter: 04_self_attention
    """
    shown = weights.detach().cpu().float().numpy() if hasattr(weights, "detach") else weights
    shown = np.asarray(shown)
    if shown.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights must have the shape (queries, keys) = ({len(queries)}, {len(keys)}), "
            f"not {shown.shape}"
        )
    with style():
        size = (1.2 + 0.55 * len(keys), 1.0 + 0.5 * len(queries))
        fig, ax = _axes(ax, size)
        ax.imshow(shown, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        # Single letters have room side by side, and an l that leans is a slash.
        turned = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
        turned = turned if any(len(key) > 1 for key in keys) else {}
        # Tokens are no formulas: "$" is a dollar.
        ax.set_xticks(range(len(keys)), keys, parse_math=False, **turned)
        ax.set_yticks(range(len(queries)), queries, parse_math=False)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        for row, column in np.ndindex(*shown.shape) if values else ():
            weight = shown[row, column]
            colour = "white" if weight > 0.65 else "black"
            # What is no weight, such as NaN or 2.5, is written as it is.
            text = "1" if 1 <= weight < 1.005 else f"{weight:.2f}".lstrip("0")
            ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
        ax.set_ylabel("query: who looks")
        ax.set_xlabel("key: who is looked at")
        if title:
            ax.set_title(title, pad=12)
    return fig, ax


def bars(
    lengths: Mapping[str, Mapping[str, float]], *, xlabel: str, ax: Axes | None = None
) -> tuple[Figure, Axes]:
    """Groups of horizontal bars from top to bottom, with their values at the ends.

    Args:
        lengths: for each group (a name on the y axis), for each series (a colour), the length.
            Each group must have the same series.
        xlabel: what the length is, with its unit.
        ax: where to draw; a new figure unless given.

    Raises:
        ValueError: groups with different series, or none.

    Chapter: 04_self_attention
    """
    series = [list(group) for group in lengths.values()]
    if not series or not series[0] or any(names != series[0] for names in series):
        raise ValueError(f"each group must have the same series, not {series}")
    with style():
        fig, ax = _axes(ax, (5.2, 0.8 + 0.55 * len(lengths)))
        height = 0.8 / len(series[0])
        for i, name in enumerate(series[0]):
            y = np.arange(len(lengths)) + (i - (len(series[0]) - 1) / 2) * height
            x = [group[name] for group in lengths.values()]
            hatch = ("", "///")[i % 2]  # told apart without colour, too
            drawn = ax.barh(
                y,
                x,
                height * 0.9,
                label=name,
                color=COLOURS[i % len(COLOURS)],
                hatch=hatch,
                edgecolor="white",
            )
            ax.bar_label(drawn, [f"{v:.2f}".lstrip("0") for v in x], fontsize=9, padding=2)
        ax.set_yticks(range(len(lengths)), list(lengths))
        ax.invert_yaxis()
        ax.margins(x=0.1)
        ax.set_xlabel(xlabel)
        if len(series[0]) > 1:
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(series[0]))
    return fig, ax


def lines(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Curves, each with its own colour and marker, and its name at the right end.

    Args:
        curves: for each name, its x and its y.
        xlabel, ylabel: what the axes are, with units.
        log_x, log_y: logarithmic axes.
        ax: where to draw; a new figure unless given.

    Raises:
        ValueError: x and y of different lengths.

    Chapter: 04_self_attention
    """
    with style():
        fig, ax = _axes(ax, (5.2, 3.4))
        for i, (name, (x, y)) in enumerate(curves.items()):
            if len(x) != len(y):
                raise ValueError(f"{name} must have as many x as y, not {len(x)} and {len(y)}")
            marker = MARKERS[i % len(MARKERS)] if len(x) <= 30 else None
            ax.plot(x, y, label=name, color=COLOURS[i % len(COLOURS)], marker=marker)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        if log_x:
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter("{x:g}")
        if log_y:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter(NullFormatter())
        if len(curves) > 1:
            ax.legend()
    return fig, ax


def style() -> AbstractContextManager[None]:
    """matplotlib's settings for the book: `with plots.style(): …` around one's own drawing.

    Chapter: 04_self_attention
    """
    return plt.rc_context(
        {
            "font.family": ["DejaVu Sans", *_chinese_fonts()],
            "font.size": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "figure.facecolor": "white",
            "legend.frameon": False,
            "lines.markersize": 5,
        }
    )


def _chinese_fonts() -> list[str]:
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in CHINESE_FONTS if name in installed]


def _axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Axes]:
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(figsize=size)
