"""The book as one PDF, and the site as a zip."""

from __future__ import annotations

import os
import re
import zipfile
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import pytest
from bs4 import BeautifulSoup

import offline_zip
import pdf
from browser import SITE
from toc import PAGES, TOC

# The joined page


@pytest.fixture(scope="module")
def whole(site) -> BeautifulSoup:
    return BeautifulSoup(pdf.join(SITE, PAGES), "lxml")


def test_all_pages_are_joined_in_the_order_of_the_book(whole):
    assert [a["id"] for a in whole.select("article")] == [pdf.name(page) for page in PAGES]
    entries = whole.select(".contents a")
    assert [a["href"] for a in entries] == [f"#{pdf.name(page)}" for page in PAGES]
    parts = [p.get_text() for p in whole.select(".contents .part")]
    assert parts == [part["caption"] for part in TOC["parts"]]
    assert whole.select_one('.contents a[href="#library"]').get_text() == "The library"


def test_every_link_inside_the_book_leads_to_one_place_of_it(whole):
    ids = [element["id"] for element in whole.select("[id]")]
    assert len(set(ids)) == len(ids)
    links = [a["href"] for a in whole.select("a[href]")]
    inside = [href for href in links if not re.match(r"(https|mailto):", href)]
    assert len(inside) > 500
    assert [href for href in inside if href.removeprefix("#") not in ids] == []
    named = [
        part for key in pdf.NAMING for e in whole.select(f"[{key}]") for part in e[key].split()
    ]
    assert [part for part in named if part not in ids] == []


def test_every_picture_is_there(whole):
    sources = [i["src"] for i in whole.select("img") if not i["src"].startswith("data:")]
    assert len(sources) > 50
    assert [s for s in sources if not (SITE / "book" / s).resolve().is_file()] == []


def test_links_of_a_page():
    pages = ["book/one", "book/two"]
    assert pdf.target("book/one", "#here", pages) == "#one--here"
    assert pdf.target("book/one", "two.html", pages) == "#two"
    assert pdf.target("book/one", "two.html#there", pages) == "#two--there"
    assert pdf.target("book/one", "../genindex.html", pages) is None
    assert pdf.target("book/one", "https://example.org/#x", pages) == "https://example.org/#x"


# The PDF, of three short pages: the whole takes minutes


@pytest.fixture(scope="module")
def short(site):
    """The pages, the PDF, and the page numbers that its contents show."""
    shown = []

    def page_numbers(printed: bytes) -> dict[str, int]:
        shown.append(read(printed))
        return shown[0]

    pages, read = ["book/one_hour", "book/notation", "book/teach"], pdf.page_numbers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pdf, "page_numbers", page_numbers)
        printed = pdf.make(SITE, pages)
    return pages, printed, shown[0]


def test_the_contents_name_the_page_on_which_a_chapter_begins(short):
    pages, printed, shown = short
    numbers = pdf.page_numbers(printed)
    assert shown == numbers
    starts = [numbers[pdf.name(page)] for page in pages]
    assert starts[0] == 3  # behind the title and the contents
    assert starts == sorted(set(starts))
    count = max(int(n) for n in re.findall(rb"/Type /Pages\s*/Count (\d+)", printed))
    assert starts[-1] <= count <= 30


def test_the_outline_has_each_page_and_the_file_is_tagged(short):
    _, printed, _ = short
    titles = {
        bytes.fromhex(found.decode()).decode("utf-16")
        for found in re.findall(rb"/Title <([0-9A-Fa-f]+)>", printed)
    } | {found.decode() for found in re.findall(rb"/Title \(([^)]*)\)", printed)}
    assert {"Contents", "In an hour", "Notation", "Teach"} <= titles
    assert b"/MarkInfo" in printed
    assert b"/Lang (en)" in printed


def test_no_formula_is_printed_as_its_source(site, monkeypatch):
    joined = pdf.join(SITE, ["book/notation"])
    monkeypatch.setattr(pdf, "join", lambda *_: joined.replace("/mathjax/", "/nowhere/"))
    with pytest.raises(SystemExit, match="MathJax"):
        pdf.make(SITE, ["book/notation"])


# The zip


@pytest.fixture(scope="module")
def unpacked(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("zip")
    offline_zip.pack(SITE, folder / "site.zip")
    with zipfile.ZipFile(folder / "site.zip") as archive:
        archive.extractall(folder)
    return folder / offline_zip.FOLDER


@pytest.fixture
def page(browser):
    """A page that notes what it asks for and what goes wrong."""
    page = browser.new_page()
    page.asked, page.wrong = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("requestfailed", lambda request: page.wrong.append(request.url))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda m: page.wrong.append(m.text) if m.type == "error" else None)
    yield page
    page.close()


def test_index_opens_the_landing_page_and_its_links_lead_to_files(page, unpacked):
    page.goto((unpacked / "index.html").as_uri(), wait_until="commit")
    page.wait_for_url("**/book/intro.html")
    page.wait_for_load_state("networkidle")
    links = page.locator(".bd-main a, .bd-sidebar-primary a").evaluate_all(
        "all => all.map(a => a.href)"
    )
    inside = {link for link in links if link.startswith("file:")}
    assert len(inside) > 25
    for link in inside:
        parts = urlsplit(link)
        file = url2pathname(parts.path)
        assert os.path.isfile(file), link
        if parts.fragment:
            with open(file, encoding="utf-8") as text:
                assert f'id="{unquote(parts.fragment)}"' in text.read(), link
    assert page.wrong == []
    assert [url for url in page.asked if not url.startswith(unpacked.as_uri())] == []


def test_a_chapter_has_its_formulas_and_figures_from_files_alone(page, unpacked):
    page.goto((unpacked / "book/04_self_attention.html").as_uri())
    page.evaluate("async () => { await MathJax.startup.promise; await document.fonts.ready }")
    assert page.locator("article mjx-container").count() > 5
    fonts = page.evaluate("[...document.fonts].map(f => [f.family, f.status])")
    assert "loaded" in [state for family, state in fonts if family.startswith("MJX")]
    assert page.locator("article img").evaluate_all("all => all.every(i => i.naturalWidth > 0)")
    page.locator(".attnbook .live").wait_for()
    assert page.wrong == []
    own = (unpacked.as_uri(), "data:", "blob:")
    assert [url for url in page.asked if not url.startswith(own)] == []


def test_search_finds_pages_from_files(page, unpacked):
    page.goto((unpacked / "search.html").as_uri() + "?q=perplexity")
    page.locator("#search-results li a").first.wait_for(timeout=10_000)
    assert page.locator("#search-results li a[href*='glossary.html']").count() >= 1


def test_the_zip_says_how_it_is_opened_and_what_does_not_work(unpacked):
    text = (unpacked / offline_zip.NOTE).read_text(encoding="utf-8")
    for word in ("index.html", "models", "Search", "http.server"):
        assert word in text
    assert not list(unpacked.rglob("objects.inv"))


def test_the_same_site_gives_the_same_bytes(tmp_path):
    for name, files in (("a", ["x.html", "b/y.css"]), ("b", ["b/y.css", "x.html"])):
        for file in files:
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"text of {file}", encoding="utf-8")
            os.utime(path, (10**9, 10**9 if name == "a" else 2 * 10**9))
            path.chmod(0o600 if name == "a" else 0o644)
        offline_zip.pack(tmp_path / name, tmp_path / f"{name}.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
