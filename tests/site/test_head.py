"""What search engines and shared links read of a page: language, title, description."""

from __future__ import annotations

import html
import re

import pytest
from bs4 import BeautifulSoup
from docutils.core import publish_doctree

from browser import SITE
from descriptions import LONGEST, MADE, SHORTEST, describe, shorten
from toc import CONFIG, PAGES

ALL = [*PAGES, *MADE]


@pytest.fixture(scope="module")
def heads(site) -> dict[str, BeautifulSoup]:
    return {
        page: BeautifulSoup((SITE / f"{page}.html").read_text(encoding="utf-8"), "lxml")
        for page in ALL
    }


def meta(soup: BeautifulSoup, name: str) -> list[str]:
    return [tag["content"] for tag in soup.head.select(f'[name="{name}"], [property="{name}"]')]


def heading(page: str, soup: BeautifulSoup) -> str:
    return MADE[page][0] if page in MADE else soup.select_one("article h1").get_text().strip(" #")


@pytest.mark.parametrize("page", ALL)
def test_a_page_names_itself_and_the_book_and_its_language(heads, page):
    soup = heads[page]
    own = heading(page, soup)
    title = soup.title.get_text()
    assert soup.html["lang"] == "en"
    assert len(soup.head.find_all("title")) == 1
    book = CONFIG["title"]
    if own == book:
        assert title == book
    else:
        assert re.fullmatch(rf"{re.escape(own)} [—-] {re.escape(book)}", title)


@pytest.mark.parametrize("page", ALL)
def test_a_page_has_one_description_out_of_its_own_text(heads, page):
    soup = heads[page]
    [text] = meta(soup, "description")
    assert SHORTEST <= len(text) <= LONGEST
    assert meta(soup, "og:description") == [text]
    assert meta(soup, "og:title") == [heading(page, soup)]
    assert meta(soup, "og:site_name") == [CONFIG["title"]]
    assert not re.search(r"[$\\`*{}<>]|\s\s", text)
    if page in PAGES:
        words = " ".join(soup.select_one("article").get_text().split())
        words = re.sub(r"\\[()]", "", words)  # around formulas
        for sentence in re.split(r"(?<=[.?!]) ", text.removesuffix("…")):
            assert sentence in words


def test_no_two_pages_have_the_same_title_or_description(heads):
    for values in (
        [soup.title.get_text() for soup in heads.values()],
        [meta(soup, "description")[0] for soup in heads.values()],
    ):
        assert len(set(values)) == len(ALL)


def test_no_head_says_an_address_of_the_site(heads):
    """None is configured, and a wrong one would be worse than none."""
    for soup in heads.values():
        assert not soup.head.select('[rel="canonical"], [property="og:url"]')
        assert not [t for t in soup.head.select("[content]") if "://" in html.unescape(str(t))]


# Long texts, and texts that have to be put together


def test_whole_sentences_as_many_as_there_is_room_for():
    first, second = "A" + "a" * 70 + ".", "B" + "b" * 70 + "?"
    assert shorten(f"{first}  {second}\n{first}") == f"{first} {second}"
    assert shorten(f"Too short. {'word ' * 40}") == f"Too short. {'word ' * 28}word…"


def test_a_long_sentence_is_cut_at_a_late_comma_or_else_at_a_word():
    assert shorten("word " * 60) == "word " * 31 + "word…"
    assert shorten("a, " + "word " * 60) == "a, " + "word " * 30 + "word…"
    assert shorten("word " * 20 + "and, " + "word " * 60) == "word " * 20 + "and…"


def test_paragraphs_are_taken_until_they_suffice_and_nothing_but_paragraphs():
    text = f"""
Title
=====

Short.

- {"a list " * 20}

.. note:: {"a note " * 20}

Then {"more " * 10}end.

{"Never read. " * 10}
"""
    settings = {"report_level": 5, "doctitle_xform": False}
    document = publish_doctree(text, settings_overrides=settings)
    assert describe(document) == f"Short. Then {'more ' * 10}end."
