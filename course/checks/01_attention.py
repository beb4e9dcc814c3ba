"""Assignment 1: attention by hand and as matrices. Follows chapters 1 to 4."""

import math

import numpy as np

from course.checks import Assignment, Property, Task, at_least, case, normal, own_part, softmax

# The plain way, number by number


def attend(query, key, value, mask=None):
    """Any leading axes -> the output and the weights; a query that sees nothing gets zeros."""
    *leading, T, d = query.shape
    S, d_v = value.shape[-2:]
    mask = np.broadcast_to(True if mask is None else mask, (*leading, T, S))
    output, weights = np.zeros((*leading, T, d_v)), np.zeros((*leading, T, S))
    for at in np.ndindex(*leading, T):
        batch = at[:-1]
        seen = [s for s in range(S) if mask[(*at, s)]]
        if seen:
            scores = np.array([query[at] @ key[(*batch, s)] / math.sqrt(d) for s in seen])
            for s, weight in zip(seen, softmax(scores), strict=True):
                weights[(*at, s)] = weight
                output[at] += weight * value[(*batch, s)]
    return output, weights


def output_alone(*args):
    return attend(*args)[0]


def without_key(output, weights, value, i):
    kept = [s for s in range(weights.shape[1]) if s != i]
    new = np.zeros_like(weights)
    for t in range(weights.shape[0]):
        total = sum(weights[t, s] for s in kept)
        for s in kept:
            new[t, s] = weights[t, s] / total
    return new @ value, new


def by_hand(numbers):
    """The student's numbers -> scores, weights, output, as plain numbers."""
    query, keys, values = numbers["query"], numbers["keys"], numbers["values"]
    scores = [sum(a * b for a, b in zip(query, key, strict=True)) / 2 for key in keys]
    powers = [2.718281828459045**score for score in scores]
    weights = [power / sum(powers) for power in powers]
    output = [sum(w * v[j] for w, v in zip(weights, values, strict=True)) for j in range(2)]
    return [{"shape": [len(part)], "data": part} for part in (scores, weights, output)]


# The cases


def by_hand_cases(rng, public):
    return [
        Property("three scores", 1, own_part(0, 3, {"shape": [3]})),
        Property("three weights that sum to 1", 2, own_part(1, 3, {"shape": [3], "sum": 1})),
        Property("an output as wide as a value", 1, own_part(2, 3, {"shape": [2]})),
    ]


def softmax_cases(rng, public):
    n, shape = (3, (2, 3)) if public else (7, (2, 5, 3))
    large = np.array([1000.0, 1001.0, -1000.0] if public else [-2000.0, 3000.0, 2999.0, 10.0])
    return [
        Property("a single row of small scores", 1, [case(softmax, normal(rng, n))]),
        Property("large scores do not overflow", 1, [case(softmax, large)]),
        Property("each row of the last axis on its own", 1, [case(softmax, normal(rng, *shape))]),
    ]


def loop_cases(rng, public):
    T, S, d, d_v = (2, 3, 4, 1) if public else (5, 7, 3, 11)
    key, value = normal(rng, S, d), normal(rng, S, d_v)
    query = normal(rng, T, d)
    large = 60 * query
    return [
        Property(
            "a query of zeros gives the mean of the values",
            1,
            [case(output_alone, np.zeros((T, d)), key, value)],
        ),
        Property(
            "scores are divided by √d before the softmax",
            2,
            [case(output_alone, query, key, value)],
        ),
        Property("large scores do not overflow", 1, [case(output_alone, large, 60 * key, value)]),
    ]


def matrix_cases(rng, public):
    T, S, d, d_v = (2, 3, 4, 1) if public else (5, 7, 3, 11)
    leading = [(2,)] if public else [(2,), (3, 2)]

    def cases(shapes, part):
        found = []
        for shape in shapes:
            args = normal(rng, *shape, T, d), normal(rng, *shape, S, d), normal(rng, *shape, S, d_v)
            found.append(case(lambda *a: (*attend(*a)[:part], *[None] * (2 - part)), *args))
        return found

    return [
        Property("the output, with two axes", 2, cases([()], 1)),
        Property("the weights come second", 1, cases([()], 2)),
        Property("any leading axes", 2, cases(leading, 1)),
    ]


