"""The places of the explorers on the pages: an extension of Sphinx.

A page says only which explorer stands where, in plain HTML, with a line for readers elsewhere:

<div class="explorer" data-explorer="bert_sotu">On the website of the book you can …</div>

On the site the line gives way to the still picture, and book.js adds the button that opens it.
"""

import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from explorers import EXPLORERS, STILLS

PLACE = re.compile(r'<div class="explorer" data-explorer="(\w*)">.*?</div>', re.DOTALL)
BY_NAME = {explorer.recipe.name: explorer for explorer in EXPLORERS}


def place(name: str, up: str) -> str:
    """The explorer's element; `up` leads from the page to the first folder of the site."""
    explorer = BY_NAME[name]
    # PNG: width and height stand in bytes 16 to 23. With them nothing moves when the picture comes.
    head = (STILLS / f"{name}.png").read_bytes()[16:24]
    width, height = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
    return (
        f'<div class="explorer" id="{name}" data-explorer="{name}" '
        f'data-button="{escape(explorer.button)}">'
        f'<img class="still" src="{up}explorers/stills/{name}.png" alt="{escape(explorer.alt)}" '
        f'width="{width}" height="{height}" loading="lazy"></div>'
    )


def fill(app: Sphinx, doctree: nodes.document) -> None:
    """Put what belongs there into each place of a page."""
    up = "../" * app.env.docname.count("/")
    for node in list(doctree.findall(nodes.raw)):
        text = node.astext()
        for name in PLACE.findall(text):
            if name not in BY_NAME:
                logging.getLogger(__name__).warning(
                    "%r is no explorer: see tools/explorers.py", name, location=node
                )
                return
        filled = PLACE.sub(lambda found: place(found[1], up), text)
        if filled != text:
            node.replace_self(nodes.raw("", filled, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
