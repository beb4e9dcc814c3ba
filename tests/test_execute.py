"""`make execute` stores clean outputs, the same in each run, and leaves a failing chapter alone."""

import json
import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import execute

pytestmark = pytest.mark.slow  # each run starts kernels

PICTURE = """from attnbook import plots
fig, ax = plots.lines({"a": ([0, 1], [0, 1])}, xlabel="x", ylabel="y")
plots.display(fig, alt="a line")"""
STALE = {"mystnb": {"image": {"alt": "old", "width": "9px"}}, "tags": ["kept"], "scrolled": True}
CELLS = [
    new_markdown_cell("# A chapter"),
    new_code_cell(
        "import os, sys, time\nprint('über'); sys.stdout.flush(); time.sleep(0.3)\n6 * 7"
    ),
    new_code_cell("print(time.time())", metadata={"tags": ["nbval-ignore-output"]}),
    new_code_cell("print('a'); print('loud', file=sys.stderr); print('b')", metadata=STALE),
    new_code_cell(PICTURE),
    new_code_cell(
        "print(os.listdir(), os.path.basename(os.getcwd()) == 'book')\n"
        "print(os.environ['ATTNBOOK_PROGRESS'], sys.executable)"
    ),
    new_code_cell("print('x', end=''); sys.stdout.flush(); time.sleep(0.3); print('y')"),
]


def save(folder: Path, name: str, cells: list, **metadata) -> Path:
    path = folder / f"{name}.ipynb"
    nb = new_notebook(cells=json.loads(json.dumps(cells)), metadata=metadata)
    path.write_text(json.dumps(nb), encoding="utf-8")
    return path


def run(folder: Path, *names: str) -> int:
    return execute.main(["--book", str(folder), *names])


@pytest.fixture(scope="module")
def twice(tmp_path_factory) -> tuple[bytes, bytes]:
    """The bytes of one chapter after a first and after a second run."""
    folder = tmp_path_factory.mktemp("book")
    path = save(
        folder,
        "01_embeddings",
        CELLS,
        widgets={"state": {}},
        language_info={"name": "python", "version": "3"},
    )
    raw = json.loads(path.read_text())
    raw["nbformat_minor"] = 4
    for cell in raw["cells"][:3]:
        del cell["id"]
    raw["cells"][4]["id"] = raw["cells"][3]["id"] = "mine"
    path.write_text(json.dumps(raw))
    # A kernel of the user's by the same name, which must not be taken.
    kernel = tmp_path_factory.mktemp("jupyter") / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text('{"argv": ["false"], "display_name": "Python 3", "language": "python"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(kernel.parents[2]))
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
        assert run(folder) == 0
    first = path.read_bytes()
    assert run(folder, "01_embeddings") == 0
    return first, path.read_bytes()


@pytest.fixture
def nb(twice) -> dict:
    return json.loads(twice[0])


def test_two_runs_give_the_same_bytes_but_for_what_is_not_compared(twice) -> None:
    first, second = (json.loads(run) for run in twice)
    assert first["cells"][2].pop("outputs") != second["cells"][2].pop("outputs")
    assert first == second
    lines = [run.splitlines() for run in twice]
    assert sum(a != b for a, b in zip(*lines, strict=True)) == 1


def test_the_file_is_stable_json_in_format_4_5(twice, nb) -> None:
    text = twice[0].decode()
    assert text == json.dumps(nb, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert "über" in text
    assert (nb["nbformat"], nb["nbformat_minor"]) == (4, 5)
    nbformat.validate(nb)


def test_counts_run_from_one_and_all_else_about_the_run_is_gone(nb) -> None:
    code = [cell for cell in nb["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert nb["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert [cell["metadata"] for cell in code] == [
        {},
        {"tags": ["nbval-ignore-output"]},
        {"tags": ["kept"], "mystnb": {"image": {"width": "9px"}}},
        {"mystnb": {"image": {"alt": "a line"}}},
        {},
        {},
    ]


def test_cells_keep_their_ids_and_get_fixed_ones_where_they_have_none(nb) -> None:
    ids = [cell["id"] for cell in nb["cells"]]
    assert ids[:5] == [
        "01-embeddings-00",
        "01-embeddings-01",
        "01-embeddings-02",
        "mine",
        "01-embeddings-04",
    ]
    assert ids[5:] == [cell["id"] for cell in CELLS[5:]]


def test_streams_are_whole_and_stderr_is_left_out(nb) -> None:
    outputs = [cell["outputs"] for cell in nb["cells"][1:]]
    assert [(o["name"], o["text"]) for o in outputs[2]] == [("stdout", ["a\n", "b\n"])]
    assert [(o["name"], o["text"]) for o in outputs[5]] == [("stdout", ["xy\n"])]
    assert [o["output_type"] for o in outputs[0]] == ["stream", "execute_result"]


def test_a_chapter_runs_in_an_empty_folder_with_this_interpreter(nb) -> None:
    assert nb["cells"][5]["outputs"][0]["text"] == ["[] False\n", f"0 {sys.executable}\n"]


def test_a_failing_cell_leaves_the_file_and_is_shown(tmp_path, capfd) -> None:
    good = save(tmp_path, "01_embeddings", [new_code_cell("1")])
    bad = save(tmp_path, "02_subwords", [new_code_cell("1"), new_code_cell("x = 0\n1 / x")])
    before = bad.read_bytes()
    assert run(tmp_path) == 1
    said = capfd.readouterr()
    assert "02_subwords  FAILED" in said.err
    assert "cell 2 of 2" in said.err
    assert "x = 0\n1 / x" in said.err
    assert "ZeroDivisionError" in said.err
    assert "\x1b" not in said.err
    assert bad.read_bytes() == before
    assert json.loads(good.read_text())["cells"][0]["execution_count"] == 1
    assert said.out.startswith("01_embeddings  ")
    assert sorted(os.listdir(tmp_path)) == ["01_embeddings.ipynb", "02_subwords.ipynb"]


def test_a_broken_notebook_is_an_error_that_names_it(tmp_path, capfd) -> None:
    (tmp_path / "01_embeddings.ipynb").write_text('{"cells": [')
    (tmp_path / "02_subwords.ipynb").write_text('{"cells": [], "nbformat": 3}')
    assert run(tmp_path) == 1
    said = capfd.readouterr().err
    assert "01_embeddings  FAILED" in said
    assert "02_subwords  FAILED" in said


def test_a_cell_that_hangs_or_kills_its_kernel_is_an_error(tmp_path, capfd, monkeypatch) -> None:
    save(tmp_path, "01_embeddings", [new_code_cell("import time; time.sleep(60)")])
    save(tmp_path, "02_subwords", [new_code_cell("import os; os._exit(1)")])
    monkeypatch.setattr(execute, "CELL_TIMEOUT", 2)
    assert run(tmp_path) == 1
    said = capfd.readouterr().err
    assert "time.sleep(60)" in said
    assert "os._exit(1)" in said


def test_an_unknown_name_lists_the_known_ones(tmp_path, capsys) -> None:
    assert run(tmp_path) == 1
    assert "no chapters" in capsys.readouterr().err
    path = save(tmp_path, "01_embeddings", [new_code_cell("1")])
    before = path.read_bytes()
    assert run(tmp_path, "01_embeddings", "01_embedding") == 1
    said = capsys.readouterr().err
    assert "no chapter is called 01_embedding;" in said
    assert said.rstrip().endswith(": 01_embeddings")
    assert path.read_bytes() == before
