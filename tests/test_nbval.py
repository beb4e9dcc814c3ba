"""What `make chapters` sees, and what it does not see, with the options of the Makefile.

What it does not see is here so that the rules of test_book.py, which make up for it, stay needed.
"""

import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

import execute

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
IMPORTS = (
    "from attnbook import plots\nfrom attnbook.claim import claim\nfrom attnbook.show import table"
)
PICTURE = (
    "fig, ax = plots.lines({'a': ([0, 1], [0, 1])}, xlabel='x', ylabel='y')\n"
    "plots.display(fig, alt='a line')"
)
PYPLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
IGNORED = ["nbval-ignore-output"]
# Name of the case: the cell as it was stored, its tags, the cell that is run, whether it passes.
CASES = {
    "printed": ("print(1.5)", [], None, True),
    "result": ("1.5", [], None, True),
    "markdown": ("table(['a'], [[1.5]])", [], None, True),
    "picture": (PICTURE, [], None, True),
    "pyplot": (PYPLOT, [], None, True),
    "silent": ("x = 1", [], None, True),
    "claim": ("claim('one', True)", [], None, True),
    "printed changed": ("print(1.5)", [], "print(1.6)", False),
    "result changed": ("1.5", [], "1.6", False),
    "markdown changed": ("table(['a'], [[1.5]])", [], "table(['a'], [[1.6]])", False),
    "claim fails": ("claim('one', True)", [], "claim('one', False)", False),
    "claim fails in an ignored cell": (
        "claim('one', 1 < 2)",
        IGNORED,
        "claim('one', 1 > 2)",
        False,
    ),
    "output gone": ("print(1.5)", [], "1.5;", False),
    "output new": ("1.5;", [], "print(1.5)", False),
    "ignored": ("print(1.5)", IGNORED, "print(1.6)", True),
    "tag mistyped": ("print(1.5)", ["nbval-ignore-outputs"], "print(1.6)", False),
    "warning new": ("x = 1", [], "import warnings; warnings.warn('x')", False),
    "address in memory": ("object()", [], None, False),
    # What it does not see. Pixels: the claims look at what was drawn.
    "picture changed": (PICTURE, [], PICTURE.replace("[0, 1])}", "[1, 0])}"), True),
    # A cell that was not run: test_book asks for the counts.
    "never run": ("print(1.5)", [], None, True),
}


def options() -> list[str]:
    """What `make chapters` gives to pytest, without the folder."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    recipe = re.search(r"^chapters:.*\n\t@?(.+)$", makefile, re.MULTILINE)[1]
    given = shlex.split(recipe.partition("$(PYTEST)")[2])
    assert given[-1] == "build/alone"
    return given[:-1]


@pytest.fixture
def outcomes(tmp_path: Path) -> dict[str, str]:
    """What nbval said to each case; nothing where it passed."""
    book = tmp_path
    # Two files, since `make chapters` runs two at a time, and each needs its own first cell.
    names = {"01_a": list(CASES)[::2], "02_b": list(CASES)[1::2]}
    for stem, cases in names.items():
        cells = [new_code_cell(CASES[case][0], metadata={"tags": CASES[case][1]}) for case in cases]
        nb = new_notebook(cells=[new_code_cell(IMPORTS), *cells])
        (book / f"{stem}.ipynb").write_text(json.dumps(nb), encoding="utf-8")
    assert execute.main(["--book", str(book)]) == 0
    for stem, cases in names.items():
        nb = json.loads((book / f"{stem}.ipynb").read_text(encoding="utf-8"))
        for cell, case in zip(nb["cells"][1:], cases, strict=True):
            cell["source"] = CASES[case][2] or cell["source"]
            if case == "never run":
                cell.update(outputs=[], execution_count=None)
        (book / f"{stem}.ipynb").write_text(json.dumps(nb), encoding="utf-8")
    report = book / "report.xml"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *options(), str(book), f"--junitxml={report}"),
            *("-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}"),
        ],
        cwd=book,
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = {}
    for item in ET.parse(report).iter("testcase"):
        said = "".join(part.text or "" for part in item if part.tag in ("failure", "error"))
        stem = next(stem for stem in names if stem in item.get("classname"))
        place = int(item.get("name").removeprefix("Cell "))
        assert place or not said, said  # the imports, without a warning
        found[names[stem][place - 1] if place else stem] = said
    assert set(found) == {*CASES, *names}, run.stdout + run.stderr
    return found


def test_chapters_are_compared(outcomes: dict[str, str]) -> None:
    wrong = {
        case: said or "passed, though it should not"
        for case, said in outcomes.items()
        if case in CASES and (said == "") != CASES[case][-1]
    }
    assert not wrong
