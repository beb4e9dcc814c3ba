"""The positions explorer: two places, their vectors, and the dot product over the distance."""

import html
import math
from urllib.parse import quote

import torch

from attnbook import checks
from attnbook.interactive.output import InteractiveFigure, column, html_table, text_table, typed
from attnbook.positions import RotaryPositions, sinusoidal

KINDS = ("sinusoidal", "rotary")
WIDEST = 64  # numbers of a vector that can be drawn side by side on a phone
LONGEST = 512  # places
WIDTH, HEIGHT = 560, 250  # of the still picture, in pixels
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 16, 44  # its margins


def positions_explorer(
    d_head: int = 16,
    base: float = 10_000.0,
    *,
    kind: str = "sinusoidal",
    query: int = 12,
    key: int = 9,
    length: int = 64,
) -> InteractiveFigure:
    """Sinusoidal or rotary positions at two places that readers move, and their dot product.

    Each pair of numbers is drawn as two hands on a dial, from the fast pairs to the slow ones, and
    the dot product as a curve over the distance. Rotary turns a query whose pairs are all (1, 0),
    and a key that is the same vector; readers can choose a key whose pair i is (cos i, sin i).
    Where no script runs, a picture and a table show the dot products of the first `kind`.

    Args:
        d_head: numbers of a vector, even, at most 64; readers can choose another.
        base: sets the slowest turn; readers can choose another.
        kind: "sinusoidal" or "rotary".
        query, key: the two places at the start, 0 … length - 1.
        length: number of places, 2 … 512.

    Returns:
        The figure: end a cell with it.

    Raises:
        TypeError: a size or a place that is not an int.
        ValueError: a size, a base or a place out of range, an odd d_head, another kind.

    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021 (RoFormer), equations 14-16.
    Chapter: 06_positions
    """
    checks.choice("kind", kind, KINDS)
    rotate = RotaryPositions(d_head, base)  # it checks both
    checks.positive(length=length)
    checks.not_negative(query=query, key=key)
    if d_head > WIDEST:
        raise ValueError(f"d_head must be at most {WIDEST}, not {d_head}")
    if not 2 <= length <= LONGEST:
        raise ValueError(f"length must be 2 … {LONGEST}, not {length}")
    for name, place in (("query", query), ("key", key)):
        if place >= length:
            raise ValueError(f"{name} must be below length = {length}, not {place}")
    if not math.isfinite(base):
        raise ValueError(f"base must be finite, not {base}")

    if kind == "sinusoidal":
        vectors = sinusoidal(length, d_head, base)  # (L, d)
    else:
        same = torch.tensor([1.0, 0.0]).repeat(length, d_head // 2)  # (L, d)
        vectors = rotate(same[None, None])[0, 0]  # (L, d)
    products = (vectors @ vectors[0]).tolist()  # of place p with place 0: distance p
    distances = [0, *(2**i for i in range(length.bit_length()) if 2**i < length)]
    rows = [
        [str(n), shown]
        for n, shown in zip(distances, column([products[n] for n in distances]), strict=True)
    ]
    header = ["distance", "dot product"]
    caption = f"{kind.capitalize()} positions, {d_head} numbers, base {typed(base)}"
    alt = (
        f"A curve: the dot product of two {kind} positions of {d_head} numbers over their "
        f"distance. It is largest at distance 0, {column([products[0]])[0]}, and the same on both "
        "sides."
    )
    picture = quote(_picture(products), safe=" =/:,'()")
    return InteractiveFigure(
        "explorer",
        start={
            "d": d_head,
            "base": base,
            "kind": kind,
            "query": query,
            "key": key,
            "length": length,
        },
        still=f'<p><img src="data:image/svg+xml,{picture}" width="{WIDTH}" '
        f'alt="{html.escape(alt)}"></p>\n{html_table(caption, header, rows)}\n'
        "<p>Where scripts run (the book's site, JupyterLab, Colab), places, width and base can be "
        "changed here.</p>",
        text=f"{caption}\n{text_table(header, rows)}",
    )


def _picture(products: list[float]) -> str:
    """The curve as SVG, on white as all figures of the book."""
    longest = len(products) - 1
    low, high = min(0.0, *products), max(products)

    def across(distance: int) -> float:
        return LEFT + (distance / longest + 1) / 2 * (WIDTH - LEFT - RIGHT)

    def down(product: float) -> float:
        return TOP + (high - product) / (high - low) * (HEIGHT - TOP - BOTTOM)

    points = " ".join(
        f"{across(n):.1f},{down(products[abs(n)]):.1f}" for n in range(-longest, longest + 1)
    )
    ticks = "".join(
        f"<text x='{across(n):.0f}' y='{HEIGHT - 24}' text-anchor='middle'>{typed(n)}</text>"
        for n in (-longest, 0, longest)
    )
    ticks += "".join(
        f"<text x='{LEFT - 6}' y='{down(y) + 4:.0f}' text-anchor='end'>{typed(y)}</text>"
        for y in (0.0, high)
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' "
        "font-family='sans-serif' font-size='12'>"
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>"
        f"<path d='M{LEFT} {down(0.0):.1f}H{WIDTH - RIGHT}' stroke='grey'/>"
        f"<polyline points='{points}' fill='none' stroke='rgb(0,114,178)' stroke-width='2'/>{ticks}"
        f"<text x='{across(0):.0f}' y='{HEIGHT - 6}' text-anchor='middle'>distance</text></svg>"
    )
