"""Pages on paper: what the browser's own printing makes of them."""

from __future__ import annotations

import pytest

from toc import NOTEBOOKS, PAGES

PAPER = 680  # pixels: A4 less its margins
FURNITURE = (
    "header, .bd-sidebar-primary, .bd-sidebar-secondary, .prev-next-footer, .bd-footer-content, "
    ".article-header-buttons, .skip-link, #jb-print-toc, .headerlink, button, details.hide"
)


@pytest.fixture
def paper(visit):
    """Open a page as its style alone prints it; scripts of the theme open solutions as well."""

    def opened(name: str):
        page = visit(PAPER).goto(f"{name}.html")
        page.emulate_media(media="print")
        return page

    return opened


def visible(page, selector: str) -> list[str]:
    return page.locator(selector).evaluate_all(
        """all => all.filter(e => e.checkVisibility({visibilityProperty: true}))
                      .map(e => e.outerHTML.slice(0, 100))"""
    )


@pytest.mark.parametrize("page", PAGES)
def test_the_text_alone_is_printed_whole_and_with_its_solutions(paper, page):
    opened = paper(page)
    assert visible(opened, FURNITURE) == []
    assert len(visible(opened, "h1")) == 1
    cut = opened.evaluate(
        """(width) => [...document.querySelectorAll(".bd-content *")]
            .filter((e) => !e.closest("mjx-assistive-mml, mjx-math *, .attnbook .live"))
            .filter((e) => e.checkVisibility())
            .filter((e) => e.getBoundingClientRect().right > width + 1
                || (e.scrollWidth > e.clientWidth + 1 && !e.matches(".math, .math *")
                    && getComputedStyle(e).display !== "inline"
                    && getComputedStyle(e).overflowX !== "visible"))
            .map((e) => e.outerHTML.slice(0, 160))""",
        PAPER,
    )
    assert cut == []
    solutions = opened.locator("div.solution.dropdown section")
    assert (solutions.count() > 0) == (page in NOTEBOOKS)
    for solution in solutions.all():
        assert solution.is_visible()
        assert solution.bounding_box()["height"] > 10
        assert solution.evaluate("e => getComputedStyle(e).opacity") == "1"


def test_dark_pages_are_printed_light_and_are_dark_afterwards(visit):
    opened = visit(PAPER, "dark").goto("book/04_self_attention.html")
    now = """(event) => {
        dispatchEvent(new Event(event));
        const colour = getComputedStyle(document.querySelector("article p")).color;
        return [document.documentElement.dataset.theme, colour];
    }"""
    light = opened.evaluate(now, "beforeprint")
    dark = opened.evaluate(now, "afterprint")
    assert (light[0], dark[0]) == ("light", "dark")
    red = [int(c[1].removeprefix("rgb(").split(",")[0]) for c in (dark, light)]
    assert red[0] > 160
    assert red[1] < 90


@pytest.mark.parametrize("page", ["book/04_self_attention", "book/06_positions"])
def test_a_figure_that_computes_is_printed_as_its_still_picture(visit, page):
    opened = visit(PAPER).goto(f"{page}.html")
    still, live = opened.locator(".attnbook .still"), opened.locator(".attnbook .live")
    live.wait_for()
    assert not still.is_visible()
    opened.emulate_media(media="print")
    assert still.is_visible()
    assert not live.is_visible()


def test_an_explorer_is_printed_as_its_still_picture(paper):
    opened = paper("book/explorers")
    explorers = opened.locator("[data-explorer]")
    assert explorers.count() > 0
    for explorer in explorers.all():
        assert explorer.locator("img.still").is_visible()


def test_the_address_of_a_source_is_printed_and_of_other_links_not(paper):
    opened = paper("book/04_self_attention")
    after = "all => all.map(a => getComputedStyle(a, '::after').content)"
    sources = opened.locator("#references li a.external").evaluate_all(after)
    assert len(sources) >= 3
    assert all(content.startswith('" (https://') for content in sources)
    others = opened.locator("article section > p a").evaluate_all(after)
    assert others
    assert not [content for content in others if "http" in content]
