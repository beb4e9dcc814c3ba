"""Build the site into _build/html, with warnings as errors. Called by `make book`."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import explorers
from explorers import EXTRA

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
# What a page asks MathJax for: the program, the commands that it loads on demand, the fonts.
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2")
# Scripts that each page has in its head. One more stays where it is: others read it at once.
LATER = (
    "doctools",
    "sphinx_highlight",
    r"clipboard\.min",
    "copybutton",
    "scripts/sphinx-book-theme",
    "togglebutton",
    "design-tabs",
    "book",
)


def prepare_mathjax() -> None:
    """Copy the needed parts of MathJax out of the installed package."""
    # The package's folder has hyphens in its name, so that it cannot be imported.
    package = distribution("sphinx-mathjax-offline")
    source = Path(package.locate_file("sphinx-mathjax-offline")) / "static" / "mathjax"
    for part in MATHJAX_PARTS:
        target = EXTRA / "mathjax" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target)
        else:
            shutil.copy(source / part, target)


def lighten() -> None:
    """Take from each page what its text would wait for.

    The icons' script is 1.5 MB, and the style sheet has the icons, too. The other scripts do
    nothing before the page is there: they may come with it.
    """
    icons = re.compile(r'<script src="[^"]*fontawesome\.js[^"]*"></script>\n?')
    later = re.compile(rf'<script (?=[^>]*src="[^"]*_static/(?:{"|".join(LATER)})\.js)')
    dropped = deferred = 0
    for page in (BUILD / "html").rglob("*.html"):
        text, n = icons.subn("", page.read_text(encoding="utf-8"))
        dropped += n
        if "searchtools.js" not in text:  # it calls the others at once
            text, n = later.subn("<script defer ", text)
            deferred += n
        page.write_text(text, encoding="utf-8")
    if not dropped or not deferred:
        raise RuntimeError("the theme loads its scripts in another way: see lighten")
    (BUILD / "html" / "_static" / "scripts" / "fontawesome.js").unlink()


def main() -> int:
    for folder in (BUILD, EXTRA):
        shutil.rmtree(folder, ignore_errors=True)
    prepare_mathjax()
    explorers.prepare()
    print("Building the site ...", flush=True)
    # -P keeps the repository off the import path, where a folder could hide a module.
    jupyter_book = [sys.executable, "-P", "-c", "from jupyter_book.cli.main import main; main()"]
    result = subprocess.run(
        [*jupyter_book, "build", "-q", "-W", "-n", "--keep-going", "."],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    if result.returncode:
        print(result.stdout)
        print("The site was not built: see the messages above.", file=sys.stderr)
        return result.returncode
    lighten()
    print("The site is built. Open _build/html/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
