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


def drop_icon_script() -> None:
    """Take out the icons' script: 1.5 MB before each page's text. The style sheet has the icons."""
    pages = list((BUILD / "html").rglob("*.html"))
    script = re.compile(r'<script src="[^"]*fontawesome\.js[^"]*"></script>\n?')
    found = 0
    for page in pages:
        text, n = script.subn("", page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        found += n
    if not found:
        raise RuntimeError("the theme loads its icons in another way: see drop_icon_script")
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
    drop_icon_script()
    print("The site is built. Open _build/html/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
