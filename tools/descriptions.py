"""What search engines and shared links show of a page: an extension of Sphinx.

The description of a page is its own beginning: the first paragraphs below its title, as many
sentences as there is room for. No page says it a second time.
"""

import html
import re

from docutils import nodes
from sphinx.application import Sphinx

SHORTEST, LONGEST = 50, 160  # in characters: what search engines show
# Pages that Sphinx makes, which have no text of their own: title and description.
MADE = {
    "genindex": ("Index", "The names of all functions and classes of the library, linked."),
    "py-modindex": (
        "Python Module Index",
        "The modules of the library, with links to what each offers.",
    ),
    "search": (
        "Search",
        "Search the chapters, the notation, the glossary and the library's reference.",
    ),
}


def shorten(text: str) -> str:
    """Whole sentences, up to LONGEST; a first one that is too long is cut at a comma or a word."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    ends = [m.end() for m in re.finditer(r"[.?!](?= )", text) if m.end() <= LONGEST]
    if ends and ends[-1] >= SHORTEST:
        return text[: ends[-1]]
    cut = text[:LONGEST].rpartition(" ")[0]
    comma = cut.rfind(",")
    return (cut if comma < LONGEST // 2 else cut[:comma]).rstrip(",;:") + "…"


def describe(doctree: nodes.document) -> str:
    """The description of a page, out of its first paragraphs."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph):
        if len(text) >= SHORTEST:
            break
        if isinstance(paragraph.parent, nodes.section):
            text += " " + paragraph.astext()
    return shorten(text)


def add(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document) -> None:
    """Put the description and the title into the head of the page."""
    if doctree:
        title = html.unescape(re.sub(r"<[^>]+>", "", context["title"]))
        text = describe(doctree)
    elif page in MADE:
        title, text = MADE[page]
    else:
        return
    book = app.config.html_title
    if title == book:
        context["docstitle"] = ""  # the first page: not the same title twice
    fields = (
        ("name", "description", text),
        ("property", "og:type", "article"),
        ("property", "og:site_name", book),
        ("property", "og:title", title),
        ("property", "og:description", text),
    )
    lines = [f'<meta {key}="{name}" content="{html.escape(say)}" />' for key, name, say in fields]
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
