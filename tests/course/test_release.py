"""What goes out holds no solution and no hidden number, and runs alone."""

import json
import sys
import zipfile

import pytest

from course import checks, release
from course.grading import notebook
from tests.course.conftest import ASSIGNMENTS, book_of, name_of


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("release")
    assert release.main(["--out", str(out)]) == 0
    return out


def test_no_solution_and_no_hidden_number_goes_out(made, assignment):
    name = assignment.name
    given = [made / "students" / name / file for file in (f"{name}.ipynb", "handout.py")]
    with zipfile.ZipFile(made / "zips" / f"{name}.zip") as file:
        texts = [file.read(entry).decode() for entry in file.namelist()]
        assert f"{name}/{name}.ipynb" in file.namelist()
    texts += [path.read_text(encoding="utf-8") for path in given]
    for text in texts:
        assert "SOLUTION" not in text
        assert "HIDDEN TESTS" not in text
        assert "hidden = " not in text
    for task in assignment.automatic:
        for cases in (case for p in task.properties(False) for case in p.cases if case["args"]):
            long = [arg["data"] for arg in cases["args"] if isinstance(arg, dict)]
            hidden = json.dumps(max(long, key=len))[1:60]
            assert not any(hidden in text for text in texts), task.name
    for cell in book_of(assignment)["cells"]:  # no line of a solution but its frame
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            body = "".join(cell["source"]).partition("### BEGIN SOLUTION")[2]
            lines = [x.strip() for x in body.splitlines() if len(x.strip()) > 24]
            assert not [line for line in lines if line in texts[1]]


def test_each_task_has_a_cell_to_fill_in_public_tests_and_points(made, assignment):
    path = made / "students" / assignment.name / f"{assignment.name}.ipynb"
    cells = {name_of(c): c for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    for task in assignment.automatic:
        assert "raise NotImplementedError" in "".join(cells[task.name]["source"])
        assert "handout.check" in "".join(cells[f"{task.name}_public"]["source"])
        assert cells[f"{task.name}_hidden"]["metadata"]["nbgrader"]["points"] == task.points
    for task in assignment.by_hand:
        assert cells[task.name]["metadata"]["nbgrader"]["points"] == task.points
        assert (made / "instructor" / "rubrics" / f"{assignment.name}.md").is_file()


def test_the_instructors_notebook_runs_alone_and_gives_full_points(
    made, assignment, tmp_path, monkeypatch
):
    """As nbgrader and Colab run it: nothing beside it, the set-up cell lays out the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # That of another assignment, which was run in this process before.
    monkeypatch.delitem(sys.modules, "handout", raising=False)
    folder = made / "instructor" / "source" / assignment.name
    space, got = {}, {}
    for cell in notebook.read(folder / f"{assignment.name}.ipynb").cells:
        if "figure" in cell.tags:
            continue
        if cell.name.endswith("_hidden"):
            setup, _, call = cell.code.replace("### END HIDDEN TESTS", "").rstrip().rpartition("\n")
            exec(setup, space)
            got[cell.name.removesuffix("_hidden")] = eval(call, space)
        else:
            exec(cell.code, space)
    assert got == {task.name: task.points for task in assignment.automatic}
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["handout.py"]


def test_the_numbers_can_be_the_same_for_all(tmp_path):
    text = release.handout_text(ASSIGNMENTS[0], variants=False)
    space: dict = {}
    exec(text, space)
    assert space["numbers"]("ann") == space["numbers"]("bob")
    exec(release.handout_text(ASSIGNMENTS[0]), space)
    assert space["numbers"]("ann") != space["numbers"]("bob")


def test_a_failed_public_test_says_property_input_and_difference():
    space: dict = {}
    exec(release.handout_text(checks.load("01_attention")), space)
    import torch

    with pytest.raises(AssertionError) as caught:
        space["check"]("softmax", lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))
    said = str(caught.value)
    assert "✗ large scores do not overflow" in said
    assert "scores  [1000.0, 1001.0, -1000.0]" in said
    assert "nan instead of 0.2" in said
    assert "small scores" not in said
    space["check"]("softmax", lambda scores: torch.softmax(scores, -1))


def test_what_public_tests_say_of_no_answer_and_of_ones_own_numbers(capsys):
    space: dict = {}
    exec(release.handout_text(checks.load("05_bert")), space)

    def undone():
        raise NotImplementedError

    with pytest.raises(AssertionError, match="not done yet"):
        space["check"]("by_hand", undone)
    with pytest.raises(AssertionError, match="a single number is wanted"):
        space["check"]("by_hand", lambda: ([0.5, 0.5], [0.7], [3, 4]))
    space["check"]("by_hand", lambda: ([0.5, 0.5], 0.7, [3, 4]))  # wrong, but of the right form
    assert "numbers are checked at the grading" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="given   "):  # its arguments have no names
        space["check"]("senses", lambda *vectors: 0.1)
