import fnmatch
import json
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

import attnbook
from attnbook.interactive import output
from attnbook.interactive.output import InteractiveFigure, column, html_table, text_table, typed

FOLDER = Path(output.__file__).parent
NAMES = ("calculator", "explorer")


class Read(HTMLParser):
    """Tags with their attributes, and the text between."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


NASTY = "</script><b>\"'&amp; $x$ <!-- 好"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_put_in_cannot_end_it(name):
    figure = InteractiveFigure(name, start={"words": [NASTY]}, still="<p>still</p>", text="t")
    read = Read(figure.data)
    assert [tag for tag, _ in read.tags] == ["div", "style", "div", "p", "script"]
    assert json.loads(read.tags[0][1]["data-start"]) == {"words": [NASTY]}
    assert read.tags[0][1]["data-figure"] == name


def test_text_in_a_table_is_text():
    read = Read(html_table(NASTY, [NASTY, "x"], [[NASTY, "<i>"]]))
    assert [tag for tag, _ in read.tags if tag in ("b", "i", "script")] == []
    assert [text for text in read.texts if text.strip()] == [NASTY, NASTY, "x", NASTY, "<i>"]


def test_a_terminal_shows_the_text():
    figure = InteractiveFigure("calculator", start={}, still="", text="one\ntwo")
    data, _ = DisplayFormatter().format(figure)
    assert data == {"text/html": figure.data, "text/plain": "one\ntwo"}


def test_what_is_no_json_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        InteractiveFigure("calculator", start={"x": float("nan")}, still="", text="")


@pytest.mark.parametrize("name", NAMES)
def test_scripts_and_styles_ask_for_nothing_and_hold_no_string_that_ends_them(name):
    for kind in ("js", "css"):
        for part in ("base", name):
            text = (FOLDER / f"{part}.{kind}").read_text(encoding="utf-8")
            for never in ("</", "http:", "https:", "@import", "url(", "eval(", "innerHTML", "<!--"):
                assert never not in text.replace("http://www.w3.org/2000/svg", ""), never
            for chance in ("Math.random", "Date", "randomUUID", "localStorage", "fetch("):
                assert chance not in text, chance


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_of_one_figure_leave_the_other_alone(name):
    text = (FOLDER / f"{name}.css").read_text(encoding="utf-8")
    selectors = [line for line in text.splitlines() if line.rstrip().endswith(("{", ","))]
    assert len(selectors) > 10
    for line in selectors:
        own = line.strip().startswith((f'.attnbook[data-figure="{name}"]', "@container"))
        assert own or line.startswith("    "), line


def test_the_package_takes_its_files_along():
    """setuptools leaves out what is not Python unless it is declared."""
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["tool"]["setuptools"]["package-data"]
    library = Path(attnbook.__file__).parent
    others = [
        path
        for path in library.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    ]
    assert {path.name for path in others} >= {"base.js", "calculator.js", "explorer.css"}
    for path in others:
        # Declared with the package that it lies in, or in a folder of.
        home = next(folder for folder in path.parents if (folder / "__init__.py").exists())
        package = ".".join(home.relative_to(library.parent).parts)
        inside = path.relative_to(home).as_posix()
        assert any(fnmatch.fnmatch(inside, p) for p in declared.get(package, ())), inside


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.10000000149, "0.1"), (-2.0, "−2"), (-0.0, "0"), (1.25, "1.25"), (10_000.0, "10000")],
)
def test_typed(x, text):
    assert typed(x) == text


def test_column_has_one_number_of_decimals():
    assert column([0.0, 2.0, -4.0]) == ["0", "2", "−4"]
    assert column([1.0, 2.71828, -0.00001]) == ["1.000", "2.718", "0.000"]


def test_text_table_has_columns_of_one_width():
    assert text_table(["a", "long"], [["word", "1"], ["x", "22222"]]).splitlines() == [
        "a      long",
        "word      1",
        "x     22222",
    ]


def test_a_number_without_room_is_a_power_of_ten():
    assert column([2.5, 99_999.0, -123_456.0, 1e70]) == [
        "2.500",
        "99999.000",
        f"{output.MINUS}1.23·10⁵",
        "1.00·10⁷⁰",
    ]
