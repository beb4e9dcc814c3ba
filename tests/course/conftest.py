"""Submissions made from the source notebook: solved, half solved, hostile."""

import json
from pathlib import Path

import pytest

from course import checks, release
from course.grading import notebook

ASSIGNMENTS = [checks.load(name) for name in checks.names()]


def book_of(assignment):
    return json.loads(assignment.source.read_text(encoding="utf-8"))


def name_of(cell):
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def submission(assignment, student, solved=None, changed=None):
    """A student's notebook with the solutions of some tasks (all unless given), others as handed
    out; `changed` puts another text into cells, by their grade id."""
    stub = release.students(book_of(assignment))
    full = {name_of(cell): cell["source"] for cell in book_of(assignment)["cells"]}
    for cell in stub["cells"]:
        name = name_of(cell)
        if cell["metadata"].get("nbgrader", {}).get("solution") and (
            solved is None or name in solved
        ):
            cell["source"] = full[name]
        if changed and name in changed:
            cell["source"] = changed[name]
        if "your student id" in "".join(cell["source"]) and cell["cell_type"] == "code":
            cell["source"] = f"STUDENT = {student!r}"
    return stub


def solution_of(assignment, task):
    """The text of one solution."""
    (found,) = [c.code for c in notebook.read(assignment.source).cells if c.name == task]
    return found


def hand_in(folder: Path, assignment, student, content):
    path = folder / student / f"{assignment.name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture(params=ASSIGNMENTS, ids=lambda assignment: assignment.name)
def assignment(request):
    return request.param
