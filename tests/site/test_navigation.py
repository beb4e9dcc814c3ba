"""The ways through the site: order, search, launch buttons, the landing page."""

from __future__ import annotations

import json
import re

import pytest

from toc import CONFIG, NOTEBOOKS, PAGES, source

REPOSITORY = CONFIG["repository"]["url"]
BRANCH = CONFIG["repository"]["branch"]


@pytest.mark.parametrize("page", PAGES)
def test_next_and_previous_follow_the_table_of_contents(visit, page):
    opened = visit().goto(f"{page}.html")
    place = PAGES.index(page)
    around = {"left-prev": PAGES[:place][-1:], "right-next": PAGES[place + 1 :][:1]}
    for name, expected in around.items():
        links = opened.locator(f".prev-next-footer a.{name}").all()
        reached = [link.evaluate("a => a.pathname") for link in links]
        assert reached == [f"/{target}.html" for target in expected]


def test_the_file_that_make_book_names_leads_to_the_landing_page(visit):
    visitor = visit()
    page = visitor.page
    page.goto(f"{visitor.site}/index.html", wait_until="commit")
    page.wait_for_url(f"**/{PAGES[0]}.html")


def test_search_finds_a_word(visit):
    visitor = visit()
    page = visitor.goto("book/intro.html")
    page.keyboard.press("Control+k")
    page.locator(
        "dialog[open] input[type=search], .search-button__search-container input"
    ).first.fill("queries")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=queries**")
    # The hits come one by one.
    page.locator('#search-results li a[href*="book/notation.html"]').first.wait_for(timeout=10_000)
    assert visitor.foreign == []
    assert visitor.errors == []


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_launch_buttons_open_this_repository(visit, page):
    opened = visit().goto(f"{page}.html")
    links = opened.locator(".dropdown-launch-buttons a").evaluate_all("all => all.map(a => a.href)")
    owner_and_name = REPOSITORY.removeprefix("https://github.com/")
    buttons = CONFIG["launch_buttons"]
    assert f"{buttons['colab_url']}/github/{owner_and_name}/blob/{BRANCH}/{page}.ipynb" in links
    binder = f"{buttons['binderhub_url']}/v2/gh/{owner_and_name}/{BRANCH}?urlpath=lab/tree/"
    assert f"{binder}{page}.ipynb" in links
    hub = [link for link in links if link.startswith(f"{buttons['jupyterhub_url']}/hub/")]
    assert len(hub) == 1
    assert f"{page}.ipynb" in hub[0]


@pytest.mark.parametrize("page", PAGES)
def test_repository_buttons_open_this_repository(visit, page):
    links = visit().goto(f"{page}.html").locator(".dropdown-source-buttons a")
    found = links.evaluate_all("all => all.map(a => a.href)")
    assert REPOSITORY in found
    assert any(link.startswith(f"{REPOSITORY}/issues/new") for link in found)
    assert any(re.fullmatch(rf"{REPOSITORY}/edit/{BRANCH}/{page}\.\w+", link) for link in found)


def test_landing_page_links_the_chapters_that_exist_and_no_others(visit):
    page = visit().goto("book/intro.html")
    rows = page.locator("#the-chapters table tbody tr, #chapters table tbody tr")
    assert rows.count() == 17
    linked = rows.locator("a").evaluate_all("all => all.map(a => a.pathname)")
    assert linked == [f"/{page}.html" for page in PAGES if re.match(r"book/\d\d_", page)]


def test_links_of_the_landing_page_work(visit, site):
    page = visit().goto("book/intro.html")
    links = set(page.locator("article a").evaluate_all("all => all.map(a => a.href)"))
    for link in links:
        if link.startswith(site):
            assert page.request.get(link).ok, link
            anchor = link.partition("#")[2]
            assert not anchor or page.locator(f"[id='{anchor}']").count() == 1, link
        else:
            assert link.startswith(REPOSITORY)


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_each_code_cell_can_be_copied(visit, page):
    opened = visit().goto(f"{page}.html")
    cells = opened.locator("div.cell_input div.highlight")
    assert cells.count() > 0
    assert opened.locator("div.cell_input div.highlight button.copybtn").count() == cells.count()


def test_the_copy_button_copies_the_code_as_it_stands_in_the_notebook(visit):
    [page] = [page for page in NOTEBOOKS if page.endswith("04_self_attention")]
    cells = json.loads(source(page).read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    place = next(i for i, text in enumerate(code) if "def attention_loop" in text)
    opened = visit().goto(f"{page}.html")
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = opened.locator("div.cell_input div.highlight").nth(place)
    cell.hover()
    cell.locator("button.copybtn").click()
    opened.wait_for_function("async () => (await navigator.clipboard.readText()).includes('def')")
    assert opened.evaluate("navigator.clipboard.readText()").rstrip() == code[place].rstrip()
    opened.context.clear_permissions()
