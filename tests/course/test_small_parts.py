"""Notebooks and folders as they come, tables, and what a process may say."""

import csv
import json

import pytest

from course import checks, handout
from course.grading import notebook, report, submissions
from course.grading.students import trusted

FIRST = checks.load("01_attention")


def book(*sources, **metadata):
    cells = [{"cell_type": "code", "source": s, "metadata": metadata} for s in sources]
    return json.dumps({"cells": cells})


# Notebooks


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("", "the file is empty"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"cells": [1]}', "damaged"),
        ("[" * 100_000, "damaged"),
        ('{"cells": []}', "no code cells"),
        (book("x", nbgrader=[]), "damaged"),
    ],
)
def test_a_bad_notebook_is_a_note(tmp_path, content, note):
    (tmp_path / "a.ipynb").write_text(content)
    read = notebook.read(tmp_path / "a.ipynb")
    assert read.cells == []
    assert note in read.notes[0]


def test_locked_cells_are_not_taken_from_the_student(tmp_path):
    locked = {"grade": False, "grade_id": "imports", "locked": True, "solution": False}
    (tmp_path / "a.ipynb").write_text(book("evil = 1", nbgrader=locked))
    read = notebook.read(tmp_path / "a.ipynb")
    assert read.cells[0].locked
    assert notebook.students_code(read, FIRST.source) == []
    (tmp_path / "a.ipynb").write_text(book("x = 1"))  # Colab and others lose the metadata
    read = notebook.read(tmp_path / "a.ipynb")
    assert [c.code for c in notebook.students_code(read, FIRST.source)] == ["x = 1"]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("x = 5 % 3", "x = 5 % 3"),
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if x:\n    !ls\ny = 1", "if x:\n    pass\ny = 1"),
        ("%%time\nx = 1", "x = 1"),
        ("\n%%capture out\n%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("%%timeit\nx = 1", "pass"),
        ("%%bash\nls", "pass"),
        ("def f(:", "def f(:"),
    ],
)
def test_commands_of_jupyter_are_left_out(code, wanted):
    assert notebook.runnable(code) == wanted


# Folders


def test_folders_of_all_kinds(tmp_path):
    for path in ("ann/01_attention.ipynb", "bob/01_attention/01_attention.ipynb",
                 "eve/b.ipynb", "eve/a.ipynb", "carl_01_attention.ipynb",
                 "ann/.ipynb_checkpoints/x.ipynb"):  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (tmp_path / "dora").mkdir()
    (tmp_path / "dora" / "01_attention.ipynb").symlink_to(FIRST.source)
    (tmp_path / "roster.csv").write_text("folder,student,name,email\nbob,b77,Bob B.,b@x.org\n")
    found = {s.folder: s for s in submissions.find(tmp_path, "01_attention")}
    assert list(found) == ["ann", "bob", "carl", "dora", "eve"]
    assert found["ann"].notebook == tmp_path / "ann/01_attention.ipynb"
    assert (found["bob"].student, found["bob"].name) == ("b77", "Bob B.")
    assert found["carl"].notebook == tmp_path / "carl_01_attention.ipynb"
    assert found["dora"].notebook is None
    assert found["eve"].notebook is None
    assert "a.ipynb, b.ipynb" in found["eve"].notes[0]
    (tmp_path / "roster.csv").write_text("folder,student\nbob,ann\n")
    with pytest.raises(ValueError, match="more than one submission of ann"):
        submissions.find(tmp_path, "01_attention")


def test_other_assignments_copies_and_rosters(tmp_path, capsys):
    for path in ("ann/01_attention.ipynb", "ann/05_bert.ipynb", "bob/05_bert(1).ipynb",
                 "carl_01_attention (2).ipynb", "carl_05_bert.ipynb",
                 "Eve Ng_7_assignsubmission_file_01_attention.ipynb"):  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (tmp_path / "roster.csv").write_text(
        "folder;student;name;email\nEve Ng_7_assignsubmission_file_;eve;Eve Ng;\nfred;f;Fred;\n"
    )
    found = {s.student: s for s in submissions.find(tmp_path, "01_attention")}
    assert set(found) == {"ann", "bob", "carl", "eve"}
    assert found["ann"].notebook == tmp_path / "ann/01_attention.ipynb"
    assert found["bob"].notebook is None  # what he handed in is another assignment
    assert found["eve"].name == "Eve Ng"
    assert capsys.readouterr().err == "roster.csv names what is not there: fred\n"


# What a process says


@pytest.mark.parametrize(
    "value",
    [
        None, 3, "x", [], {}, {"shape": [2], "data": [1.0]}, {"shape": [1], "data": ["1"]},
        {"shape": [1], "data": [True]}, {"shape": [-1], "data": []}, {"shape": [1.0], "data": [1]},
        {"shape": [], "data": [10**400]}, {"parts": {}}, {"parts": [{"parts": [{"parts": [
            {"parts": [{"parts": []}]}]}]}]}, {"shape": [True], "data": [1]},
    ],
)  # fmt: skip
def test_what_are_no_plain_numbers_is_refused(value):
    assert trusted(value) == "no numbers came back"


