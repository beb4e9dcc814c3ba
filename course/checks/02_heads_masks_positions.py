"""Assignment 2: heads, masks and positions. Follows chapters 5 to 7."""

import math

import numpy as np

from course.checks import Assignment, Property, Task, at_least, case, normal, only, own_part

# The plain way, number by number


def by_hand(numbers):
    """The student's numbers -> scores, weights, output, as plain numbers; head by head."""
    query, keys = numbers["query"], numbers["keys"]
    values = numbers["value_0"], numbers["value_1"]
    scores, weights, output = [], [], []
    for i in (0, 2):  # the first column of each head
        mine = [(query[i] * k[i] + query[i + 1] * k[i + 1]) / 2**0.5 for k in keys]
        powers = [2.718281828459045**score for score in mine]
        shares = [power / sum(powers) for power in powers]
        for j in (i, i + 1):
            output.append(sum(w * v[j] for w, v in zip(shares, values, strict=True)))
        scores, weights = scores + mine, weights + shares
    return [{"shape": [4], "data": part} for part in (scores, weights, output)]


def split_and_join(x, heads):
    B, H, T, d = heads.shape
    split, joined = (
        np.zeros((*x.shape[:1], H, x.shape[1], x.shape[2] // H)),
        np.zeros((B, T, H * d)),
    )
    for b, h, t, j in np.ndindex(*split.shape):
        split[b, h, t, j] = x[b, t, h * split.shape[3] + j]
    for b, h, t, j in np.ndindex(B, H, T, d):
        joined[b, t, h * d + j] = heads[b, h, t, j]
    return split, joined


def make_masks(lengths, T, width):
    past, near = np.zeros((T, T), dtype=bool), np.zeros((T, T), dtype=bool)
    real, every = (
        np.zeros((len(lengths), 1, T), dtype=bool),
        np.zeros((len(lengths), T, T), dtype=bool),
    )
    for b, t, s in np.ndindex(*every.shape):
        past[t, s] = s <= t
        near[t, s] = abs(t - s) <= width
        real[b, 0, s] = s < lengths[b]
        every[b, t, s] = past[t, s] and near[t, s] and real[b, 0, s]
    return past, near, real, every


def waves(places, D, base):
    table = np.zeros((len(places), D))
    for t, place in enumerate(places):
        for column in range(D):
            angle = place / base ** (2 * (column // 2) / D)
            table[t, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


def turned(x, places, base):
    """x (..., T, d), each pair turned by the angles of its place."""
    *_, T, d = x.shape
    result = np.zeros_like(x)
    for t in range(T):
        for j in range(0, d, 2):
            angle = places[t] / base ** (j / d)
            u, v = x[..., t, j], x[..., t, j + 1]
            result[..., t, j] = u * math.cos(angle) - v * math.sin(angle)
            result[..., t, j + 1] = u * math.sin(angle) + v * math.cos(angle)
    return result


def rotary_scores(query, key, here, there, base):
    """The scores come from the differences of the places alone: only the keys are turned."""
    T, d = query.shape[-2:]
    scores = np.zeros((*query.shape[:-1], key.shape[-2]))
    for t in range(T):
        on = turned(key, there - here[t], base)
        scores[..., t, :] = (on * query[..., t : t + 1, :]).sum(axis=-1) / math.sqrt(d)
    return turned(query, here, base), scores


def multi_head(x, w_q, w_k, w_v, w_o, H, mask):
    """One head after the other, one query after the other."""
    B, T, D = x.shape
    d = D // H
    mask = np.broadcast_to(mask, (B, T, T))
    joined, weights = np.zeros((B, T, D)), np.zeros((B, H, T, T))
    for b, h, t in np.ndindex(B, H, T):
        own = slice(h * d, (h + 1) * d)
        query, keys, values = x[b, t] @ w_q[:, own], x[b] @ w_k[:, own], x[b] @ w_v[:, own]
        powers = [
            math.exp(query @ keys[s] / math.sqrt(d)) if mask[b, t, s] else 0 for s in range(T)
        ]
        for s in range(T):
            weights[b, h, t, s] = powers[s] / sum(powers)
            joined[b, t, own] += weights[b, h, t, s] * values[s]
    return joined @ w_o, weights


# The cases


def by_hand_cases(rng, public):
    return [
        Property("four scores, two a head", 1, own_part(0, 3, {"shape": [4]})),
        Property(
            "four weights: those of a head sum to 1", 1, own_part(1, 3, {"shape": [4], "sum": 2})
        ),
        Property(
            "the outputs of both heads, joined: four numbers", 2, own_part(2, 3, {"shape": [4]})
        ),
    ]


def heads_cases(rng, public):
    B, T, H, d = (1, 3, 2, 4) if public else (3, 7, 4, 5)
    args = normal(rng, B, T, H * d), normal(rng, B, H, T, d)

    def part(i):
        return [case(only(split_and_join, i), *args)]

    return [
        Property("split: head h gets its own columns of every place", 2, part(0)),
        Property("join: the heads of a place stand side by side again", 2, part(1)),
    ]


def masks_cases(rng, public):
    B, T, width = (2, 4, 1) if public else (6, 9, 2)
    lengths = rng.integers(1, T, B)
    lengths[0] = T if public else 0

    def part(i):
        return [case(only(make_masks, i), lengths, T, width)]

    return [
        Property("causal: the past and the place itself, not the future", 1, part(0)),
        Property("window: at most `width` places away, on either side", 1, part(1)),
        Property("padding: the real keys of each sequence, (B, 1, T)", 1, part(2)),
        Property("all three at once, (B, T, T)", 2, part(3)),
    ]


def waves_cases(rng, public):
    T, high, D, odd = (3, 9, 4, 3) if public else (5, 300, 10, 7)

    def cases(D, base=10_000.0):
        return [case(waves, rng.permutation(high)[:T], D, base)]

    return [
        Property("the first pair: sine and cosine of the place itself", 1, cases(2)),
        Property("pair i turns base^(2i/D) times as slowly, sine before cosine", 2, cases(D)),
        Property("another base", 1, cases(D - 2 if D > 4 else D, 100.0)),
        Property("an odd D ends with a sine", 1, cases(odd)),
    ]


def rotary_cases(rng, public):
    T, S, d, high = (2, 3, 4, 9) if public else (5, 7, 6, 120)
    base = 100.0 if public else 10_000.0

    def cases(part, d=d, shape=()):
        args = normal(rng, *shape, T, d), normal(rng, *shape, S, d)
        at = rng.permutation(high)[:T], rng.permutation(high)[:S]
        return [case(only(rotary_scores, part), *args, *at, base)]

    leading = (2, 1) if public else (2, 3)
    return [
        Property("one pair turns by the angle of its place", 1, cases(0, 2)),
        Property("neighbours make a pair; pair i turns base^(2i/d) times as slowly", 2, cases(0)),
        Property("the scores, over √d: only differences of places count", 2, cases(1)),
        Property("any leading axes, such as (B, H, T, d)", 1, cases(1, shape=leading)),
    ]


def multi_head_cases(rng, public):
    B, T, D, H = (1, 3, 4, 2) if public else (2, 5, 12, 3)
    padded = (3, 2) if public else (4, 5)  # B and T
    causal = np.tril(np.ones((T, T), dtype=bool))
    real = np.arange(padded[1]) < rng.integers(1, padded[1] + 1, (padded[0], 1, 1))  # (B, 1, T)
    real[0, 0, -1] = False

    def cases(part, mask, H=H, shape=(B, T)):
        matrices = [normal(rng, D, D) for _ in range(4)]
        return [case(only(multi_head, part), normal(rng, *shape, D), *matrices, H, mask)]

    return [
        Property("one head", 1, cases(0, causal | True, 1)),
        Property("several heads: each attends on its own, over √d", 2, cases(0, causal | True)),
        Property("the weights (B, H, T, T) come second", 1, cases(1, causal | True)),
        Property("a mask (T, T) holds for all sequences and heads", 1, cases(0, causal)),
        Property("a mask (B, 1, T) holds for all heads", 1, cases(0, real, shape=padded)),
    ]


WORDS, LENGTH = 12, 10


def sentences(rng, n):
    """Words 2 ... 11, and once each the words 0 and 1: (n, 10) ids; whether 0 comes first (n,)."""
    words = rng.integers(2, WORDS, (n, LENGTH))
    a, b = rng.permuted(np.tile(np.arange(LENGTH), (n, 1)), axis=1)[:, :2].T
    words[np.arange(n), a], words[np.arange(n), b] = 0, 1
    return words, (a < b).astype(int)


def before_cases(rng, public):
    (x, y), (new, labels) = sentences(rng, 1000), sentences(rng, 400 if public else 600)
    ids = rng.permutation(WORDS)  # else the rule could be written down

    return [
        Property(
            "better than without order: at least 65 % right",
            2,
            at_least(0.65, labels, ids[x], y, ids[new]),
        ),
        Property(
            "the order is known: at least 90 % right", 3, at_least(0.9, labels, ids[x], y, ids[new])
        ),
    ]


ASSIGNMENT = Assignment(
    name="02_heads_masks_positions",
    title="Heads, masks and positions",
    chapters="5 to 7",
    hours=6,
    numbers={
        "query": {"shape": [4], "low": 1, "high": 3},
        "keys": {"shape": [2, 4], "low": -1, "high": 1},
        # Apart, so that the output tells the weights.
        "value_0": {"shape": [4], "low": 0, "high": 2},
        "value_1": {"shape": [4], "low": 3, "high": 5},
    },
    tasks=[
        Task(
            "by_hand", "by_hand", 4, "two heads, each with its own softmax", by_hand_cases, by_hand
        ),
        Task("heads", "split_and_join", 4, "heads as an axis, and back", heads_cases),
        Task("masks", "make_masks", 5, "causal, window, padding, combined", masks_cases),
        Task("waves", "waves", 5, "sine and cosine positions", waves_cases),
        Task("rotary", "rotary_scores", 6, "scores of differences of places", rotary_cases),
        Task(
            "multi_head", "multi_head", 6, "projections, heads, masks: the layer", multi_head_cases
        ),
        Task("before", "before", 5, "order, learned from positions", before_cases, seconds=20),
        Task("explain", None, 4, "what grows with the length, and how fast"),
    ],
)
