"""How an interactive figure becomes a cell's output: one piece of HTML that asks for nothing else.

The output has no ids, times or random numbers: a second run gives the same bytes, and several
figures on one page do not clash. The script makes its own ids while the page is open.
"""

import html
import json
from pathlib import Path
from typing import Any

from IPython.display import HTML

HERE = Path(__file__).parent
MINUS = "\N{MINUS SIGN}"
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class InteractiveFigure(HTML):
    """HTML for those who run scripts, and the same numbers as plain text for those who do not.

    Args:
        name: of the figure: NAME.js and NAME.css lie beside this file.
        start: what the script starts from; it becomes JSON.
        still: HTML that is shown where scripts are off. The script hides it.
        text: what a terminal shows.
    """

    def __init__(self, name: str, *, start: dict[str, Any], still: str, text: str) -> None:
        style, script = (
            "\n".join(_read(f"{part}.{kind}") for part in ("base", name)) for kind in ("css", "js")
        )
        # In an attribute, escaped: nothing that the numbers or words hold can end it.
        data = html.escape(json.dumps(start, ensure_ascii=False, allow_nan=False))
        super().__init__(
            f'<div class="attnbook" data-figure="{name}" data-start="{data}">\n'
            f"<style>\n{style}</style>\n"
            f'<div class="still">\n{still}\n</div>\n</div>\n'
            f'<script>\n(() => {{\n"use strict";\n{script}}})();\n</script>'
        )
        self.text = text

    def __repr__(self) -> str:
        return self.text


def html_table(caption: str, header: list[str], rows: list[list[str]]) -> str:
    """A table whose first cell of each row is its head; caption and cells are text, not HTML."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
    body = "\n".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    caption = html.escape(caption)
    # A table that is too wide scrolls, by keyboard too; what stands above it does not.
    return (
        f"<p><strong>{caption}</strong></p>\n"
        f'<div class="scrolls" tabindex="0" role="region" aria-label="{caption}">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def text_table(header: list[str], rows: list[list[str]]) -> str:
    """The same for a terminal: columns of one width."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    padded = (
        [cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(pairs)]
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    )
    return "\n".join("  ".join(line).rstrip() for line in padded)


def short(x: float | int) -> float:
    """A number as a reader would type it: 0.1, not the 0.10000000149 of float32."""
    return float(f"{x:.6g}")


def typed(x: float | int) -> str:
    """The number `short(x)` without needless digits, with a true minus sign."""
    return f"{short(x) + 0.0:.6g}".replace("-", MINUS)


def column(numbers: list[float]) -> list[str]:
    """Numbers below each other: with 3 decimals, or as whole numbers where all are whole."""
    digits = 0 if all(x == int(x) for x in numbers) else 3
    return [_shown(x, digits) for x in numbers]


def _shown(x: float, digits: int) -> str:
    """As the scripts' `shown`: so many decimals, or a power of ten where there is no room."""
    if abs(x) < 1e5:
        return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", MINUS)
    factor, power = f"{x:.2e}".split("e+")
    return f"{factor}·10{str(int(power)).translate(SUPERSCRIPT)}".replace("-", MINUS)


def vector(numbers: list[str]) -> str:
    """(1, 0, 1, 0)"""
    return f"({', '.join(numbers)})"


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
