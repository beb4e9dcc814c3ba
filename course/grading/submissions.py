"""Who handed in what, in the folders that nbgrader, Moodle, Canvas or a person made."""

import csv
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from course import checks

ROSTER = "roster.csv"


@dataclass(frozen=True)
class Submission:
    """folder: as it lies there; student: the id whose numbers count; notebook: None where there
    is none to grade."""

    folder: str
    student: str
    notebook: Path | None
    notes: list[str] = field(default_factory=list)
    name: str = ""
    email: str = ""


def find(folder: Path, assignment: str) -> list[Submission]:
    """One for each folder, or each notebook that lies there itself, in order of name.

    A file `roster.csv` beside them (columns folder, student, name, email) says which student a
    folder belongs to; without it, the folder's name is the student's id. Notebooks that are named
    after another assignment do not count.

    Raises:
        FileNotFoundError: no such folder, or nothing in it.
        ValueError: a roster without the column `folder`, or two submissions of one student.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"SUBMISSIONS={folder} is no folder")
    roster = _roster(folder / ROSTER)
    copy = r"(?: ?\(\d+\)|-\d+)?"  # what a browser or a platform puts behind the name
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            key, (notebook, notes) = entry.name, _choose(entry, assignment)
        elif entry.suffix == ".ipynb" and not _of_another(entry, assignment):
            key = re.sub(rf"[ _-]*{re.escape(assignment)}{copy}$", "", entry.stem) or entry.stem
            notebook, notes = (entry, []) if not entry.is_symlink() else (None, ["a link"])
        else:
            continue
        row = roster.get(_end(key), {})
        found.append(
            Submission(
                key, row.get("student") or key, notebook, notes,
                row.get("name", ""), row.get("email", ""),
            )
        )  # fmt: skip
    if not found:
        raise FileNotFoundError(f"no folders and no notebooks in SUBMISSIONS={folder}")
    students = [submission.student for submission in found]
    if twice := {s for s in students if students.count(s) > 1}:
        raise ValueError(f"more than one submission of {', '.join(sorted(twice))}")
    there = {_end(submission.folder) for submission in found}
    if absent := [row["folder"] for key, row in roster.items() if key not in there]:
        print(f"{ROSTER} names what is not there: {', '.join(absent)}", file=sys.stderr)
    return found


def _of_another(path: Path, assignment: str) -> bool:
    return assignment not in path.stem and any(name in path.stem for name in checks.names())


def _end(folder: str) -> str:
    """Moodle's folders end in "_"; the files that it gives without folders go on behind it."""
    return folder.rstrip(" _-")


def _choose(folder: Path, assignment: str) -> tuple[Path | None, list[str]]:
    """The notebook of a student's folder, by its name if that was kept."""
    # A link could lead to another student's work, or to the solutions.
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix == ".ipynb"
        and path.is_file()
        and not path.is_symlink()
        and path.resolve().is_relative_to(folder.resolve())
        and ".ipynb_checkpoints" not in path.parts
        and not _of_another(path, assignment)
    ]
    named = [path for path in files if path.stem == assignment]
    if named:
        notes = [] if len(named) == 1 else [f"{len(named)} notebooks: the first was taken"]
        return named[0], notes
    if not files:
        return None, ["there is no notebook in the submission"]
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        return None, [f"none of the notebooks is called {assignment}.ipynb: {names}"]
    return files[0], [f"the notebook was renamed: {files[0].name} was taken"]


def _roster(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    semicolons = lines and ";" in lines[0]  # Excel's
    rows = list(csv.DictReader(lines, delimiter=";" if semicolons else ","))
    if rows and "folder" not in rows[0]:
        raise ValueError(f"{ROSTER} needs the columns folder, student, name and email")
    return {_end(row["folder"]): {k: v or "" for k, v in row.items() if k} for row in rows}
