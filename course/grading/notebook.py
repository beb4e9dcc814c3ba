"""A notebook as the grader reads it: as JSON that anybody may have written, by its code cells."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

MOST_BYTES = 20 * 2**20


@dataclass(frozen=True)
class Cell:
    """name: the grade id that nbgrader gave it, "" where there is none."""

    name: str
    code: str
    locked: bool
    tags: tuple[str, ...] = ()


@dataclass
class Notebook:
    cells: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what the student should be told


def read(path: Path) -> Notebook:
    """The code cells, or a note why there are none. Never raises for what is in the file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return Notebook(notes=["the notebook is larger than 20 MB and was not read"])
        content = path.read_bytes()
        if not content.strip():
            return Notebook(notes=["the file is empty"])
        cells = json.loads(content.decode("utf-8-sig"))["cells"]
        found = [_cell(cell) for cell in cells if cell.get("cell_type") == "code"]
    except OSError as error:
        return Notebook(notes=[f"the file cannot be read: {error.strerror}"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Notebook(notes=["the file is damaged: it is not a notebook"])
    notes = [] if found else ["the notebook has no code cells"]
    return Notebook(found, notes)


def _cell(cell: dict) -> Cell:
    source = cell.get("source", "")
    code = source if isinstance(source, str) else "".join(map(str, source))
    metadata = cell.get("metadata", {})
    ours = metadata.get("nbgrader", {})
    solution, grade = ours.get("solution", False), ours.get("grade", False)
    locked = not solution and bool(grade or ours.get("locked", False))
    return Cell(
        str(ours.get("grade_id", "")), code, locked, tuple(map(str, metadata.get("tags", ())))
    )


def runnable(code: str) -> str:
    """The code without Jupyter's own commands, which only a notebook understands."""
    try:
        compile(code, "<cell>", "exec")
    except SyntaxError:
        first, _, rest = code.lstrip().partition("\n")
        if re.match(r"%%(time|capture)\b", first):  # these run the cell's Python in the notebook
            return runnable(rest)
        if first.startswith("%%"):
            return "pass"
        return re.sub(r"^([ \t]*)[%!].*$", r"\1pass", code, flags=re.MULTILINE)
    except ValueError:  # a zero byte
        return code
    return code


def preface(source: Path) -> list[str]:
    """The cells of the instructor's notebook that a student's code builds on: the imports."""
    return [cell.code for cell in read(source).cells if "preface" in cell.tags]


def students_code(submitted: Notebook, source: Path) -> list[Cell]:
    """What of a submission is run: all code cells but those that were handed out locked."""
    locked = {cell.name for cell in read(source).cells if cell.locked}
    return [
        Cell(cell.name, runnable(cell.code), False)
        for cell in submitted.cells
        if not (cell.name in locked and cell.locked) and cell.code.strip()
    ]
