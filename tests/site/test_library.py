"""The page of the library shows each public object of each module, with its docstring."""

import ast
import html
import re

import pytest

from browser import SITE
from library_page import INNER, LIBRARY, modules, to_rst

FILES = {name: LIBRARY.joinpath(*name.split(".")).with_suffix(".py") for name in modules()}


@pytest.fixture(scope="module")
def page(site):
    return (SITE / "book/library.html").read_text(encoding="utf-8")


def test_the_page_leaves_out_what_is_inner_and_nothing_else():
    names = {
        ".".join(file.relative_to(LIBRARY).with_suffix("").parts)
        for file in LIBRARY.rglob("*.py")
        if file.stem not in ("__init__", "__main__")
    }
    assert set(FILES) | set(INNER) == names
    assert len(modules()) == len(set(modules()))


@pytest.mark.parametrize("name", FILES)
def test_each_public_object_is_on_the_page(page, name):
    nodes = ast.parse(FILES[name].read_text(encoding="utf-8")).body
    kinds = ast.FunctionDef | ast.ClassDef
    public = [n for n in nodes if isinstance(n, kinds) and not n.name.startswith("_")]
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    text = " ".join(text.split())
    for node in public:
        assert f'id="attnbook.{name}.{node.name}"' in page
        words = (ast.get_docstring(node) or "").split("\n\n")[0]
        marks = "[`\"'\u2018\u2019\u201c\u201d]"  # the site draws the curly ones
        assert " ".join(re.sub(marks, "", words).split()) in re.sub(marks, "", text)


def test_no_backslash_is_left_in_a_name(page):
    names = re.findall(r'<dl class="py attribute">\s*<dt[^>]*>(.*?)</dt>', page, re.S)
    assert len(names) > 50
    assert not [name for name in names if "\\" in name]


def test_the_chapter_of_an_object_is_linked(page):
    link = (
        r'Chapter: <a [^>]*href="04_self_attention.html"[^>]*><span[^>]*>4. Self-attention</span>'
    )
    assert re.search(link, page)


def test_markup_is_escaped_and_the_chapter_is_linked():
    lines = [
        "a *star* and x_ of `Encoder`s",
        "",
        "Attributes:",
        "    image_size, patch_size: two numbers each.",
        "",
        "Source: A 2017,",
        "    B 2018.",
        "Chapter: 04_self_attention",
    ]
    to_rst(None, "function", "f", None, None, lines)
    assert lines[0] == r"a \*star\* and x\_ of ``Encoder``\ s"
    assert lines[3] == "    image_size, patch_size: two numbers each."
    assert lines[5] == "Source: A 2017, B 2018."
    assert lines[-1] == "Chapter: :chapter:`04_self_attention`."
