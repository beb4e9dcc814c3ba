"""The interactive figures, as readers use them: typing, clicking, by keys alone, on a phone.

The calculator is that of chapter 4. The explorer stands on a page of its own, with a second one and
a calculator beside it, since several figures must get along. What is shown is compared with what
the library computes, to the digits that are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from attnbook.attention import attention
from attnbook.interactive.calculator import attention_calculator
from attnbook.interactive.explorer import positions_explorer
from attnbook.positions import RotaryPositions, sinusoidal
from browser import serve

CHAPTER = "book/04_self_attention.html"
QUERY = [1.0, 0, 1, 0]
KEYS = [[0.0, 1, 0, 1], [1, 0, 1, 0], [2, 0, 2, 0]]
VALUES = [[1.0, 0], [0, 1], [1, 1]]
SHOWN = 5.01e-4  # half of the last digit


def numbers(text: str) -> list[float]:
    text = text.replace("−", "-").replace("\u2007", "")
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", text)]


def close(shown: list[float], wanted: torch.Tensor | list[float]) -> None:
    given = torch.tensor(shown, dtype=torch.float64)
    torch.testing.assert_close(
        given, torch.as_tensor(wanted, dtype=torch.float64).flatten(), atol=SHOWN, rtol=0
    )


class Calculator:
    """What a reader of the calculator sees and does."""

    def __init__(self, root: Locator) -> None:
        self.root = root.locator(".live")
        self.root.wait_for()

    def box(self, label: str) -> Locator:
        return self.root.get_by_label(label, exact=True)

    def step(self, i: int) -> list[list[str]]:
        rows = self.root.locator(".steps table").nth(i - 1).locator("tbody tr, tfoot tr")
        return [row.locator("th, td").all_text_contents() for row in rows.all()]

    @property
    def says(self) -> str:
        return self.root.get_by_role("status").text_content()

    def must_show(self, query, keys, values, sees=None, scaled=True) -> None:
        """Every step, against the library."""
        query, keys, values = (torch.tensor(x, dtype=torch.float64) for x in (query, keys, values))
        mask = torch.tensor(sees or [True] * len(keys))
        # attention() divides by sqrt(d): taken back where the figure does not divide.
        root = len(query) ** 0.5
        asked = query if scaled else query * root
        output, weights = attention(asked[None], keys, values, mask[None])
        products = keys @ query
        scores = (products / (root if scaled else 1)).masked_fill(~mask, -torch.inf)
        close([numbers(row[-1])[0] for row in self.step(1)], products)
        for row, score in zip(self.step(2), scores.tolist(), strict=True):
            if score == -torch.inf:
                assert row[-1] == "−∞"
            else:
                close(numbers(row[-1]), [score])
        *rows, foot = self.step(3)
        close([numbers(row[1].partition("=")[2])[0] for row in rows], scores.exp())
        close([numbers(row[2])[0] for row in rows], weights)
        close(numbers(foot[1]), [scores.exp().sum()])
        assert numbers(foot[2]) == [1 if mask.any() else 0]
        *rows, foot = self.step(4)
        close([x for row in rows for x in numbers(row[-1])], weights[0][:, None] * values)
        close(numbers(foot[-1]), output)
        close(numbers(re.search(r"output is (\(.*\))", self.says)[1]), output)


@pytest.fixture
def calculator(visit):
    def open_at(width: int = 1400, scheme: str = "light") -> Calculator:
        page = visit(width, scheme).goto(CHAPTER)
        return Calculator(page.locator('.attnbook[data-figure="calculator"]'))

    return open_at


def test_the_calculator_starts_as_the_table_of_the_chapter(calculator):
    figure = calculator()
    figure.must_show(QUERY, KEYS, VALUES)
    assert [row[0] for row in figure.step(1)] == ["word 1", "word 2", "word 3"]
    # To the letter, as the text has it.
    assert [row[-1] for row in figure.step(1)] == ["0", "2", "4"]
    assert [row[-1] for row in figure.step(2)] == ["0", "1", "2"]
    assert [row[1] for row in figure.step(3)] == [
        *("e0 = 1.000", "e1 = 2.718", "e2 = 7.389", "11.107")
    ]
    assert [row[2] for row in figure.step(3)] == ["0.090", "0.245", "0.665", "1"]
    assert figure.step(4)[-1][-1] == "(0.755, 0.910)"
    assert figure.says == "word 3 gets the largest weight, 0.665. The output is (0.755, 0.910)."
    assert not figure.root.locator("xpath=..").locator(".still").is_visible()


def test_numbers_and_words_are_typed(calculator):
    figure = calculator()
    figure.box("query, number 2").fill("-1.5")
    figure.box("key of word 3, number 4").fill("0.25")
    figure.box("value of word 1, number 1").fill("-3")
    query, keys, values = (
        [1, -1.5, 1, 0],
        [KEYS[0], KEYS[1], [2, 0, 2, 0.25]],
        [[-3, 0], *VALUES[1:]],
    )
    figure.must_show(query, keys, values)
    assert figure.step(1)[0][1] == "1·0 + −1.5·1 + 1·0 + 0·1 ="
    figure.box("word 3, its text").fill("<b>好</b>")
    assert figure.step(1)[2][0] == "<b>好</b>"
    assert figure.says.startswith("<b>好</b> gets the largest weight")
    assert figure.root.locator(".steps tbody b").count() == 0


def test_the_question_of_the_chapter_has_an_answer(calculator):
    figure = calculator()
    figure.box("query, number 3").fill("-1")
    figure.must_show([1, 0, -1, 0], KEYS, VALUES)
    assert figure.says.startswith("word 1, word 2 and word 3 get the largest weight, 0.333 each.")


def test_division_and_masks(calculator):
    figure = calculator()
    divide = figure.root.get_by_label("divide by √d = √4 = 2")
    divide.uncheck()
    figure.must_show(QUERY, KEYS, VALUES, scaled=False)
    figure.root.get_by_label("looked at: word 3").uncheck()
    figure.must_show(QUERY, KEYS, VALUES, [True, True, False], scaled=False)
    divide.check()
    figure.must_show(QUERY, KEYS, VALUES, [True, True, False])
    assert figure.step(2)[2][1] == "masked:"
    for i in (1, 2):
        figure.root.get_by_label(f"looked at: word {i}").uncheck()
    figure.must_show(QUERY, KEYS, VALUES, [False] * 3)
    assert figure.says.startswith("No word may be looked at")


def test_large_numbers_stay_readable(calculator):
    figure = calculator()
    for i in (1, 3):
        figure.box(f"query, number {i}").fill("9")
        figure.box(f"key of word 3, number {i}").fill("9")
    # 162 / 2 = 81, and e^81 = 1.5061 · 10^35
    assert figure.step(3)[2][1:3] == ["e81 = 1.51·10³⁵", "1.000"]
    assert figure.step(4)[-1][-1] == "(1.000, 1.000)"


@pytest.mark.parametrize("bad", ["", "9.5", "-1000"])
def test_what_is_no_number_in_range_does_not_count(calculator, bad):
    figure = calculator()
    box = figure.box("key of word 2, number 1")
    box.fill(bad)
    assert box.get_attribute("aria-invalid") == "true"
    assert figure.says.startswith(
        "key of word 2, number 1 must be a number from −9 to 9; it still counts as 1. word 3"
    )
    figure.must_show(QUERY, KEYS, VALUES)
    box.blur()
    assert box.input_value() == "1"
    assert box.get_attribute("aria-invalid") is None
    assert figure.says.startswith("word 3 gets")


def test_reset_brings_everything_back(calculator):
    figure = calculator()
    before = figure.root.inner_text()
    figure.box("query, number 1").fill("5")
    figure.box("word 1, its text").fill("other")
    figure.box("value of word 2, number 1").fill("77")
    figure.root.get_by_label("looked at: word 2").uncheck()
    figure.root.get_by_label("divide by").uncheck()
    assert figure.root.inner_text() != before
    figure.root.get_by_role("button", name="Reset").click()
    assert figure.root.inner_text() == before
    assert figure.box("query, number 1").input_value() == "1"
    assert figure.box("word 1, its text").input_value() == "word 1"
    assert figure.root.get_by_label("looked at: word 2").is_checked()
    figure.must_show(QUERY, KEYS, VALUES)


def test_the_calculator_by_keys_alone(calculator):
    figure = calculator()
    keys = figure.root.page.keyboard
    figure.root.get_by_role("button", name="Reset").focus()
    keys.press("Tab")
    keys.press("ArrowUp")  # query, number 1: from 1 to 2
    for _ in range(4):
        keys.press("Tab")
    keys.press("Space")  # no division
    keys.press("Tab")
    keys.press("Space")  # word 1 masked
    keys.press("Tab")
    keys.press("Control+a")
    keys.type("rain")
    keys.press("Tab")
    keys.type("3")  # key of word 1, number 1: what is there is selected
    figure.must_show([2, 0, 1, 0], [[3, 1, 0, 1], *KEYS[1:]], VALUES, [False, True, True], False)
    assert figure.step(1)[0][0] == "rain"
    for _ in range(5):
        keys.press("Shift+Tab")
    assert figure.root.page.evaluate("document.activeElement.ariaLabel") == "query, number 3"


# --- the explorer


@pytest.fixture(scope="module")
def page_of_figures(tmp_path_factory) -> Iterator[str]:
    """A page with two explorers, one of each kind, and a calculator."""
    folder: Path = tmp_path_factory.mktemp("figures")
    tensors = (torch.tensor(x) for x in (QUERY, KEYS, VALUES))
    figures = [
        positions_explorer(),
        positions_explorer(6, 50.0, kind="rotary", query=3, key=5, length=20),
        attention_calculator(*tensors, words=["a", "b", "c"]),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    body = "\n".join(figure.data for figure in figures)
    (folder / "index.html").write_text(
        f'<!doctype html><html lang="en"><head>{head}<title>Figures</title></head>'
        f"<body><main><h1>Figures</h1>{body}</main></body></html>",
        encoding="utf-8",
    )
    with serve(folder) as address:
        yield address


@pytest.fixture
def figures(browser: Browser, page_of_figures: str):
    pages = []

    def open_at(width: int = 1000, scheme: str = "light", scripts: bool = True) -> Page:
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        pages.append(page)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_of_figures)
        assert errors == []
        return page

    yield open_at
    for page in pages:
        page.close()


class Explorer:
    def __init__(self, page: Page, i: int = 0) -> None:
        self.root = page.locator('.attnbook[data-figure="explorer"]').nth(i).locator(".live")
        self.root.wait_for()

    def slider(self, name: str) -> Locator:
        return self.root.get_by_role("slider", name=name)

    def set(self, name: str, place: int) -> None:
        self.slider(name).fill(str(place))

    def places(self) -> tuple[int, int, int]:
        names = ("query at place", "key at place", "distance")
        return tuple(int(self.slider(name).input_value()) for name in names)

    @property
    def says(self) -> str:
        return self.root.get_by_role("status").text_content()

    def must_show(self, kind: str, d: int, base: float, query: int, key: int, other=False) -> None:
        """The vectors and the dot product, against the library."""
        if kind == "sinusoidal":
            table = sinusoidal(1 + max(query, key), d, base)
            q, k = table[query], table[key]
        else:
            rotate = RotaryPositions(d, base)
            i = torch.arange(d // 2, dtype=torch.float64)
            first = torch.stack((torch.ones_like(i), torch.zeros_like(i)), dim=-1).flatten()
            second = torch.stack((i.cos(), i.sin()), dim=-1).flatten() if other else first
            q, k = (
                rotate(x[None, None, None], torch.tensor([place]))[0, 0, 0]
                for x, place in ((first, query), (second, key))
            )
        assert self.places() == (query, key, query - key)
        said = numbers(self.says)
        assert said[:3] == [query, key, query - key]
        close(said[3:4], [(q * k).sum()])
        if abs(query - key) == int(self.slider("query").get_attribute("max")):
            assert self.says.endswith("No other two places are so far apart.")
        else:
            assert said[4] - said[5] == query - key  # two other places at this distance
            assert said[4] != query
            close(said[6:7], said[3:4])
        rows = self.root.locator("details tbody tr").all()
        texts = [row.locator("td").all_text_contents() for row in rows]
        assert len(texts) == d // 2
        close([x for row in texts for x in numbers(row[1])], q)
        close([x for row in texts for x in numbers(row[2])], k)
        close([x for row in texts for x in numbers(row[3])], (q * k).unflatten(0, (-1, 2)).sum(-1))

    def curve(self) -> list[float]:
        """Heights of the curve in pixels, from the smallest distance to the largest."""
        path = self.root.locator("path.curve").get_attribute("d")
        return [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]


def test_two_explorers_start_as_they_were_asked_to(figures):
    page = figures()
    Explorer(page, 0).must_show("sinusoidal", 16, 10_000.0, 12, 9)
    Explorer(page, 1).must_show("rotary", 6, 50.0, 3, 5)


def test_figures_on_one_page_do_not_clash(figures):
    page = figures()
    first, second = Explorer(page, 0), Explorer(page, 1)
    first.root.get_by_label("rotary", exact=True).check()
    first.root.get_by_label("width d").select_option("8")
    first.set("query at place", 40)
    first.must_show("rotary", 8, 10_000.0, 40, 9)
    second.must_show("rotary", 6, 50.0, 3, 5)
    second.root.get_by_label("sinusoidal", exact=True).check()
    assert first.root.get_by_label("rotary", exact=True).is_checked()
    second.must_show("sinusoidal", 6, 50.0, 3, 5)
    Calculator(page.locator('[data-figure="calculator"]')).must_show(QUERY, KEYS, VALUES)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
@pytest.mark.parametrize(("d", "base"), [(2, 10), (8, 1_000_000), (64, 100)])
def test_width_base_and_places_are_chosen(figures, kind, d, base):
    figure = Explorer(figures())
    figure.root.get_by_label(kind, exact=True).check()
    figure.root.get_by_label("width d").select_option(str(d))
    figure.root.get_by_label("base").select_option(str(base))
    for query, key in ((63, 0), (5, 47)):
        figure.set("query at place", query)
        figure.set("key at place", key)
        figure.must_show(kind, d, float(base), query, key)
    dials = figure.root.locator(".dials li")
    assert dials.count() == min(8, d // 2)
    names = dials.locator("b").all_text_contents()
    assert names[0] == "pair 0"
    assert names[-1] == f"pair {d // 2 - 1}"
    assert figure.root.locator(".strip").first.locator("rect").count() == d


def test_the_same_distance_elsewhere_has_the_same_dot_product(figures):
    figure = Explorer(figures())
    product = numbers(figure.says)[3]
    curve = figure.curve()
    up = figure.root.get_by_role("button", name="one place up")
    for step in range(1, 5):
        up.click()
        figure.must_show("sinusoidal", 16, 10_000.0, 12 + step, 9 + step)
        assert numbers(figure.says)[3] == product
    assert figure.curve() == curve
    down = figure.root.get_by_role("button", name="one place down")
    for _ in range(20):
        down.click()
    figure.must_show("sinusoidal", 16, 10_000.0, 3, 0)  # the places end at 0
    figure.set("query at place", 4)
    assert numbers(figure.says)[3] != product


def test_the_distance_moves_the_query_and_keeps_within_the_places(figures):
    figure = Explorer(figures())
    figure.set("distance", 20)
    figure.must_show("sinusoidal", 16, 10_000.0, 29, 9)
    figure.set("distance", -30)
    figure.must_show("sinusoidal", 16, 10_000.0, 0, 30)
    figure.set("distance", 63)
    assert figure.places() == (63, 0, 63)


def test_the_curve_is_the_dot_product_and_leans_where_the_vectors_differ(figures):
    figure = Explorer(figures(), 1)  # 6 numbers, base 50, 20 places
    rotate = RotaryPositions(6, 50.0)

    def wanted(second):
        q = rotate(torch.tensor([1.0, 0] * 3).repeat(1, 1, 20, 1))[0, 0]
        k = rotate(second.repeat(1, 1, 20, 1))[0, 0]
        return torch.cat(((k @ q[0]).flip(0)[:-1], q @ k[0]))  # distances -19 … 19

    def heights_are(products):
        # Pixels are a linear map: find it from two points, larger products higher up.
        y = torch.tensor(figure.curve())
        low, high = products.argmin(), products.argmax()
        slope = (y[high] - y[low]) / (products[high] - products[low])
        assert slope < 0
        torch.testing.assert_close(y, y[low] + slope * (products - products[low]), atol=0.3, rtol=0)

    same = wanted(torch.tensor([1.0, 0] * 3))
    heights_are(same)
    assert torch.allclose(same, same.flip(0), atol=1e-5)
    figure.root.get_by_label("key is another vector than query").check()
    figure.must_show("rotary", 6, 50.0, 3, 5, other=True)
    i = torch.arange(3.0)
    leaning = wanted(torch.stack((i.cos(), i.sin()), dim=-1).flatten())
    heights_are(leaning)
    assert not torch.allclose(leaning, leaning.flip(0), atol=0.1)


def test_the_mark_stands_on_the_curve(figures):
    figure = Explorer(figures())
    figure.set("query at place", 30)
    spot = figure.root.locator("circle.spot")
    y = figure.curve()[63 + 30 - 9]
    assert float(spot.get_attribute("cy")) == pytest.approx(y, abs=0.06)


def test_the_explorer_by_keys_alone(figures):
    page = figures()
    figure = Explorer(page)
    keys = page.keyboard
    figure.root.get_by_role("button", name="Reset").focus()
    keys.press("Tab")
    keys.press("ArrowRight")  # rotary
    keys.press("Tab")
    keys.press("ArrowDown")  # width 32
    keys.press("Tab")
    keys.press("ArrowUp")  # base 1000
    keys.press("Tab")
    keys.press("Space")  # another key
    keys.press("Tab")
    keys.press("ArrowRight")  # query at 13
    keys.press("Tab")
    keys.press("Home")  # key at 0
    keys.press("Tab")
    keys.press("ArrowLeft")  # distance 12
    for _ in range(2):
        keys.press("Tab")
    keys.press("Enter")  # both one up
    figure.must_show("rotary", 32, 1000.0, 13, 1, other=True)
    keys.press("Tab")
    keys.press("Enter")  # all numbers
    assert figure.root.get_by_role("region", name="All numbers").is_visible()


def test_reset_of_the_explorer(figures):
    figure = Explorer(figures(), 1)
    before = figure.root.inner_text()
    figure.root.get_by_label("key is another").check()
    figure.root.get_by_label("sinusoidal", exact=True).check()
    figure.root.get_by_label("base").select_option("10")
    figure.set("distance", 9)
    figure.root.get_by_role("button", name="Reset").click()
    figure.must_show("rotary", 6, 50.0, 3, 5)
    assert figure.root.inner_text() == before


# --- both: widths, colours, no scripts


@pytest.mark.parametrize("width", [390, 700, 1000])
def test_nothing_is_cut_off(figures, width):
    page = figures(width)
    page.locator("details summary").first.click()
    for name in ("key of word 1, number 1", "value of word 3, number 2"):
        page.get_by_label(name, exact=True).fill("-8.75")  # numbers that need room
    page.get_by_label("word 1, its text").fill("一" * 16)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """() => [...document.querySelectorAll(".attnbook .live *")].filter((e) => {
            if (e.closest(".scrolls, .unseen, option")) return false;
            const card = e.closest(".attnbook").getBoundingClientRect();
            const box = e.getBoundingClientRect();
            return box.width && (box.right > card.right + 1 || box.left < card.left - 1);
        }).map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert outside == []
    squeezed = page.evaluate(
        """() => [...document.querySelectorAll(".attnbook .live :is(input, td, th, button)")]
            .filter((e) => e.type !== "text" && e.clientWidth && e.scrollWidth > e.clientWidth + 1)
            .map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert squeezed == []


def test_the_curve_follows_the_width(figures):
    page = figures(1000)
    text = Explorer(page).root.locator("svg text.tick").first
    size = text.bounding_box()["height"]
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.querySelector('path.curve').ownerSVGElement.clientWidth < 390")
    page.wait_for_timeout(100)
    assert text.bounding_box()["height"] == pytest.approx(size, abs=1)


@pytest.mark.parametrize("width", [390, 1000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_in_the_figures(figures, width, scheme):
    page = figures(width, scheme)
    Explorer(page, 1).root.locator("summary").click()
    page.get_by_label("looked at: word 1").uncheck()
    page.get_by_label("query, number 1").fill("")
    found = Axe().run(page).response["violations"]
    assert [(f["id"], [n["html"][:120] for n in f["nodes"]]) for f in found] == []


# Where each page keeps its theme, and what a dark and a light one look like.
THEMES = {
    "site": ("html", "data-theme", "light", "dark"),
    "JupyterLab": ("body", "data-jp-theme-light", "true", "false"),
    "Colab": ("html", "theme", "light", "dark"),
    "VS Code": ("body", "class", "vscode-light", "vscode-dark"),
}


def is_dark(page: Page) -> bool:
    figure = page.locator(".attnbook").first
    paper, ink = (
        sum(numbers(figure.evaluate(f"e => getComputedStyle(e).{what}"))[:3])
        for what in ("backgroundColor", "color")
    )
    assert abs(paper - ink) > 400
    return paper < ink


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", THEMES)
def test_the_colours_are_those_of_the_page(figures, where, scheme):
    page = figures(scheme=scheme)
    assert is_dark(page) == (scheme == "dark")  # where the page says nothing, the system decides
    element, attribute, light, dark = THEMES[where]
    for value in (light, dark):
        page.locator(element).evaluate(
            f"e => e.setAttribute({attribute!r}, {value!r})",
        )
        assert is_dark(page) == (value == dark)


def test_no_grey_card_around_a_figure_in_the_dark_site(calculator):
    figure = calculator(1400, "dark")
    around = figure.root.locator("xpath=ancestor::div[contains(@class, 'text_html')]")
    assert around.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"
    assert around.evaluate("e => getComputedStyle(e).paddingLeft") == "0px"


def test_without_scripts_a_still_picture_stands_there(figures):
    page = figures(390, scripts=False)
    assert page.locator(".attnbook .live").count() == 0
    calculator = page.locator('[data-figure="calculator"] .still')
    rows = calculator.locator("tbody tr").all()
    assert [row.locator("td").last.text_content() for row in rows] == ["0.090", "0.245", "0.665"]
    assert "The output is (0.755, 0.910)" in calculator.inner_text()
    for still in page.locator(".attnbook .still").all():
        assert still.is_visible()
    picture = page.locator('[data-figure="explorer"] img').first
    box = picture.bounding_box()
    assert box["width"] > 300
    assert box["x"] + box["width"] <= 390
    assert len(picture.get_attribute("alt")) >= 40
    # Drawn, not broken: a browser gives a broken image no height of its own.
    assert box["height"] == pytest.approx(box["width"] * 250 / 560, rel=0.02)


def test_without_scripts_chapter_4_shows_its_table(browser, site):
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{site}/{CHAPTER}")
    still = page.locator(".attnbook .still")
    assert still.is_visible()
    assert "The output is (0.755, 0.910)" in still.inner_text()
    page.close()
