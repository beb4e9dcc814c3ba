"""Generate, hand in, grade: the grades are exactly those expected, whoever is hostile."""

import csv
import json
import subprocess
import sys
from pathlib import Path

from course import checks
from course.grading import __main__ as command
from course.grading import report, submissions
from course.grading.grade import Plan
from course.grading.students import Limits
from tests.course.conftest import hand_in, solution_of, submission

FIRST = checks.load("01_attention")
FULL = sum(task.points for task in FIRST.automatic)
# Processor time alone decides here: the clock of a busy machine says nothing.
LIMITS = Limits(memory=1024, cell=2, call=4, patience=100)
GRADING = Path(command.__file__).parent


def first(text):
    """A cell that runs before all tasks: the student's first."""
    return {"by_hand": text + "\n" + solution_of(FIRST, "by_hand")}


LIAR = """
class Same(torch.Tensor):
    def __eq__(self, other): return True
    __sub__ = __rsub__ = __abs__ = lambda self, *_: 0.0
    def __le__(self, other): return True
def NAME(*args): return torch.zeros(1).as_subclass(Same), torch.zeros(1).as_subclass(Same)
"""
FORGE = """
import os
for number in range(1, 40):
    try: os.write(number, b'{"value": {"shape": [], "data": [1.0]}, "id": "1", "points": 33}\\n')
    except OSError: pass
print("33 of 33")
"""
WRITE = """
import pathlib
for path in pathlib.Path("OUT").rglob("*.json"): path.write_text("{}")
pathlib.Path("OUT/grades.csv").write_text("folder,total\\nann,33")
"""
READ = """
import json
book = json.load(open("SOURCE"))
for cell in book["cells"]:
    if cell["cell_type"] == "code" and "SOLUTION" in "".join(cell["source"]):
        exec("".join(cell["source"]))
"""
# Name: (solved tasks, changed cells, points of each task that are not zero, word in the feedback).
ALL = {task.name: task.points for task in FIRST.automatic}
NO_TRAINING = {name: points for name, points in ALL.items() if name != "find"}
QUICK = set(NO_TRAINING)  # training once, in the perfect submission, is enough


def without(*names):
    return {name: points for name, points in NO_TRAINING.items() if name not in names}


HOSTILE = {
    "patches": (
        {"softmax"},
        first(
            "torch.allclose = torch.equal = lambda *a, **k: True\n"
            "handout.compare = lambda *a: None\nhandout.check = lambda *a, **k: 99"
        ),
        {"by_hand": 4, "softmax": 3},
        "",
    ),
    "equals": (
        QUICK,
        {"softmax": LIAR.replace("NAME", "softmax")},
        {"by_hand": 4, "without": 3},
        "",
    ),
    "forges": ({"softmax"}, first(FORGE), {"softmax": 3}, "nobody asked for"),
    "writes": ({"softmax"}, first(WRITE), {"softmax": 3}, ""),
    "reads": (set(), {"find": READ}, {}, "the cell &#x27;find&#x27; stopped: FileNotFoundError"),
    "loops": (
        QUICK,
        {"loop": "def attention_loop(*args):\n    while True: pass"},
        without("loop"),
        "endless loop",
    ),
    "hogs": (
        QUICK,
        {"loop": "def attention_loop(*args):\n    return torch.ones(10**10)"},
        without("loop"),
        "memory",
    ),
    "exits": (
        QUICK,
        {"matrices": "import os\ndef attention_matrices(*args):\n    os._exit(0)"},
        without("matrices"),
        "ended itself, with code 0",
    ),
    "crashes": (
        QUICK,
        {"masked": "import ctypes\nctypes.string_at(0)"},
        without("masked"),
        "SIGSEGV",
    ),
    "wrong_syntax": (QUICK, {"without": "def without_key(:"}, without("without"), "SyntaxError"),
    "kills": (
        QUICK,
        {"loop": "import os\nos.kill(os.getppid(), 9)\nos.kill(0, 9)"},
        without("loop"),
        "SIGKILL",
    ),
}


