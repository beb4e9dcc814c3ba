"""The tests of the tasks: they guard the library, pass the solutions, and see each mistake."""

import json
import math

import numpy as np
import pytest
import torch

from course import checks, handout
from tests.course.conftest import solution_of

FIRST = checks.load("01_attention")
NUMBERS = handout.drawn(FIRST.numbers, "ann")


def lost(task, function, public=False):
    """The properties that do not hold, by what they say."""
    found, done = [], {}
    answers = task.answers(NUMBERS) if task.answers and not public else None
    for wanted in task.properties(public):
        faults = [handout.judge(function, case, done, answers) for case in wanted.cases]
        found += [wanted.says] if any(faults) else []
    return found


def defined(assignment, task, change=("", "")):
    """The function of a solution, with what stands before it in the notebook."""
    space = {"math": math, "torch": torch, "STUDENT": "ann"}

    class Handout:
        numbers = staticmethod(lambda student: handout.drawn(assignment.numbers, student))

    space["handout"] = Handout
    for earlier in assignment.automatic:
        text = solution_of(assignment, earlier.name)
        if earlier is task:
            assert change[0] in text
            exec(text.replace(*change), space)
            return space[task.function]
        exec(text, space)
    raise AssertionError(task)


# The library, through adapters


def weights_of(scores):
    """A softmax by the library's attention: the keys are unit vectors."""
    from attnbook.attention import attention

    n = scores.shape[-1]
    unit = (torch.eye(n) * math.sqrt(n)).expand(*scores.shape[:-1], n, n)
    return attention(scores[..., None, :], unit, unit)[1][..., 0, :]


def without(output, weights, value, i):
    from attnbook.attention import attention

    S = weights.shape[-1]
    kept = torch.arange(S) != i
    return attention(weights.log(), torch.eye(S) * math.sqrt(S), value, kept)


def by_hand():
    from attnbook.attention import attention

    query, keys, values = (torch.tensor(NUMBERS[x]).float() for x in ("query", "keys", "values"))
    output, weights = attention(query[None], keys, values)
    return keys @ query / 2, weights[0], output[0]


def find(x, y, new):
    from attnbook.attention import MultiHeadAttention
    from attnbook.embeddings import TokenEmbedding
    from attnbook.training import train

    torch.manual_seed(3)

    class Finder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.output = TokenEmbedding(24, 32), torch.nn.Linear(32, 5)
            self.attention = MultiHeadAttention(32, 1)

        def forward(self, words):
            vectors = self.table(words)
            return self.output(self.attention(vectors[:, -1:], vectors, vectors)[0][:, 0])

    def loss(model, batch):
        return torch.nn.functional.cross_entropy(model(x[batch]), y[batch])

    model = Finder()
    train(model, [torch.randint(len(x), (64,)) for _ in range(500)], loss, steps=500, lr=0.01)
    with torch.no_grad():
        return model(new).argmax(dim=-1)


def library(name):
    from attnbook.attention import attention

    return {
        "by_hand": by_hand,
        "softmax": weights_of,
        "loop": lambda *args: attention(*args)[0],
        "matrices": attention,
        "masked": attention,
        "without": without,
        "find": find,
    }[name]


@pytest.mark.parametrize("task", FIRST.automatic, ids=lambda task: task.name)
@pytest.mark.parametrize("public", [True, False], ids=["public", "hidden"])
def test_the_library_passes(task, public):
    assert lost(task, library(task.name), public) == []


# Mistakes: in a solution, one text is replaced, and exactly these properties are lost

MISTAKES = {
    "by_hand": [
        (("@ query / 2", "@ query"), ["three scores", "three weights", "an output"]),
        (("scores.softmax(dim=0)", "scores / scores.sum()"), ["three weights", "an output"]),
        (("return scores, weights, weights @ values", "return scores, weights, values.mean(0)"),
         ["an output"]),
    ],
    "softmax": [
        (("(scores - scores.amax(dim=-1, keepdim=True))", "scores"), ["large scores"]),
        (("scores.amax(dim=-1, keepdim=True)", "scores.min()"), ["large scores"]),
        (("powers.sum(dim=-1, keepdim=True)", "powers.sum()"), ["each row"]),
        (("powers.sum(dim=-1, keepdim=True)", "powers.sum(dim=0, keepdim=True)"), ["each row"]),
    ],
    "loop": [
        (("/ math.sqrt(len(q))", ""), ["scores are divided"]),
        (("math.sqrt(len(q))", "len(q)"), ["scores are divided"]),
        (("softmax(scores)", "scores.exp() / scores.exp().sum()"), ["large scores"]),
        (("softmax(scores)", "scores"),
         ["a query of zeros", "scores are divided", "large scores"]),
    ],
    "matrices": [
        (("key.transpose(-2, -1)", "key.T"), ["any leading"]),
        (("return weights @ value, weights", "return weights @ value, scores"),
         ["the weights come second"]),
        (("softmax(scores)", "softmax(scores.transpose(-2, -1)).transpose(-2, -1)"),
         ["the output", "the weights", "any leading"]),
    ],
    "masked": [
        (("~mask", "mask"), ["True = may", "a mask (B", "a query that may"]),
        (("weights = weights.masked_fill(~mask, 0.0)", ""), ["a query that may"]),
        (("scores.masked_fill(~mask", "scores.masked_fill(~mask.expand(scores.shape[-2:])"),
         ["a mask (B"]),
    ],
    "without": [
        (("value[i]) / left", "value[i])"), ["the output"]),
        (("weights / left", "weights.clone()"), ["the weights"]),
    ],
    "find": [
        (("w_q(vectors[:, -1:])", "0 * w_q(vectors[:, -1:])"), ["found by content"]),
        (("range(700)", "range(1)"), ["better than", "found by content"]),
    ],
}  # fmt: skip
CASES = [(name, *mistake) for name, mistakes in MISTAKES.items() for mistake in mistakes]


@pytest.mark.parametrize(("name", "change", "wanted"), CASES)
def test_a_mistake_loses_exactly_its_properties(name, change, wanted):
    (task,) = [task for task in FIRST.automatic if task.name == name]
    function = defined(FIRST, task, change)
    found = lost(task, function)
    assert [f[: len(w)] for f, w in zip(found, wanted, strict=True)] == wanted


@pytest.mark.parametrize(
    ("name", "change", "wanted"), [c for c in CASES if c[0] not in ("by_hand", "find")]
)
def test_the_public_tests_see_it_too(name, change, wanted):
    (task,) = [task for task in FIRST.automatic if task.name == name]
    found = lost(task, defined(FIRST, task, change), public=True)
    assert found
    assert all(any(f.startswith(w) for w in wanted) for f in found)


@pytest.mark.parametrize("task", FIRST.automatic, ids=lambda task: task.name)
def test_the_solution_loses_nothing(task):
    function = defined(FIRST, task)
    assert lost(task, function) == []
    if task.name != "find":
        assert lost(task, function, public=True) == []


# The tests themselves


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
