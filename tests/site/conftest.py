"""The built site, served on this machine, and a real browser to look at it with.

The site itself is checked, so it must be there: `make book` builds it, `make test` does both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page

from browser import SITE, chromium_path, open_browser, serve
from toc import PAGES, ROOT, source


def check_fresh() -> None:
    """A site that is older than its sources would be checked in vain."""
    built = SITE / "index.html"
    if not built.is_file():
        pytest.fail("There is no built site. Build it with: make book", pytrace=False)
    sources = [ROOT / "_config.yml", ROOT / "_toc.yml", *map(source, PAGES)]
    sources += (ROOT / "lib").rglob("*.py")  # their docstrings are a page
    sources += [ROOT / "book/references.bib", *(ROOT / "book/_static").glob("*.*s*")]
    newer = [p.relative_to(ROOT) for p in sources if p.stat().st_mtime > built.stat().st_mtime]
    if newer:
        pytest.fail(
            f"The built site is older than {', '.join(map(str, newer))}. Build it with: make book",
            pytrace=False,
        )


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    check_fresh()
    with serve(SITE) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        chromium_path()
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
    with open_browser() as browser:
        yield browser


@dataclass
class Visit:
    """A page that was opened, and what it did while it loaded."""

    page: Page
    site: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # requests to anywhere but the site
    failed: list[str] = field(default_factory=list)

    def goto(self, path: str) -> Page:
        self.page.goto(f"{self.site}/{path}", wait_until="load")
        # Formulas and their fonts come after the page.
        self.page.evaluate(
            "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"
        )
        return self.page


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> dict:
    """One a width and colour scheme: pages that share one share its cache, which saves minutes."""
    return {}


@pytest.fixture
def visit(site: str, browser: Browser, contexts: dict):
    """Make a visitor of a width and a colour scheme. Nothing leaves the machine: tools/browser."""
    pages = []

    def make(width: int = 1400, scheme: str = "light") -> Visit:
        if (width, scheme) not in contexts:
            contexts[width, scheme] = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
        page = contexts[width, scheme].new_page()
        pages.append(page)
        visit = Visit(page, site)
        own = (f"{site}/", "data:", "blob:")

        def note_request(request) -> None:
            if not request.url.startswith(own):
                visit.foreign.append(request.url)

        def note_response(response) -> None:
            if response.status >= 400:
                visit.failed.append(f"{response.status} {response.url}")

        def note_console(message) -> None:
            if message.type == "error":
                visit.errors.append(message.text)

        page.on("request", note_request)
        page.on("response", note_response)
        page.on("console", note_console)
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        return visit

    yield make
    for page in pages:
        page.close()
