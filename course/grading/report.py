"""What comes out: a table for the instructor, two for the learning platforms, a page a student."""

import csv
import html
from pathlib import Path
from typing import Any

from course.checks import Assignment

GRADES = "grades.csv"
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}table{border-collapse:collapse;width:100%}"
    "td,th{border:1px solid #888;padding:.3rem .6rem;text-align:left;vertical-align:top}"
)


def marks(out: Path, assignment: Assignment) -> dict[str, dict[str, str]]:
    """What was entered by hand in an earlier grades.csv: {folder: {task: points as written}}.

    Raises: ValueError for a mark that is no number from 0 to the points of its task.
    """
    path = out / GRADES
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8-sig")
    first = text.partition("\n")[0]
    rows = csv.DictReader(text.splitlines(), delimiter=";" if ";" in first else ",")  # Excel's
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        for task in assignment.by_hand:
            mark = (row.get(task.name) or "").strip().replace(",", ".")
            if mark:
                _number(mark, task.points, row["folder"])
                found.setdefault(_plain(row["folder"]), {})[task.name] = mark
    return found


def _number(mark: str, most: int, who: str) -> float:
    try:
        value = float(mark)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise ValueError(f"{GRADES}: {who} has the mark {mark!r}, not a number from 0 to {most}")
    return value


def write(
    out: Path,
    assignment: Assignment,
    results: list[dict[str, Any]],
    entered: dict[str, dict[str, str]],
) -> None:
    """grades.csv, canvas.csv, moodle.csv and feedback/FOLDER.html."""
    rows, canvas, moodle = [], [], []
    for result in results:
        by_hand = entered.get(result["folder"], {})
        total = result["points"] + sum(map(float, by_hand.values()))
        missing = [task.name for task in assignment.by_hand if task.name not in by_hand]
        rows.append(
            {
                "folder": result["folder"],
                "student": result["student"],
                **{task["name"]: task["points"] for task in result["tasks"]},
                **{task.name: by_hand.get(task.name, "") for task in assignment.by_hand},
                "total": f"{total:g}",
                "of": assignment.points,
                "to do": ", ".join(missing),
                "notes": "; ".join(result["notes"]),
            }
        )
        name, login = result["name"] or result["student"], result["student"]
        canvas.append(
            {"Student": name, "ID": "", "SIS User ID": "", "SIS Login ID": login, "Section": "",
             assignment.title: f"{total:g}"}
        )  # fmt: skip
        moodle.append(
            {"ID number": login, "Full name": name, "Email address": result["email"],
             assignment.title: f"{total:g}"}
        )  # fmt: skip
        page = out / "feedback" / f"{result['folder']}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        _replace(page, feedback(assignment, result, by_hand))
    for file, table in ((GRADES, rows), ("canvas.csv", canvas), ("moodle.csv", moodle)):
        _table(out / file, table)


def _table(path: Path, rows: list[dict[str, Any]]) -> None:
    beside = path.with_suffix(".partial")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    beside.replace(path)  # whole, or the old one


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets a quote before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def _plain(value: str) -> str:
    return value[1:] if value[:1] == "'" and value[1:2] in tuple("=+-@\t\r") else value


def _replace(path: Path, text: str) -> None:
    beside = path.with_suffix(".partial")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def feedback(assignment: Assignment, result: dict[str, Any], by_hand: dict[str, str]) -> str:
    """The page of one student. All that came from a submission is escaped."""
    rows = []
    for task in result["tasks"]:
        reasons = {entry["why"] for entry in task["lost"]}
        lost = "".join(
            f"<li>−{entry['points']}: {_safe(entry['says'])}.<br>{_safe(entry['why'])}</li>"
            for entry in task["lost"]
        )
        text = f"<ul>{lost}</ul>" if lost else "all properties hold"
        if len(reasons) == 1 and not task["points"]:  # nothing holds, for one reason: not done, say
            text = _safe(*reasons)
        rows.append((task["name"], f"{task['points']} of {task['of']}", text))
    for task in assignment.by_hand:
        mark = by_hand.get(task.name)
        got = f"{_safe(mark)} of {task.points}" if mark else f"– of {task.points}"
        rows.append((task.name, got, "graded by hand" if mark else "not graded yet"))
    body = "".join(f"<tr><th>{_safe(a)}</th><td>{b}</td><td>{c}</td></tr>" for a, b, c in rows)
    notes = "".join(f"<li>{_safe(note)}</li>" for note in result["notes"])
    total = result["points"] + sum(map(float, by_hand.values()))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_safe(assignment.title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{_safe(assignment.title)}</h1><p>{_safe(result['name'] or result['student'])}: "
        f"<strong>{total:g} of {assignment.points} points</strong></p>"
        f"<table><tr><th>Task</th><th>Points</th><th>Why</th></tr>{body}</table>"
        + (f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "")
        + "</body></html>\n"
    )


def _safe(value: Any) -> str:
    text = "".join(c if c.isprintable() or c == " " else " " for c in str(value))
    return html.escape(text)
