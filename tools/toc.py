"""What _toc.yml and _config.yml say: for the tools and the tests."""

from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))


def _files(node: dict) -> Iterator[str]:
    if "root" in node:
        yield node["root"]
    if "file" in node:
        yield node["file"]
    for key in ("parts", "chapters", "sections"):
        for child in node.get(key, []):
            yield from _files(child)


def source(page: str) -> Path:
    """The file that a page is made from."""
    return next(path for s in (".md", ".ipynb") if (path := ROOT / f"{page}{s}").is_file())


PAGES = list(_files(TOC))  # in the order of the book, without suffix
NOTEBOOKS = [page for page in PAGES if source(page).suffix == ".ipynb"]
