"""Take a picture of a page of the built site.

`make picture` takes the one in the README. To look at any page:
    .venv/bin/python tools/picture.py book/notation.html --width 390 --dark --full --out page.png
"""

import argparse
from io import BytesIO
from pathlib import Path

from PIL import Image

from browser import SITE, open_browser, serve
from toc import ROOT

README_PAGE = "book/04_self_attention.html#looking-at-attention"
README_PICTURE = ROOT / "book" / "_static" / "page.png"
LIMIT = 250_000  # bytes: the README's picture is part of every clone


def shoot(page_path: str, width: int, height: int, dark: bool, full: bool) -> Image.Image:
    with serve(SITE) as address, open_browser() as browser:
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page.goto(f"{address}/{page_path}", wait_until="networkidle")
        page.evaluate(
            "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"
        )
        return Image.open(BytesIO(page.screenshot(full_page=full, animations="disabled")))


def save(picture: Image.Image, out: Path, limit: int | None) -> None:
    """Few colours, as PNG; where there is a limit, as many as stay below it."""
    for colours in (256, 128, 64, 32):
        data = BytesIO()
        picture.convert("RGB").quantize(colours).save(data, "PNG", optimize=True)
        if limit is None or data.tell() <= limit:
            break
    else:
        raise SystemExit(f"The picture is {data.tell()} bytes, more than {limit}: make it smaller.")
    out.write_bytes(data.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="?", default=README_PAGE)
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=800)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--full", action="store_true", help="the whole page, not one screen of it")
    parser.add_argument("--out", type=Path, default=README_PICTURE)
    args = parser.parse_args()
    if not (SITE / args.page.partition("#")[0]).is_file():
        raise SystemExit(f"There is no {args.page} in the built site. Build it with: make book")
    picture = shoot(args.page, args.width, args.height, args.dark, args.full)
    save(picture, args.out, LIMIT if args.out == README_PICTURE else None)
    print(f"{args.page} -> {args.out} ({args.out.stat().st_size // 1000} kB)")


if __name__ == "__main__":
    main()