def walls_are_possible():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import sandbox; print(*sandbox.possible())"
    asked = [sys.executable, "-c", code, str(GRADING)]
    return subprocess.run(asked, capture_output=True, text=True).stdout.startswith("True")


def graded(top, hostile):
    """Grade all, once: (rows of grades.csv, the folder of submissions, that of the results)."""
    folder, out = top / "submitted", top / "grades"
    source = str(FIRST.source)
    books = {
        "perfect": submission(FIRST, "perfect"),
        "half": submission(FIRST, "half", {"by_hand", "softmax", "loop", "matrices"}),
        "stub": submission(FIRST, "stub", set()),
        "copied": submission(FIRST, "perfect", QUICK),  # with the numbers of another
        "nothing": b"",
        "damaged": json.dumps(submission(FIRST, "damaged"))[:5000],
        "nested": "[" * 100_000,
    }
    for name, (solved, changed, _, _) in hostile.items():
        filled = {
            cell: text.replace("OUT", str(out / FIRST.name)).replace("SOURCE", source)
            for cell, text in changed.items()
        }
        books[name] = submission(FIRST, name, solved, filled)
    for name, book in books.items():
        hand_in(folder, FIRST, name, book)
    renamed = hand_in(folder, FIRST, "renamed", submission(FIRST, "renamed", {"softmax"}))
    renamed.rename(renamed.with_name("my homework (1).ipynb"))
    (folder / "missing").mkdir()
    plan = Plan.of(FIRST)
    found = submissions.find(folder, FIRST.name)
    results = command.run(plan, found, out / FIRST.name, limits=LIMITS)
    report.write(out / FIRST.name, FIRST, results, {})
    with (out / FIRST.name / report.GRADES).open(newline="", encoding="utf-8") as file:
        rows = {row["folder"]: row for row in csv.DictReader(file)}
    return rows, folder, out / FIRST.name


def points(row):
    return {name: int(row[name]) for name in ALL if row[name] != "0"}


def again(rows, folder, out, monkeypatch):
    """A second run grades only what changed, and keeps the marks entered by hand."""
    path = out / report.GRADES
    entered = path.read_text(encoding="utf-8").splitlines()
    header = entered[0].split(",")
    at = next(i for i, line in enumerate(entered) if line.startswith("half,"))
    cells = entered[at].split(",")
    cells[header.index("explain")] = "2.5"
    path.write_text("\n".join([*entered[:at], ",".join(cells), *entered[at + 1 :]]) + "\n")
    hand_in(folder, FIRST, "stub", submission(FIRST, "stub", {"softmax"}))
    done = []
    original = command.grade

    def counted(submission, *rest):
        done.append(submission.folder)
        return original(submission, *rest)

    monkeypatch.setattr(command, "grade", counted)
    arguments = [str(folder), "--out", str(out.parent), "--assignment", FIRST.name]
    assert command.main(arguments) == 0
    assert done == ["stub"]
    with path.open(newline="", encoding="utf-8") as file:
        after = {row["folder"]: row for row in csv.DictReader(file)}
    assert (after["half"]["explain"], after["half"]["total"]) == ("2.5", "18.5")
    assert after["half"]["to do"] == ""
    assert points(after["stub"]) == {"softmax": 3}
    assert {k: v for k, v in after.items() if k not in ("half", "stub")} == {
        k: v for k, v in rows.items() if k not in ("half", "stub")
    }


EXPECTED = {
    "perfect": ALL,
    "half": {"by_hand": 4, "softmax": 3, "loop": 4, "matrices": 5},
    "stub": {},
    "copied": without("by_hand"),
    "nothing": {},
    "damaged": {},
    "nested": {},
    "renamed": {"softmax": 3},
    "missing": {},
}
REASONS = {
    "nothing": "the file is empty",
    "damaged": "the file is damaged",
    "nested": "the file is damaged",
    "renamed": "the notebook was renamed: my homework (1).ipynb was taken",
    "missing": "there is no notebook",
}


