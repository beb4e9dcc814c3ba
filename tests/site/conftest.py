"""The built site, served on this machine, and a real browser to look at it with.

The site itself is checked, so it must be there: `make book` builds it, `make test` does both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from browser import SITE, chromium_path, open_browser, serve
from playwright.sync_api import Browser, Page, Route
from toc import PAGES, ROOT, source


def check_fresh() -> None:
    """A site that is older than its sources would be checked in vain."""
    built = SITE / "index.html"
    if not built.is_file():
        pytest.fail("There is no built site. Build it with: make book", pytrace=False)
    sources = [ROOT / "_config.yml", ROOT / "_toc.yml", *map(source, PAGES)]
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


@pytest.fixture
def visit(site: str, browser: Browser):
    """Make a visitor of a width and a colour scheme. Whatever leaves the machine is blocked."""
    contexts = []

    def make(width: int = 1400, scheme: str = "light") -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        visit = Visit(context.new_page(), site)

        def guard(route: Route) -> None:
            url = route.request.url
            if url.startswith((site + "/", "data:", "blob:")):
                route.continue_()
            else:
                visit.foreign.append(url)
                route.abort()

        context.route("**/*", guard)
        page = visit.page
        page.on("console", lambda m: visit.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on(
            "response",
            lambda r: visit.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None,
        )
        return visit

    yield make
    for context in contexts:
        context.close()
