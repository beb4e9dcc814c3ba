"""Every page of the site, in a real browser: what a reader would stumble over."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from toc import NOTEBOOKS, PAGES, source

ALL = [f"{page}.html" for page in PAGES] + ["search.html", "genindex.html"]


def markdown(page: str) -> str:
    """A page's prose without its code."""
    path = source(page)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    text = re.sub(r"^```(?!\{).*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text)


@pytest.mark.parametrize("page", ALL)
def test_page_loads_from_the_site_alone_and_without_errors(visit, page):
    visitor = visit()
    opened = visitor.goto(page)
    opened.wait_for_load_state("networkidle")  # for what a script asks for afterwards
    assert opened.title().strip()
    assert visitor.foreign == [], "requests that would leave the machine"
    assert visitor.failed == []
    assert visitor.errors == []


def test_a_request_that_leaves_the_machine_is_stopped_and_noticed(visit):
    """What the test above relies on."""
    visitor = visit()
    ask = "fetch('http://example.org/').then(() => 'reached', () => 'stopped')"
    assert visitor.goto(ALL[0]).evaluate(ask) == "stopped"
    assert visitor.foreign == ["http://example.org/"]


@pytest.mark.parametrize("page", PAGES)
def test_maths_is_rendered(visit, page):
    opened = visit().goto(f"{page}.html")
    if re.search(r"\$[^$]+\$", markdown(page)):
        assert opened.locator("article mjx-container").count() > 0
        fonts = opened.evaluate("[...document.fonts].map(f => [f.family, f.status])")
        states = [state for family, state in fonts if family.startswith("MJX")]
        assert "loaded" in states
        assert "error" not in states
    assert opened.locator(".math:not(:has(mjx-container))").count() == 0
    assert opened.locator("mjx-merror, [data-mjx-error]").count() == 0
    raw = opened.evaluate(
        r"""() => {
            const text = document.createTreeWalker(
                document.querySelector("article"), NodeFilter.SHOW_TEXT);
            const found = [];
            while (text.nextNode()) {
                const node = text.currentNode;
                if (node.parentElement.closest("pre, code, script, style, mjx-container")) continue;
                if (/\$|\\[(\[]/.test(node.data)) found.push(node.data.trim());
            }
            return found;
        }"""
    )
    assert raw == [], "formulas shown as their source"


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("page", ALL)
def test_nothing_scrolls_sideways(visit, page, width):
    opened = visit(width).goto(page)
    assert opened.evaluate("() => { scrollTo(1000, 0); return scrollX }") == 0
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    # What sticks out of the window and lies in no box of its own that scrolls is cut off.
    cut = opened.evaluate(
        """() => {
            const scrolls = (e) => {
                for (; e && e.tagName !== "ARTICLE"; e = e.parentElement)
                    if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
                return false;
            };
            return [...document.querySelectorAll("article *")]
                .filter((e) => !e.closest("mjx-assistive-mml"))
                .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e))
                .map((e) => e.outerHTML.slice(0, 120));
        }"""
    )
    assert cut == []


@pytest.mark.parametrize("page", ALL)
def test_every_image_has_alternative_text(visit, page):
    images = visit().goto(page).locator("img").all()
    assert images, "not even the logo"
    # myst-nb gives a figure without a text of its own the name of its file.
    poor = [
        (image.get_attribute("src"), alt)
        for image in images
        if len(alt := (image.get_attribute("alt") or "").strip()) < 8
        or re.search(r"_images/|\.(png|svg|jpe?g)$", alt)
    ]
    assert poor == [], "images with no alternative text, or with a file's name for one"


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light")])
@pytest.mark.parametrize("page", ALL)
def test_axe_finds_no_serious_fault(visit, page, width, scheme):
    opened = visit(width, scheme).goto(page)
    assert opened.evaluate("document.documentElement.dataset.theme") == scheme
    # Closed solutions are read too: what a reader opens must be as legible as the rest.
    opened.evaluate("document.querySelectorAll('button.toggle-button').forEach(b => b.click())")
    opened.wait_for_timeout(400)  # the theme decides that late which boxes the Tab key reaches
    found = Axe().run(opened).response["violations"]
    serious = [
        f"{fault['id']}: {node['html'][:150]} {node['failureSummary']}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    assert not serious, "\n".join(serious)


@pytest.mark.parametrize("page", PAGES)
def test_first_tab_reaches_a_skip_link(visit, page):
    opened = visit().goto(f"{page}.html")
    opened.keyboard.press("Tab")
    assert "skip" in opened.evaluate("document.activeElement.textContent").lower()
    opened.keyboard.press("Enter")
    assert opened.evaluate("location.hash") == "#main-content"
    assert opened.locator("#main-content").count() == 1


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_solutions_open_by_keyboard(visit, page):
    opened = visit().goto(f"{page}.html")
    written = len(re.findall(r"\{solution-start\}", source(page).read_text(encoding="utf-8")))
    solutions = opened.locator("article div.solution.dropdown")
    assert solutions.count() == written
    for solution in solutions.all():
        body = solution.locator("section").first
        assert not body.is_visible()
        solution.locator("button.toggle-button").focus()
        opened.keyboard.press("Enter")
        body.wait_for(state="visible", timeout=2000)