def test_the_round_trip(tmp_path, monkeypatch, capsys):
    """One test, so that two workers do not grade twice."""
    walls = walls_are_possible()
    # Without namespaces files are not hidden, as the guide says: two are then not handed in.
    hostile = {n: x for n, x in HOSTILE.items() if walls or n not in ("reads", "writes")}
    rows, folder, out = graded(tmp_path, hostile)
    got = {name: points(row) for name, row in rows.items()}
    assert got == EXPECTED | {name: wanted for name, (_, _, wanted, _) in hostile.items()}
    for row in rows.values():
        assert row["total"] == str(sum(points(row).values()))
        assert (row["explain"], row["to do"]) == ("", "explain")
        assert ("without walls" in row["notes"]) is not walls
    reasons = REASONS | {name: word for name, (_, _, _, word) in hostile.items() if walls}
    pages = {name: (out / "feedback" / f"{name}.html").read_text("utf-8") for name in reasons}
    assert {n: word for n, word in reasons.items() if word not in pages[n]} == {}
    again(rows, folder, out, monkeypatch)


def test_the_solution_scores_full_marks_and_the_stub_zero(tmp_path, assignment):
    for name, solved in (("perfect", None), ("stub", set())):
        hand_in(tmp_path / "in", assignment, name, submission(assignment, name, solved))
    plan, found = Plan.of(assignment), submissions.find(tmp_path / "in", assignment.name)
    limits = Limits(memory=1024, patience=100)
    results = command.run(plan, found, tmp_path / "out", limits=limits)
    got = {r["folder"]: {t["name"]: t["points"] for t in r["tasks"]} for r in results}
    full = {task.name: task.points for task in assignment.automatic}
    assert got == {"perfect": full, "stub": dict.fromkeys(full, 0)}


def test_a_fault_of_the_grader_stops_no_other_and_is_not_kept(tmp_path, monkeypatch, capsys):
    for name in ("ann", "bob"):
        hand_in(tmp_path / "in", FIRST, name, b"")

    def broken(submission, plan, workers):
        if submission.folder == "ann":
            raise RuntimeError("a wire is loose")
        return original(submission, plan, workers)

    original = command.grade
    monkeypatch.setattr(command, "grade", broken)
    arguments = [str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--no-walls"]
    assert command.main(arguments) == 1
    out = tmp_path / "out" / FIRST.name
    assert "ann: the grader failed: RuntimeError: a wire is loose" in capsys.readouterr().err
    assert "the file is empty" in (out / "feedback" / "bob.html").read_text(encoding="utf-8")
    assert len(list((out / "results").glob("*.json"))) == 1


def test_what_is_asked_wrongly_is_said(tmp_path, capsys):
    assert command.main([str(tmp_path / "none")]) == 2
    assert "is no folder" in capsys.readouterr().err
    for name in ("01_attention", "05_bert"):
        (tmp_path / f"ann_{name}.ipynb").write_text("{}")
    assert command.main([str(tmp_path)]) == 2
    assert "notebooks of 2 assignments: add ASSIGNMENT=, one of" in capsys.readouterr().err
    marked = tmp_path / "out" / "05_bert" / "grades.csv"
    marked.parent.mkdir(parents=True)
    marked.write_text("folder,explain\nbob,3\n")
    asked = [str(tmp_path), "--assignment", "05_bert", "--out", str(tmp_path / "out")]
    assert command.main(asked) == 2  # a table without bob would lose his mark
    assert "has marks of bob" in capsys.readouterr().err
    assert "bob,3" in marked.read_text()
    (tmp_path / "a").mkdir()
    assert command.main([str(tmp_path), "--assignment", "9_none"]) == 2
    assert "there is no assignment '9_none'" in capsys.readouterr().err
