"""Pack the built site into a zip, to be read without a network. Called by `make zip`.

The same site gives the same bytes: fixed dates, sorted names.
"""

import zipfile
from pathlib import Path

from browser import SITE
from toc import ROOT

OUT = ROOT / "build" / "download" / "attention-executed.zip"
FOLDER = "attention-executed"  # what the zip unpacks to
NOTE = "READ ME.txt"
TEXT = """\
Attention, Executed: the whole site, to be read without a network.

Open index.html with a double click.

A browser lets files load less than a web server may. What does not work from a folder:
- The trained models ("Try the models"). A still picture stands in their place.
- Search finds the pages, but shows no lines out of them.
- The buttons that open Colab, Binder or a hub: these need the network.

All of the site works from a web server. If Python is there, type in this folder
    python3 -m http.server
and open http://localhost:8000 in a browser.
"""
LEFT_OUT = (".buildinfo", "objects.inv")  # of use to other programs only


def pack(site: Path, out: Path) -> None:
    """Write the zip of a site's folder."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    content = {name: path.read_bytes() for name, path in files.items() if name not in LEFT_OUT}
    content[NOTE] = TEXT.encode()
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # as on Unix, everywhere
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content[name])


def main() -> None:
    if not (SITE / "index.html").is_file():
        raise SystemExit("There is no built site. Build it with: make book")
    pack(SITE, OUT)
    print(f"{OUT.relative_to(ROOT)} ({OUT.stat().st_size / 1e6:.0f} MB)")


if __name__ == "__main__":
    main()
