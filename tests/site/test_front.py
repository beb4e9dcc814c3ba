"""The landing page, the three ways through, the glossary and the errata, as readers use them."""

import re

import pytest

from browser import SITE

WAYS = ("one_hour", "study", "teach")


def test_the_three_ways_stand_on_the_first_screen(visit):
    page = visit(1400).goto("book/intro.html")
    for way in WAYS:
        box = page.locator(f".sd-card a[href='{way}.html']").bounding_box()
        assert box["y"] + box["height"] <= 900


@pytest.mark.parametrize("name", [*WAYS, "glossary", "errata"])
def test_links_reach_their_page_and_section(visit, name):
    page = visit().goto(f"book/{name}.html")
    links = set(page.locator("article a").evaluate_all("all => all.map(a => a.href)"))
    inside = [link for link in links if link.startswith(page.url.partition("/book/")[0])]
    assert len(inside) > 5
    for link in inside:
        path, _, anchor = link.partition("#")
        file = SITE / path.split("/", 3)[3]
        assert file.is_file(), link
        assert not anchor or f'id="{anchor}"' in file.read_text(encoding="utf-8"), link


def test_each_term_has_an_anchor_and_its_chinese_a_language(visit):
    page = visit().goto("book/glossary.html")
    terms = page.locator("dl.glossary dt")
    assert terms.count() >= 80
    ids = terms.evaluate_all("all => all.map(dt => dt.id)")
    assert all(re.fullmatch(r"term-[\w-]+", name) for name in ids)
    assert page.locator("dl.glossary dd span.zh[lang='zh-Hans']").count() == terms.count()


@pytest.mark.parametrize("query", ["困惑度", "perplexity"])
def test_the_search_finds_a_term_in_both_languages(visit, query):
    page = visit().goto(f"search.html?q={query}")
    page.locator("#search-results li a").first.wait_for(timeout=10_000)
    hits = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.pathname)")
    assert "/book/glossary.html" in hits


def test_a_line_of_the_errata_fits_a_phone(visit):
    page = visit(390).goto("book/errata.html")
    widths = page.locator("article li code").evaluate_all(
        "all => all.map(c => c.getBoundingClientRect().right)"
    )
    assert len(widths) >= 30
    assert max(widths) <= 390
