"""Show the library's own source, and tables, on the page."""

import inspect
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from IPython.display import Markdown

PACKAGE = Path(__file__).parent


def show(*objects: Any) -> Markdown:
    """The source of functions, classes or methods, as it stands in the library, and its file.

    Args:
        objects: each a function, a class or a method that is defined in a file of this package.

    Returns:
        Markdown with the dedented sources in code blocks: end a cell with `show(obj)`.

    Raises:
        TypeError: nothing to show, or an object that has no source in this package (a value, a
            built-in, something defined in the notebook).

    Chapter: 04_self_attention
    """
    if not objects:
        raise TypeError("show needs at least one object")
    return Markdown("\n\n".join(map(_source, objects)))


def _source(obj: Any) -> str:
    obj = inspect.unwrap(obj)  # what a decorator wraps is what the file holds
    try:
        path = Path(inspect.getsourcefile(obj) or "")
        source = textwrap.dedent(inspect.getsource(obj))
    except (TypeError, OSError) as error:
        raise TypeError(f"obj must be a function, class or method, not {obj!r}") from error
    if not path.is_relative_to(PACKAGE):
        name = getattr(obj, "__qualname__", repr(obj))
        raise TypeError(f"obj must be defined in attnbook, but {name} is defined in {path.name}")
    place = path.relative_to(PACKAGE.parent).as_posix()
    return f"`{place}`\n\n```python\n{source.rstrip()}\n```"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markdown:
    """A table with text on the left and numbers on the right.

    Args:
        header: the heads of the columns.
        rows: the cells; a float is shown with three decimals, anything else as `str` has it. It is
            Markdown, but for a bar and a line's end, which would break the table.

    Raises:
        ValueError: a row that is not as long as the header.

    Chapter: 04_self_attention
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"each row must have {len(header)} cells, not {len(row)}: {row!r}")
    numeric = [
        bool(rows) and all(isinstance(row[i], int | float) for row in rows)
        for i in range(len(header))
    ]
    lines = [[_cell(x) for x in header], ["--:" if right else ":--" for right in numeric]]
    lines += [[_cell(x) for x in row] for row in rows]
    return Markdown("\n".join("| " + " | ".join(line) + " |" for line in lines))


def _cell(x: Any) -> str:
    text = f"{x:.3f}" if isinstance(x, float) else " ".join(str(x).splitlines())
    return re.sub(r"(?<!\\)\|", r"\\|", text)
