"""What the pages of the book may write beside MyST's own roles: an extension of Sphinx.

{chapter}`04_self_attention`               the chapter by number and title, here "4. Self-attention"
{chapter}`the mask <04_self_attention#the-mask>`     another text, and a section of the chapter
{zh}`注意力`                               Chinese, marked as such for the browser

A chapter is linked once it stands in _toc.yml. Until then its text stands there without a link, so
that a page can name any chapter of the plan and needs no change when that is written.
"""

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import ReferenceRole
from sphinx.util.nodes import make_refnode

from toc import PAGES, PLANNED, TITLES


def title(name: str) -> str:
    """The number and the title of a chapter of the plan."""
    return f"{int(name.split('_')[0])}. {TITLES[name]}"


class Chapter(ReferenceRole):
    """A chapter, linked if it is written."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name, _, section = self.target.partition("#")
        if name not in PLANNED:
            message = self.inliner.reporter.error(
                f"{name!r} is no chapter of the plan: see TITLES in tools/toc.py", line=self.lineno
            )
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        text = nodes.inline("", self.title if self.has_explicit_title else title(name))
        if f"book/{name}" not in PAGES:
            return [text], []
        link = pending_xref(self.rawtext, text, reftype="chapter", reftarget=name, section=section)
        link["refdoc"] = self.env.docname
        return [link], []


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Node
) -> nodes.reference | None:
    """The link itself, when all pages are read."""
    if node["reftype"] != "chapter":
        return None
    page = f"book/{node['reftarget']}"
    return make_refnode(app.builder, node["refdoc"], page, node["section"] or None, text)


def chinese(
    name: str, rawtext: str, text: str, line: int, inliner: Inliner, options=None, content=None
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Simplified Chinese: docutils makes the attribute `lang` out of such a class."""
    return [nodes.inline(rawtext, text, classes=["zh", "language-zh-Hans"])], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_role("chapter", Chapter())
    app.add_role("zh", chinese)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
