"""The roles of the book's pages, in a small site of its own."""

import io
import re

import pytest
from sphinx.application import Sphinx

import roles

WRITTEN = "04_self_attention"
PAGE = """
Page
====

:chapter:`04_self_attention`, :chapter:`the mask <04_self_attention#the-mask>`,
:chapter:`10_cross_attention`, :chapter:`later <10_cross_attention#x>`, :zh:`注意力`

.. toctree::

   book/04_self_attention
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setattr(roles, "PAGES", [f"book/{WRITTEN}"])

    def built(text: str) -> tuple[str, str]:
        """The page as HTML, and the warnings."""
        (tmp_path / "book").mkdir()
        (tmp_path / "index.rst").write_text(text, encoding="utf-8")
        target = "Attention\n=========\n\nThe mask\n--------\n"
        (tmp_path / f"book/{WRITTEN}.rst").write_text(target, encoding="utf-8")
        warnings = io.StringIO()
        app = Sphinx(
            tmp_path,
            None,
            tmp_path / "out",
            tmp_path / "trees",
            "html",
            confoverrides={"extensions": ["roles"], "html_theme": "basic", "nitpicky": True},
            status=None,
            warning=warnings,
        )
        app.build()
        return (tmp_path / "out/index.html").read_text(encoding="utf-8"), warnings.getvalue()

    return built


def test_a_chapter_is_linked_once_it_is_written(build):
    page, warnings = build(PAGE)
    assert warnings == ""
    body = page[page.index("<h1>") : page.index("toctree-wrapper")]
    links = re.findall(r'<a class="reference internal" href="(.+?)"><span>(.+?)</span></a>', body)
    assert links == [
        (f"book/{WRITTEN}.html", "4. Self-attention"),
        (f"book/{WRITTEN}.html#the-mask", "the mask"),
    ]
    assert "<span>10. Cross-attention</span>, <span>later</span>" in body


def test_chinese_is_marked_for_the_browser(build):
    page, _ = build(PAGE)
    assert re.search(r'<span class="zh" lang="zh-Hans">注意力</span>', page)


def test_a_chapter_outside_of_the_plan_is_refused(build):
    _, warnings = build("Page\n====\n\n:chapter:`04_selfattention`\n")
    assert "'04_selfattention' is no chapter of the plan" in warnings
