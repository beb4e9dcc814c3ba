"""`make grade SUBMISSIONS=folder`: points, reasons and tables for a folder of submissions.

Each submission's result is kept as it is made. A second run does what is new or has changed,
and keeps the marks that were entered by hand in grades.csv.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from course import checks
from course.grading import report, submissions
from course.grading.grade import Plan, grade
from course.grading.students import Limits, Workers

ROOT = checks.COURSE.parent
OUT = ROOT / "grades"  # not in build: marks entered by hand are kept there


def guess(folder: Path) -> str:
    """The assignment that the notebooks are named after."""
    if not folder.is_dir():
        raise FileNotFoundError(f"SUBMISSIONS={folder} is no folder")
    names = checks.names()
    stems = [path.stem for path in folder.rglob("*.ipynb")]
    found = [name for name in names if any(name in stem for stem in stems)]
    if len(found) != 1:
        there = f"there are notebooks of {len(found)} assignments" if found else "no name tells it"
        raise ValueError(f"{there}: add ASSIGNMENT=, one of {', '.join(found or names)}")
    return found[0]


def kept(path: Path, key: str) -> dict[str, Any] | None:
    """An earlier result of the same work under the same tests."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if result.get("key") == key else None


def place(out: Path, submission: submissions.Submission) -> Path:
    name = hashlib.sha256(submission.folder.encode()).hexdigest()[:16]
    return out / "results" / f"{name}.json"


def run(
    plan: Plan,
    found: list[submissions.Submission],
    out: Path,
    *,
    limits: Limits | None = None,
    walls: bool = True,
    jobs: int = 2,
    again: bool = False,
) -> list[dict[str, Any]]:
    """The results, in the order of the submissions. One that cannot be graded stops no other."""
    (out / "results").mkdir(parents=True, exist_ok=True)
    old = {s.folder: None if again else kept(place(out, s), plan.key(s)) for s in found}
    new = [s for s in found if old[s.folder] is None]
    done = {folder: result for folder, result in old.items() if result is not None}
    if done:
        print(f"{len(done)} of {len(found)} were graded before and have not changed.")
    for submission, result in _graded(plan, new, limits, walls, jobs):
        done[submission.folder] = result
        if "failed" not in result:
            path = place(out, submission)
            path.with_suffix(".partial").write_text(json.dumps(result), encoding="utf-8")
            path.with_suffix(".partial").replace(path)
    return [done[s.folder] for s in found]


def _graded(
    plan: Plan,
    new: list[submissions.Submission],
    limits: Limits | None,
    walls: bool,
    jobs: int,
) -> Iterator[tuple[submissions.Submission, dict[str, Any]]]:
    if not new:
        return
    with Workers(limits, walls) as workers, ThreadPoolExecutor(jobs) as pool:
        if not workers.walls:
            print(f"Without walls ({workers.why_open}): see the guide.", file=sys.stderr)
        waiting = {pool.submit(grade, s, plan, workers): s for s in new}
        quiet = os.environ.get("ATTNBOOK_PROGRESS") == "0"
        bar = tqdm(as_completed(waiting), total=len(new), disable=quiet, unit="submission")
        try:
            for future in bar:
                submission = waiting[future]
                try:
                    result = future.result()
                except Exception as error:
                    result = failed(submission, plan, error)
                yield submission, result
        finally:  # stopped from the keyboard, say: what is under way is finished, no more is begun
            pool.shutdown(wait=False, cancel_futures=True)


def failed(submission: submissions.Submission, plan: Plan, error: Exception) -> dict[str, Any]:
    """A fault of the grader's own: said loudly, and tried again by the next run."""
    why = f"the grader failed: {type(error).__name__}: {error}"
    print(f"{submission.folder}: {why}", file=sys.stderr)
    tasks = [
        {"name": task.name, "points": 0, "of": task.points,
         "lost": [{"says": "not graded", "points": task.points, "why": why}]}
        for task in plan.assignment.automatic
    ]  # fmt: skip
    return {
        "folder": submission.folder,
        "student": submission.student,
        "name": submission.name,
        "email": submission.email,
        "tasks": tasks,
        "points": 0,
        "notes": [why],
        "failed": True,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make grade", description=__doc__.splitlines()[0])
    parser.add_argument("submissions", type=Path)
    parser.add_argument("--assignment", help="NN_name; guessed from the notebooks unless given")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--same-numbers", action="store_true", help="no variants per student")
    parser.add_argument("--again", action="store_true", help="grade anew what is unchanged, too")
    parser.add_argument("--no-walls", action="store_true", help="do without namespaces")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    given = parser.parse_args(arguments)
    try:
        assignment = checks.load(given.assignment or guess(given.submissions))
        found = submissions.find(given.submissions, assignment.name)
        out = given.out / assignment.name
        entered = report.marks(out, assignment)
        if gone := sorted(set(entered) - {submission.folder for submission in found}):
            raise ValueError(
                f"{out / report.GRADES} has marks of {', '.join(gone)}, whose submissions are not "
                f"in {given.submissions}. Put all into one folder, or move that table away"
            )
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    plan = Plan.of(assignment, not given.same_numbers)
    results = run(
        plan, found, out, walls=not given.no_walls, jobs=max(1, given.jobs), again=given.again
    )
    report.write(out, assignment, results, entered)
    print(f"{len(results)} submissions: {out / report.GRADES}, and a page each in feedback/.")
    return 1 if any("failed" in result for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
