"""From a submission to its points: run the cells, ask for answers, compare them here."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course import checks, handout, release
from course.grading import notebook
from course.grading.students import Ended, Student, Workers
from course.grading.submissions import Submission

# How many processes may end in one task, and in all; what is not graded by then counts as lost.
DEATHS_OF_TASK, DEATHS = 2, 20


@dataclass(frozen=True)
class Plan:
    """What is the same for all submissions: expected numbers are made once, here."""

    assignment: checks.Assignment
    variants: bool
    properties: dict[str, list[checks.Property]]
    preface: list[str]
    handout: str
    version: str

    @classmethod
    def of(cls, assignment: checks.Assignment, variants: bool = True) -> "Plan":
        properties = {task.name: task.properties(public=False) for task in assignment.automatic}
        preface = notebook.preface(assignment.source)
        given = release.handout_text(assignment, variants)
        parts = [
            {name: [p.plain() for p in found] for name, found in properties.items()},
            preface,
            given,
            assignment.points,
        ]
        version = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return cls(assignment, variants, properties, preface, given, version)

    def key(self, submission: Submission) -> str:
        """Changes with whatever changes the grade: the tests, the work, the student, its notes."""
        work = b""
        if submission.notebook is not None and submission.notebook.is_file():
            work = hashlib.sha256(submission.notebook.read_bytes()).digest()
        said = json.dumps([self.version, submission.student, submission.notes]).encode()
        return hashlib.sha256(said + work).hexdigest()


@dataclass
class Session:
    """A student's code in a process that is replaced when it ends."""

    workers: Workers
    plan: Plan
    cells: list[notebook.Cell]
    errors: dict[str, str] = field(default_factory=dict)  # of a cell, by name or number
    fatal: set[int] = field(default_factory=set)  # cells that ended the process
    deaths: int = 0
    ended_by_calls: int = 0
    student: Student | None = None

    def call(self, function: str, args: list, seconds: int) -> dict[str, Any] | str:
        """Plain numbers, or in words why there are none."""
        if not self._ready():
            return f"the submission ended {self.deaths} processes: nothing more was run"
        try:
            return self.student.call(function, args, seconds)
        except Ended as end:
            self.ended_by_calls += 1
            self._died()
            return str(end)

    def close(self) -> None:
        if self.student is not None:
            self.student.close()
            self.student = None

    def _died(self) -> None:
        self.deaths += 1
        self.close()

    def _ready(self) -> bool:
        """Whether there is a process in which the cells have run."""
        while self.student is None and self.deaths < DEATHS:
            self.student = self.workers.start()
            at = -1
            try:
                self.student.handout(self.plan.handout)
                for code in self.plan.preface:
                    self.student.cell(code)
                for at, cell in enumerate(self.cells):
                    if at not in self.fatal:
                        self._run(at, cell)
            except Ended as end:
                if at >= 0:
                    self.fatal.add(at)
                    self.errors[cell.name or f"cell {at + 1}"] = str(end)
                self._died()
        return self.student is not None

    def _run(self, at: int, cell: notebook.Cell) -> None:
        name = cell.name or f"cell {at + 1}"
        error = self.student.cell(cell.code)
        if error is None:
            self.errors.pop(name, None)
        else:
            self.errors[name] = error


def grade(submission: Submission, plan: Plan, workers: Workers) -> dict[str, Any]:
    """The result as it is stored: points of each task, what was lost and why, notes."""
    notes = list(submission.notes)
    work = notebook.Notebook()
    if submission.notebook is not None:
        work = notebook.read(submission.notebook)
        notes += work.notes
    session = Session(workers, plan, notebook.students_code(work, plan.assignment.source))
    try:
        tasks = [_task(task, submission, plan, session) for task in plan.assignment.automatic]
    finally:
        session.close()
    notes += [
        f"the cell {name!r} stopped: {error}"
        for name, error in session.errors.items()
        if error != "not done"
    ]
    if not workers.walls:
        notes.append("graded without walls: the network and the files were not cut off")
    return {
        "folder": submission.folder,
        "student": submission.student,
        "name": submission.name,
        "email": submission.email,
        "key": plan.key(submission),
        "tasks": tasks,
        "points": sum(task["points"] for task in tasks),
        "notes": notes,
    }


def _task(
    task: checks.Task, submission: Submission, plan: Plan, session: Session
) -> dict[str, Any]:
    given: dict[str, dict[str, Any] | str] = {}  # answers, by their arguments
    deaths = session.ended_by_calls

    def answer(args: list) -> dict[str, Any] | str:
        if not session.cells:
            return "there is nothing to run"
        key = json.dumps(args)
        if key not in given:
            if session.ended_by_calls - deaths >= DEATHS_OF_TASK:
                return f"not run: {task.function} ended {DEATHS_OF_TASK} processes before"
            given[key] = session.call(task.function, args, task.seconds)
        return given[key]

    points, lost = 0, []
    for wanted in plan.properties[task.name]:
        fault = _fault(wanted, task, submission, plan, answer)
        if fault is None:
            points += wanted.points
        else:
            lost.append({"says": wanted.says, "points": wanted.points, "why": fault})
    return {"name": task.name, "points": points, "of": task.points, "lost": lost}


def _fault(
    wanted: checks.Property,
    task: checks.Task,
    submission: Submission,
    plan: Plan,
    answer: Callable[[list], dict[str, Any] | str],
) -> str | None:
    """None where the property holds on all cases, else the first thing that is wrong."""
    for case in wanted.cases:
        got = answer(case["args"])
        if isinstance(got, str):
            return got
        expected = case["expected"]
        if task.answers is not None:
            who = submission.student if plan.variants else "everybody"
            right = task.answers(handout.drawn(plan.assignment.numbers, who))
            pairs = zip(right, case["of"], strict=True)
            expected = {"parts": [part if asked else None for part, asked in pairs]}
        fault = handout.compare(got, expected, case.get("tolerance", handout.TOLERANCE))
        if fault is not None:
            if task.answers is not None:  # the right number is not told: it can be handed in again
                who = submission.student
                hint = f": does the notebook say STUDENT = {who!r}?" if plan.variants else ""
                return f"not what the numbers of {who} give{hint}"
            return f"{_shapes(case['args'])}{fault}"
    return None


def _shapes(args: list) -> str:
    """The sizes of a hidden input, without its numbers."""
    shapes = [f"{tuple(arg['shape'])}" for arg in args if isinstance(arg, dict)]
    return f"on an input of shapes {', '.join(shapes)}: " if shapes else ""
