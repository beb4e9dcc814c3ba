"""The tests of the tasks: they guard the library, pass the solutions, and see each mistake.

What differs between the assignments stands in `tests/course/assignments/NN_name.py`.
"""

import importlib
import json
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from course import checks, handout
from course.grading import notebook
from tests.course.conftest import ASSIGNMENTS

STUDENT = "ann"
MISTAKE = ("assignment", "task", "change", "wanted")
PAIRS = [
    pytest.param(assignment, task, id=f"{assignment.name}-{task.name}")
    for assignment in ASSIGNMENTS
    for task in assignment.automatic
]


def own(assignment):
    """The module with the library's answers and the mistakes."""
    return importlib.import_module(f"tests.course.assignments.{assignment.name}")


def lost(assignment, task, function, public=False):
    """The properties that do not hold, by what they say."""
    found, done = [], {}
    own_numbers = task.answers and not public
    numbers = handout.drawn(assignment.numbers, STUDENT)
    answers = task.answers(numbers) if own_numbers else None
    for wanted in task.properties(public):
        faults = [handout.judge(function, case, done, answers) for case in wanted.cases]
        found += [wanted.says] if any(faults) else []
    return found


def defined(assignment, task, change=("", "")):
    """The function of a solution, with what stands before it in the notebook."""
    space = {"STUDENT": STUDENT}
    numbers = partial(handout.drawn, assignment.numbers)
    solutions = {task.name for task in assignment.automatic}
    for cell in notebook.read(assignment.source).cells:
        if cell.name == task.name:
            assert change[0] in cell.code
            exec(cell.code.replace(*change), space)
            return space[task.function]
        if "preface" in cell.tags or cell.name in solutions:
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(sys.modules, "handout", SimpleNamespace(numbers=numbers))
                exec(cell.code, space)
    raise AssertionError(task)


@pytest.mark.parametrize(("assignment", "task"), PAIRS)
@pytest.mark.parametrize("public", [True, False], ids=["public", "hidden"])
def test_the_library_passes(assignment, task, public):
    function = own(assignment).LIBRARY[task.name]
    if task.answers:
        function = partial(function, handout.drawn(assignment.numbers, STUDENT))
    assert lost(assignment, task, function, public) == []


def mistakes(public):
    for assignment in ASSIGNMENTS:
        tasks = {task.name: task for task in assignment.automatic}
        for name, changes in own(assignment).MISTAKES.items():
            if public and name in own(assignment).HIDDEN_ONLY:
                continue
            for i, (change, wanted) in enumerate(changes):
                label = f"{assignment.name}-{name}-{i}"
                yield pytest.param(assignment, tasks[name], change, wanted, id=label)


@pytest.mark.parametrize(MISTAKE, list(mistakes(public=False)))
def test_a_mistake_loses_exactly_its_properties(assignment, task, change, wanted):
    found = lost(assignment, task, defined(assignment, task, change))
    assert [f[: len(w)] for f, w in zip(found, wanted, strict=True)] == wanted


@pytest.mark.parametrize(MISTAKE, list(mistakes(public=True)))
def test_the_public_tests_see_it_too(assignment, task, change, wanted):
    found = lost(assignment, task, defined(assignment, task, change), public=True)
    assert found
    assert all(any(f.startswith(w) for w in wanted) for f in found)


@pytest.mark.parametrize(("assignment", "task"), PAIRS)
def test_the_solution_loses_nothing(assignment, task):
    function = defined(assignment, task)
    assert lost(assignment, task, function) == []
    if task.name not in own(assignment).HIDDEN_ONLY:
        assert lost(assignment, task, function, public=True) == []


# The tests themselves


def test_each_task_has_a_mistake_that_its_tests_see(assignment):
    tasks = {task.name for task in assignment.automatic}
    assert set(own(assignment).MISTAKES) == set(own(assignment).LIBRARY) == tasks


def test_points_are_the_sum_of_the_properties(assignment):
    for task in assignment.automatic:
        for public in (True, False):
            assert sum(p.points for p in task.properties(public)) == task.points
    assert 5 <= len(assignment.tasks) <= 8
    assert len(assignment.by_hand) == 1


def test_hidden_numbers_are_not_the_public_ones(assignment):
    for task in assignment.automatic:
        public, hidden = (
            {json.dumps(c["args"]) for p in task.properties(x) for c in p.cases if c["args"]}
            for x in (True, False)
        )
        assert not public & hidden


def test_draws_are_the_same_each_time_and_travel_as_json(assignment):
    for task in assignment.automatic:
        first, second = (json.dumps([p.plain() for p in task.properties(False)]) for _ in range(2))
        assert first == second
        assert "NaN" not in first


def test_the_answer_of_a_question_can_be_looked_up():
    from importlib import import_module

    made = import_module("course.checks.01_attention").questions(np.random.default_rng(2), 50)
    for words, answer in zip(*made, strict=True):
        numbers = {word // 5: word % 5 for word in words[:4]}
        assert numbers[words[4] - 20] == answer


def test_an_unknown_assignment_is_named():
    with pytest.raises(ValueError, match="there is no assignment '7_none'; there are 01"):
        checks.load("7_none")
