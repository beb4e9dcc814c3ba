"""The reference of the library on the site, out of its docstrings: an extension of Sphinx.

`book/library.md` holds the introduction. Behind it comes a section for each module of the library,
in the order in which they stand on each other, and in it what the module offers.
"""

import re

from sphinx.application import Sphinx

from toc import ROOT

LIBRARY = ROOT / "lib" / "attnbook"
PAGE = "book/library"
# First what the models are made of, then the models, then what is done with them.
ORDER = ("attention", "masks", "positions", "embeddings", "layers", "windowed", "cache", "models")
LAST = ("data",)
# What the library needs for itself, and nobody calls.
INNER = ("checks", "console", "data.sides", "tokenization.frames")


def modules() -> list[str]:
    """The names of the modules that readers use, in the order of the page."""
    files = (f for f in LIBRARY.rglob("*.py") if f.name not in ("__init__.py", "__main__.py"))
    names = {".".join(f.relative_to(LIBRARY).with_suffix("").parts) for f in files}

    def key(name: str) -> tuple[int, str]:
        top = name.split(".")[0]
        place = ORDER.index(top) if top in ORDER else len(ORDER) + (top in LAST)
        return place, name

    return sorted(names - set(INNER), key=key)


def section(name: str) -> str:
    """The module's section: its heading, its docstring, then each public object."""
    return f"""
## {name}

```{{eval-rst}}
.. automodule:: attnbook.{name}
   :members:
   :member-order: bysource
```
"""


def add_sections(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a section for each module behind the introduction."""
    if page == PAGE:
        source[0] += "".join(map(section, modules()))


def chapter(match: re.Match) -> str:
    """The last line of a docstring, as a link where the chapter is written: see roles.py."""
    return f"\nChapter: :chapter:`{match[1]}`."


def to_rst(app: Sphinx, kind: str, name: str, obj: object, options: object, lines: list) -> None:
    """Our docstrings are plain text: what would be markup is escaped, and the chapter is linked."""
    text = "\n".join(lines)
    # A source that goes on in the next line would be read as a definition.
    text = re.sub(r"^Source: .*(\n +.*)*", lambda m: " ".join(m[0].split()), text, flags=re.M)
    parts = re.split(r"`([^`]+)`", text)  # every second one is code
    # Inside of a name "_" is no markup, and Sphinx would show the "\" of an attribute.
    parts[::2] = [re.sub(r"([*|\\]|_(?![A-Za-z0-9]))", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"``{part}``\\ " for part in parts[1::2]]  # "\ " lets a letter follow at once
    lines[:] = re.sub(r"^Chapter: (.+)$", chapter, "".join(parts), flags=re.M).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", add_sections)
    # Before napoleon, which then reads the sections of the escaped text.
    app.connect("autodoc-process-docstring", to_rst, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
