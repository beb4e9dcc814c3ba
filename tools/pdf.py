"""Print the built site as one PDF, in the order of the book. Called by `make pdf`.

The pages of the site are joined to one page: its own styles and MathJax set it, and the browser of
the tests prints it, with an outline. The page numbers of the contents are read from a first
printing.
"""

import html
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from browser import SITE, open_browser, serve
from toc import CONFIG, PAGES, ROOT, TOC

OUT = ROOT / "build" / "download" / "attention-executed.pdf"
PATH = "book/whole.html"  # where the joined page would lie, so that addresses in it hold
NAMING = ("aria-labelledby", "aria-describedby", "for")  # attributes that hold ids
PRINTED = {"prefer_css_page_size": True, "outline": True, "tagged": True}
MINUTES = 15  # what a busy machine may take for one step
STYLE = """
  @page { size: A4; @bottom-center { content: counter(page); font: 9pt sans-serif; color: #444 } }
  @page :first { @bottom-center { content: none } }
  .page { break-before: page }
  .title-page { padding-top: 60mm; text-align: center }
  .title-page p { font-size: 1.3em }
  .title-page .title { font-size: 3.4em }
  .contents a { display: flex; color: inherit; text-decoration: none; line-height: 1.5 }
  .contents a::before { order: 1; flex: 1; content: ""; margin: 0 0.5em 0.5em;
                        border-bottom: 1px dotted #888 }
  .contents .number { order: 2 }
  .contents .part { margin: 0.7em 0 0; font-weight: bold }
"""


def name(page: str, anchor: str = "") -> str:
    """The id that a page, or a place in it, has in the joined page."""
    return f"{page.split('/')[-1]}--{anchor}" if anchor else page.split("/")[-1]


def target(page: str, href: str, pages: list[str]) -> str | None:
    """Where a link leads in the joined page; None: nowhere, as that page is not part of it."""
    if re.match(r"[a-z]+:", href):
        return href
    path, _, anchor = href.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    file = file.removesuffix(".html")
    return f"#{name(file, anchor)}" if file in pages else None


def article(page: str, text: str, pages: list[str]) -> Tag:
    """The text of a page of the site, its ids and links made fit for the joined page."""
    soup = BeautifulSoup(text, "lxml")
    found = soup.select_one("article.bd-article")
    found["class"], found["id"] = ["page"], name(page)
    for gone in found.select("script, a.headerlink, .toctree-wrapper"):
        gone.decompose()
    # Half of the marks in code have no colour: without them the PDF is a quarter smaller.
    for plain in found.select(".highlight :is(span.n, span.p, span.w, span:empty)"):
        plain.unwrap()
    seen = set()
    for element in found.find_all(True):
        if (anchor := element.get("id")) in seen:
            del element["id"]  # the first is the one that links reach
        elif anchor:
            seen.add(anchor)
            element["id"] = name(page, anchor)
        for attribute in NAMING:
            if attribute in element.attrs:
                ids = " ".join(element[attribute].split()).split(" ")
                element[attribute] = " ".join(name(page, part) for part in ids)
    for link in found.select("a[href]"):
        if link.select_one("img") and "image-reference" in link.get("class", []):
            link.unwrap()  # leads to the picture itself
        elif (href := target(page, link["href"], pages)) is None:
            link.unwrap()
        else:
            link["href"] = href
    return found


def contents(pages: list[str], titles: dict[str, str]) -> str:
    """The list of contents, with the parts as in _toc.yml and room for the page numbers."""
    captions = {part["chapters"][0]["file"]: part["caption"] for part in TOC["parts"]}
    lines = []
    for page in pages:
        if page in captions:
            lines.append(f'<p class="part">{html.escape(captions[page])}</p>')
        lines.append(
            f'<a href="#{name(page)}">{html.escape(titles[page])}<span class="number"></span></a>'
        )
    return "\n".join(lines)


def join(site: Path, pages: list[str]) -> str:
    """One page of HTML out of pages of the site."""
    texts = {page: (site / f"{page}.html").read_text(encoding="utf-8") for page in pages}
    articles = {page: article(page, text, pages) for page, text in texts.items()}
    titles = {page: " ".join(a.select_one("h1").get_text().split()) for page, a in articles.items()}
    # Sphinx leaves MathJax out of pages without formulas.
    fullest = next((text for text in texts.values() if "/mathjax/" in text), texts[pages[0]])
    head = BeautifulSoup(fullest, "lxml").head
    wanted = 'link[rel="stylesheet"], script[src*="/mathjax/"], script[src*="/book.js"]'
    parts = [str(tag) for tag in head.select("script") if "window.MathJax" in tag.text]
    parts += map(str, head.select(wanted))
    title, author = html.escape(CONFIG["title"]), html.escape(CONFIG["author"])
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light" data-content_root="../">
<head><meta charset="utf-8"><title>{title}</title>
{"".join(parts)}
<style>{STYLE}</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<section class="title-page"><p class="title">{title}</p><p>{author}</p><p>{CONFIG["copyright"]}</p>
</section>
<section class="page contents"><h1>Contents</h1>
{contents(pages, titles)}
</section>
{"".join(map(str, articles.values()))}
</div></div></main></body></html>"""


def page_numbers(pdf: bytes) -> dict[str, int]:
    """The number of the page on which each place lies that something in the PDF links to.

    Chromium writes this part of a PDF as plain text: the tree of pages, and the named places, each
    with its page.
    """
    text = pdf.decode("latin-1")
    objects = dict(re.findall(r"^(\d+) 0 obj\n(.*?)\nendobj", text, re.DOTALL | re.MULTILINE))
    catalog = next((body for body in objects.values() if "/Type /Catalog" in body), "")
    pages, places = (re.search(rf"/{key} (\d+) 0 R", catalog) for key in ("Pages", "Dests"))
    if not (pages and places):
        raise SystemExit("This Chromium writes PDFs in another way: tools/pdf.py cannot read it.")

    def leaves(number: str) -> Iterator[str]:
        kids = re.search(r"/Kids \[([^\]]*)\]", objects[number])
        if kids is None:
            yield number
        else:
            for kid in re.findall(r"(\d+) 0 R", kids[1]):
                yield from leaves(kid)

    order = {leaf: place for place, leaf in enumerate(leaves(pages[1]), start=1)}
    named = re.findall(r"/(\S+) \[(\d+) 0 R /XYZ", objects[places[1]])
    return {key: order[leaf] for key, leaf in named}


def make(site: Path, pages: list[str]) -> bytes:
    """The PDF of pages of the site."""
    text = join(site, pages)
    with serve(site) as address, open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(MINUTES * 60_000)
        page.route(f"**/{PATH}", lambda route: route.fulfill(body=text, content_type="text/html"))
        page.goto(f"{address}/{PATH}", wait_until="load")
        page.evaluate(
            "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"
        )
        if page.locator(".math:not(:has(mjx-container))").count():
            raise SystemExit("MathJax did not set the formulas. Build the site again: make book")
        numbers = page_numbers(page.pdf(**PRINTED))
        page.evaluate(
            """(numbers) => {
                for (const entry of document.querySelectorAll(".contents a"))
                    entry.querySelector(".number").textContent = numbers[entry.hash.slice(1)];
            }""",
            numbers,
        )
        return page.pdf(**PRINTED)


def main() -> None:
    if not (SITE / "index.html").is_file():
        raise SystemExit("There is no built site. Build it with: make book")
    pdf = make(SITE, PAGES)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_bytes(pdf)
    print(f"{OUT.relative_to(ROOT)} ({len(pdf) / 1e6:.0f} MB)")


if __name__ == "__main__":
    main()