def masked_cases(rng, public):
    B, T, S, d, d_v = (2, 2, 3, 4, 1) if public else (3, 5, 7, 2, 11)
    mask = rng.random((T, S)) < 0.6
    mask[:, 0], mask[0, 1] = True, False
    none = mask.copy()
    none[1] = False
    lengths = np.arange(S) < rng.integers(1, S, size=(B, 1, 1))  # (B, 1, S)

    def cases(*masks, shape=()):
        args = normal(rng, *shape, T, d), normal(rng, *shape, S, d), normal(rng, *shape, S, d_v)
        return [case(attend, *args, m) for m in masks]

    return [
        Property("True = may attend, False = weight zero", 2, cases(mask)),
        Property("a mask (B, 1, S) serves all queries", 1, cases(lengths, shape=(B,))),
        Property("a query that may attend to nothing gives zeros", 2, cases(none)),
    ]


def without_cases(rng, public):
    T, S, d, d_v, i = (2, 3, 4, 1, 1) if public else (5, 7, 3, 11, 4)
    value = normal(rng, S, d_v)
    output, weights = attend(normal(rng, T, d), normal(rng, S, d), value)

    def only(part):
        def reference(*args):
            return tuple(x if j == part else None for j, x in enumerate(without_key(*args)))

        return [case(reference, output, weights, value, i)]

    return [
        Property("the weights that are left sum to 1 again", 1, only(1)),
        Property("the output without the key", 2, only(0)),
    ]


COLOURS, COUNT = 4, 5


def questions(rng, n):
    """Four colours, each with a number, then one colour: (n, 5) ids, and its number (n,)."""
    number = rng.integers(0, COUNT, (n, COLOURS))
    order = rng.permuted(np.tile(np.arange(COLOURS), (n, 1)), axis=1)
    asked = rng.integers(0, COLOURS, (n, 1))
    words = COUNT * order + np.take_along_axis(number, order, axis=1)
    answer = np.take_along_axis(number, asked, axis=1)[:, 0]
    return np.concatenate((words, COUNT * COLOURS + asked), axis=1), answer


def find_cases(rng, public):
    (x, y), (new, labels) = questions(rng, 2000), questions(rng, 400 if public else 700)
    words = rng.permutation(COLOURS * (COUNT + 1))  # else the rule could be written down

    return [
        Property(
            "better than a guess: at least 35 % right",
            2,
            at_least(0.35, labels, words[x], y, words[new]),
        ),
        Property(
            "found by content: at least 90 % right",
            3,
            at_least(0.9, labels, words[x], y, words[new]),
        ),
    ]


ASSIGNMENT = Assignment(
    name="01_attention",
    title="Attention by hand and as matrices",
    chapters="1 to 4",
    hours=5,
    numbers={
        "query": {"shape": [4], "low": -2, "high": 2},
        "keys": {"shape": [3, 4], "low": -1, "high": 1},
        "values": {"shape": [3, 2], "low": 0, "high": 9},
    },
    tasks=[
        Task("by_hand", "by_hand", 4, "score, softmax, weighted sum", by_hand_cases, by_hand),
        Task("softmax", "softmax", 3, "a softmax that does not overflow", softmax_cases),
        Task("loop", "attention_loop", 4, "the formula as loops", loop_cases),
        Task("matrices", "attention_matrices", 5, "loops as matrix products", matrix_cases),
        Task("masked", "masked_attention", 5, "masks, and rows masked whole", masked_cases),
        Task("without", "without_key", 3, "the output is linear in the weights", without_cases),
        Task("find", "find", 5, "look-up by content, learned", find_cases, seconds=20),
        Task("explain", None, 4, "to read an attention map"),
    ],
)
