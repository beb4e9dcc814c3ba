"""`make course`: what students get, what instructors get, and a zip for each assignment.

    students/NN_name/           the notebook and handout.py
    zips/NN_name.zip            the same, with a README
    instructor/                 a course folder of nbgrader, rubrics, solutions

A source notebook has two places to fill in: `HANDOUT = ""` in its set-up cell becomes the text of
handout.py, so that the notebook runs alone, and `HIDDEN = {}` in each hidden test the numbers.
"""

import argparse
import inspect
import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from course import checks

ROOT = checks.COURSE.parent
OUT = ROOT / "build" / "course"
NOBODY = 'PUBLIC = json.loads("{}")'
HANDOUT, HIDDEN = 'HANDOUT = ""', "# THE HIDDEN NUMBERS"

CONFIG = """c = get_config()
c.CourseDirectory.course_id = "attention"
c.ExecutePreprocessor.timeout = 120
c.Exchange.path_includes_course = True
"""
README = """{title}, {points} points, about {hours} hours. Follows chapters {chapters}.

Open {name}.ipynb: in Jupyter, or on Colab (File, Upload notebook). Run it from the top, and replace
each "YOUR CODE HERE". Hand in the notebook under this name.
"""


def handout_text(assignment: checks.Assignment, variants: bool = True) -> str:
    """handout.py with the public numbers of one assignment."""
    tasks = {
        task.name: [p.plain() for p in task.properties(public=True)]
        for task in assignment.automatic
    }
    public = {"variants": variants, "numbers": assignment.numbers, "tasks": tasks}
    text = (checks.COURSE / "handout.py").read_text(encoding="utf-8")
    filled = text.replace(NOBODY, f"PUBLIC = json.loads({json.dumps(json.dumps(public))})")
    if filled == text:
        raise RuntimeError("handout.py has no place for the public numbers")
    return filled


def hidden_call(task: checks.Task) -> str:
    """The hidden test of a task as it stands in nbgrader's notebook: data, and one call."""
    data = json.dumps([p.plain() for p in task.properties(public=False)])
    lines = [f"hidden = {data!r}"]
    answers = ""
    if task.answers is not None:
        lines.append(inspect.getsource(task.answers).replace(f"def {task.answers.__name__}(",
                                                             "def answers(", 1))  # fmt: skip
        answers = ", answers=answers(handout.numbers(STUDENT))"
    lines.append(f'handout.check("{task.name}", {task.function}, hidden=hidden{answers})')
    return "\n".join(lines)


def instructors(assignment: checks.Assignment, variants: bool) -> dict[str, Any]:
    """The source notebook with both places filled in: what nbgrader's commands take."""
    book = json.loads(assignment.source.read_text(encoding="utf-8"))
    tasks = {task.name: task for task in assignment.automatic}
    given = handout_text(assignment, variants)
    for cell in book["cells"]:
        text = "".join(cell["source"])
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        text = text.replace(HANDOUT, f"HANDOUT = {given!r}")
        if HIDDEN in text:
            text = text.replace(HIDDEN, hidden_call(tasks[name.removesuffix("_hidden")]))
        cell["source"] = text.splitlines(keepends=True)
    return book


def students(book: dict[str, Any]) -> dict[str, Any]:
    """The same without solutions, hidden tests and outputs, by nbgrader's own preprocessors."""
    # Imported here: grading does without nbgrader.
    import nbformat
    from nbgrader import preprocessors

    node = nbformat.reads(json.dumps(book), as_version=4)
    steps = ("LockCells", "ClearSolutions", "ClearOutput", "CheckCellMetadata")
    steps += ("ClearHiddenTests", "ClearMarkScheme", "ComputeChecksums", "CheckCellMetadata")
    for step in steps:
        node, _ = getattr(preprocessors, step)().preprocess(node, {})
    return json.loads(nbformat.writes(node))


def write(path: Path, content: str | dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    path.write_text(content, encoding="utf-8")


def make(assignment: checks.Assignment, out: Path, variants: bool = True) -> None:
    name, given = assignment.name, handout_text(assignment, variants)
    full = instructors(assignment, variants)
    theirs = students(full)
    about = README.format(**{key: getattr(assignment, key) for key in (
        "name", "title", "points", "hours", "chapters")})  # fmt: skip
    for folder, book in (("students", theirs), ("instructor/source", full)):
        write(out / folder / name / f"{name}.ipynb", book)
        write(out / folder / name / "handout.py", given)
    write(out / "instructor/nbgrader_config.py", CONFIG)
    rubric = checks.COURSE / "rubrics" / f"{name}.md"
    write(out / "instructor/rubrics" / rubric.name, rubric.read_text(encoding="utf-8"))
    zipped = out / "zips" / f"{name}.zip"
    zipped.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted((out / "students" / name).iterdir()):
            file.write(path, f"{name}/{path.name}")
        file.writestr(f"{name}/README.txt", about)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--same-numbers", action="store_true", help="no variants per student")
    given = parser.parse_args(arguments)
    shutil.rmtree(given.out, ignore_errors=True)
    for name in checks.names():
        assignment = checks.load(name)
        make(assignment, given.out, not given.same_numbers)
        print(f"{name}: {assignment.points} points, {assignment.hours:g} hours")
    print(f"Students' copies, zips and the instructor's folder are in {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