def test_plain_numbers_are_taken():
    value = {"parts": [{"shape": [1, 2], "data": [1, float("nan")], "more": "x"}]}
    assert set(trusted(value)["parts"][0]) == {"shape", "data"}


# Comparing


def numbers(*data):
    return {"shape": [len(data)], "data": list(data)}


@pytest.mark.parametrize(
    ("got", "expected", "fault"),
    [
        (numbers(1.0, 2.00001), numbers(1.0, 2.0), None),
        (numbers(1.0, 2.1), numbers(1.0, 2.0), "2.1 instead of 2 at [1]"),
        (numbers(float("nan")), numbers(1.0), "nan instead of 1 at [0]"),
        (numbers(float("inf")), numbers(1.0), "inf instead of 1 at [0]"),
        (numbers(1.0), numbers(1.0, 2.0), "shape (1,) instead of (2,)"),
        ({"parts": [numbers(1.0)]}, numbers(1.0), "one result is wanted, and 1 came back"),
        (numbers(1.0), {"parts": [None, None]}, "2 results are wanted, and one came back"),
        ({"parts": [numbers(1.0), numbers(3.0)]}, {"parts": [None, numbers(3.1)]},
         "result 2: 3 instead of 3.1 at [0]"),
        (numbers(0.0, 1.0, 1.0), {"labels": [0, 1, 2], "at_least": 0.6}, None),
        (numbers(0.0, 1.0, 1.0), {"labels": [0, 1, 2], "at_least": 0.7},
         "66.7% right, and at least 70% are wanted"),
        (numbers(0.4, 0.4), {"shape": [2], "sum": 1}, "the sum is 0.800, not 1"),
        (numbers(float("nan"), 1.0), {"shape": [2]}, "nan instead of nan at [0]"),
        ({"shape": [], "data": [3.0]}, {"shape": [], "data": [4.0]}, "3 instead of 4"),
    ],
)  # fmt: skip
def test_compare(got, expected, fault):
    assert handout.compare(got, expected) == fault


# A student's own numbers


def test_numbers_differ_from_student_to_student_and_never_change():
    draws = [handout.drawn(FIRST.numbers, f"s{i}") for i in range(60)]
    results = [FIRST.tasks[0].answers(d) for d in draws]
    same = [0, 0, 0]
    for i, mine in enumerate(results):
        for other in results[:i]:
            for part in range(3):
                same[part] += handout.compare(mine[part], other[part], 0.003) is None
    assert max(same) / (60 * 59 / 2) < 0.02  # a copied part is wrong
    assert handout.drawn(FIRST.numbers, " Ann  LEE ") == handout.drawn(FIRST.numbers, "ann lee")
    assert handout.drawn({"x": {"shape": [4], "low": -2, "high": 2}}, "ann") == {"x": DRAWN}


DRAWN = [-1, 1, 0, 1]  # as it was at the first release: a change would change handed-out work


# Tables


RESULT = {
    "folder": "=cmd()", "student": "=cmd()", "name": "<b>Ann", "email": "", "points": 4,
    "notes": ["<script>x</script>\x00"],
    "tasks": [{"name": t.name, "points": 0, "of": t.points, "lost": []} for t in FIRST.automatic],
}  # fmt: skip


def test_tables_and_pages_are_safe_and_marks_come_back(tmp_path):
    report.write(tmp_path, FIRST, [RESULT], {"=cmd()": {"explain": "1.5"}})
    text = (tmp_path / report.GRADES).read_text(encoding="utf-8")
    with (tmp_path / report.GRADES).open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["folder"], row["explain"], row["total"]) == ("'=cmd()", "1.5", "5.5")
    page = (tmp_path / "feedback" / "=cmd().html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "&lt;b&gt;Ann" in page
    assert "1.5 of 4" in page
    assert report.marks(tmp_path, FIRST) == {"=cmd()": {"explain": "1.5"}}
    other = text.replace(",", ";").replace("1.5", "1,5")
    (tmp_path / report.GRADES).write_text(other, encoding="utf-8-sig")  # as Excel saves it
    assert report.marks(tmp_path, FIRST) == {"=cmd()": {"explain": "1.5"}}
    for wrong in ("5", "-1", "good", "nan"):
        (tmp_path / report.GRADES).write_text(text.replace("1.5", wrong, 1), encoding="utf-8")
        with pytest.raises(ValueError, match="not a number from 0 to 4"):
            report.marks(tmp_path, FIRST)
    with (tmp_path / "canvas.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.DictReader(file))[FIRST.title] == "5.5"


def test_one_reason_for_a_whole_task_is_said_once():
    lost = [{"says": f"p{i}", "points": 1, "why": "not done"} for i in range(2)]
    for points, times in ((0, 1), (1, 2)):
        task = {"name": "softmax", "points": points, "of": 3, "lost": lost}
        page = report.feedback(FIRST, RESULT | {"tasks": [task]}, {})
        assert page.count("not done") == times
