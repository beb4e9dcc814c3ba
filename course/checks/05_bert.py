"""Assignment 5: BERT's objectives and fine-tuning. Follows chapters 12 and 13."""

import itertools
import math

import numpy as np

from course.checks import Assignment, Property, Task, at_least, case, only, own_part

PAD, UNK, CLS, SEP, MASK = range(5)  # ids from 5 on are words
IGNORE = -100
SHARE = 0.15

# The plain way, number by number


def join(a, b):
    """Padded sentences (B, T_a), (B, T_b) -> ids, attention_mask, token_type_ids (B, T)."""
    rows = []
    for first, second in zip(a.tolist(), b.tolist(), strict=True):
        first, second = ([i for i in s if i != PAD] for s in (first, second))
        rows.append(([CLS, *first, SEP], [*second, SEP]))
    length = max(len(first) + len(second) for first, second in rows)
    found = np.zeros((3, len(rows), length), dtype=int)
    for i, (first, second) in enumerate(rows):
        end = len(first) + len(second)
        found[0, i, :end] = first + second
        found[1, i, :end] = 1
        found[2, i, len(first) : end] = 1
    return tuple(found)


def hide(ids, u, v, r, share=SHARE):
    """Any shape, all the same -> what is read, and the labels."""
    inputs, labels = ids.copy(), np.full_like(ids, IGNORE)
    for at in np.ndindex(ids.shape):
        if ids[at] > MASK and u[at] < share:
            labels[at] = ids[at]
            if v[at] < 0.8:
                inputs[at] = MASK
            elif v[at] < 0.9:
                inputs[at] = r[at]
    return inputs, labels


def cosine(x, y):
    return float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))


def auc(a, b, similarity=cosine):
    """The vectors of two senses (n, D), (m, D) -> how often a pair within is closer."""
    within = [similarity(*pair) for group in (a, b) for pair in itertools.combinations(group, 2)]
    across = np.array([similarity(x, y) for x in a for y in b])
    wins = sum(np.sum(across < w) + np.sum(across == w) / 2 for w in within)
    return wins / (len(within) * len(across))


def spans(start, end, text, longest):
    """All spans that are allowed in one row, the best one first: (sum, i, j)."""
    T = len(start)
    found = [
        (float(start[i] + end[j]), i, j)
        for i in range(T)
        for j in range(i, min(i + longest, T))
        if text[i] and text[j]
    ]
    return sorted(found, reverse=True)


def best_span(start, end, text, longest):
    rows = zip(start, end, text, strict=True)
    return np.array([spans(*row, longest)[0][1:] for row in rows])


def by_hand(numbers):
    """The student's numbers -> two probabilities, the loss, the mean, as plain numbers."""
    from math import exp, log  # its source stands alone in the instructor's notebook

    right = []
    for logits, word in zip(numbers["logits"][1:], numbers["hidden"], strict=True):
        right.append(exp(logits[word]) / sum(map(exp, logits)))
    loss = -sum(map(log, right)) / 2
    first, second, _ = numbers["vectors"]
    mean = [(x + y) / 2 for x, y in zip(first, second, strict=True)]
    return [
        {"shape": [2], "data": right},
        {"shape": [], "data": [loss]},
        {"shape": [2], "data": mean},
    ]


# The cases


def by_hand_cases(rng, public):
    return [
        Property("two probabilities, each of the hidden word", 2, own_part(0, 3, {"shape": [2]})),
        Property("a loss: one number", 1, own_part(1, 3, {"shape": []})),
        Property("a mean as wide as a vector", 1, own_part(2, 3, {"shape": [2]})),
    ]


def sentences(rng, lengths, width):
    """Word ids, (B, width), [PAD] behind."""
    found = np.full((len(lengths), width), PAD)
    for row, length in zip(found, lengths, strict=True):
        row[:length] = rng.integers(MASK + 1, 40, length)
    return found


def join_cases(rng, public):
    single = (2, 3) if public else (6, 4)
    # The longest a stands beside a short b; or the longest of both stand in one row.
    mixed = ([3, 1], [1, 2]) if public else ([7, 2, 3], [1, 4, 2])
    filled = ([1, 3], [1, 2]) if public else ([3, 5, 2, 1], [2, 4, 1, 3])

    def cases(part, a, b):
        args = sentences(rng, a, max(a)), sentences(rng, b, max(b))
        return [case(only(join, part), *args)]

    return [
        Property("a single pair: [CLS] a [SEP] b [SEP]", 1, cases(0, [single[0]], [single[1]])),
        Property("rows end in [PAD], as long as the longest row", 1, cases(0, *mixed)),
        Property("attention_mask: 1 at each token, 0 at [PAD]", 1, cases(1, *filled)),
        Property(
            "token_type_ids: 0 up to the first [SEP], 1 up to the second, 0 at [PAD]",
            2,
            cases(2, *filled),
        ),
    ]


def draws(rng, ids, share=SHARE, v=(0.0, 1.0), special=False):
    """u, v and r for ids: at least three words are chosen, and special tokens only on demand.

    No draw is so near to a border that float32 could change its side.
    """
    u, words = rng.uniform(share + 0.03, 0.99, ids.shape), ids > MASK
    places = rng.permutation(np.argwhere(words))
    low = places[: max(3, len(places) // 3)]
    if special:
        low = np.concatenate((low, np.argwhere(~words)))
    for at in low:
        u[tuple(at)] = rng.uniform(0.02 if share == SHARE else SHARE + 0.03, share - 0.02)
    fates = rng.uniform(*v, ids.shape).round(2)
    for at, fate in zip(places, itertools.cycle((0.86, 0.92, 0.4)), strict=False):
        if v[0] <= fate < v[1]:
            fates[tuple(at)] = fate
    fates[np.isin(fates, (0.8, 0.9))] = 0.86
    return u.round(2), fates, rng.integers(MASK + 1, 40, ids.shape)


def pair_rows(rng, lengths, T):
    """Joined pairs of which the sentences have these lengths, filled up to T."""
    rows = np.full((len(lengths), T), PAD)
    for row, (a, b) in zip(rows, lengths, strict=True):
        words = rng.integers(MASK + 1, 40, a + b)
        row[: a + b + 3] = [CLS, *words[:a], SEP, *words[a:], SEP]
    return rows


def hide_properties(rng, make):
    """What holds of both versions: `make()` gives new ids."""

    def cases(reference, **wanted):
        ids = make()
        return [case(reference, ids, *draws(rng, ids, **wanted))]

    return [
        Property("labels: the chosen words, -100 elsewhere", 1, cases(only(hide, 1), v=(0.0, 1.0))),
        Property("v below 0.8: [MASK] is read", 1, cases(only(hide, 0), v=(0.0, 0.79))),
        Property(
            "v from 0.8 to 0.9: the id of r is read; above: the word itself",
            1,
            cases(only(hide, 0), v=(0.81, 1.0)),
        ),
        Property("special tokens are never chosen", 1, cases(hide, v=(0.0, 0.79), special=True)),
    ]


def hide_loop_cases(rng, public):
    lengths, T = ((2, 2), 8) if public else ((6, 5), 17)
    return hide_properties(rng, lambda: pair_rows(rng, [lengths], T)[0])


def hide_cases(rng, public):
    lengths, T = ([(2, 1), (1, 3)], 8) if public else ([(6, 2), (3, 5), (1, 4)], 13)

    def rows():
        return pair_rows(rng, lengths, T)

    found = [
        Property(p.says, p.points, [c | {"args": [*c["args"], SHARE]} for c in p.cases])
        for p in hide_properties(rng, rows)
    ]
    other, deep = rows(), np.stack([rows() for _ in range(2 if public else 5)])
    return [
        *found,
        Property(
            "another share than 0.15",
            1,
            [case(only(hide, 1), other, *draws(rng, other, share=0.4, v=(0.0, 0.79)), 0.4)],
        ),
        Property(
            "any leading axes",
            1,
            [case(only(hide, 0), deep, *draws(rng, deep, v=(0.0, 0.79)), SHARE)],
        ),
    ]


def unit(rng, n, D, digits=3):
    x = rng.normal(size=(n, D))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).round(digits)


def clear(a, b):
    """Whether no pair within is nearly as close as a pair across."""
    within = [cosine(*pair) for group in (a, b) for pair in itertools.combinations(group, 2)]
    across = [cosine(x, y) for x in a for y in b]
    return min(abs(w - x) for w in within for x in across) > 2e-3


def auc_cases(rng, public):
    n, m, D = (2, 3, 2) if public else (5, 4, 3)
    many = (7, 5, 3) if public else (40, 50, 4)
    while True:
        a, b = unit(rng, n, D), unit(rng, m, D)
        if clear(a, b) and 0.1 < auc(a, b) < 0.9:
            break
    while True:
        long, other = unit(rng, n + 1, D), unit(rng, m, D)
        long, other = ((x * rng.uniform(0.3, 4, (len(x), 1))).round(2) for x in (long, other))
        careless = auc(long, other, similarity=np.dot)
        if clear(long, other) and abs(careless - auc(long, other)) > 0.05:
            break
    axes = np.eye(D + 1)
    one, two = ([0, 0, 1], [0, 1]) if public else ([0, 0, 0, 1, 2], [1, 1, 3, 1])
    return [
        Property("pairs within against pairs across", 2, [case(auc, a, b)]),
        Property("vectors of any length: the cosine decides", 1, [case(auc, long, other)]),
        Property("ties count half", 1, [case(auc, axes[one], axes[two])]),
        Property(
            "many vectors, in the time there is",
            1,
            [case(auc, unit(rng, many[0], many[2], 6), unit(rng, many[1], many[2], 6))],
        ),
    ]


def span_cases(rng, public):
    B, T, longest = (2, 5, 2) if public else (6, 13, 4)

    def found(wanted, rows=1, text=None, longest=T):
        """Logits, drawn until `wanted` holds of each row, and the best span is clear."""
        text = np.ones(T, dtype=bool) if text is None else text
        kept = []
        while len(kept) < rows:
            start, end = rng.normal(0, 2, (2, T)).round(2)
            best, second, *_ = spans(start, end, text, longest)
            if best[0] > second[0] + 0.05 and wanted(start, end, *best[1:]):
                kept.append((start, end))
        starts, ends = map(np.stack, zip(*kept, strict=True))
        return [case(best_span, starts, ends, np.tile(text, (rows, 1)), longest)]

    everywhere = np.ones(T, dtype=bool)

    def inverted(start, end, i, j):
        return end.argmax() < start.argmax() and i < j

    def too_long(start, end, i, j):
        """One token more or less would give another best span, and no limit a third."""
        less, best, more, free = (
            spans(start, end, everywhere, n)[0][0] for n in (longest - 1, longest, longest + 1, T)
        )
        backwards = max(start[x] + end[y] for x in range(T) for y in range(x))
        return max(less, backwards) + 0.05 < best < more - 0.05 < free - 0.1

    def outside(start, end, i, j):
        """The best span of all is not in the text; in it, the largest of each are in order."""
        best = spans(start, end, everywhere, T)[0]
        inside = tuple(np.where(part, x, -99).argmax() for x in (start, end))
        return best[1:] != (i, j) and inside == (i, j) and i < j

    part = np.zeros(T, dtype=bool)
    part[2 if public else 5 : -1] = True
    together = found(inverted) + found(lambda start, end, i, j: i == j)
    return [
        Property("no end before its start; one token is a span, too", 2, together),
        Property("at most `longest` tokens", 1, found(too_long, longest=longest)),
        Property("only inside the text", 1, found(outside, text=part)),
        Property(
            "each row on its own",
            1,
            found(lambda s, e, i, j: (s.argmax(), e.argmax()) == (i, j) and i < j, rows=B),
        ),
    ]


KINDS, NOUNS, ADVERBS = 6, 3, 8
WORDS = KINDS * (NOUNS + 1) + ADVERBS + 1


def clauses(rng, n):
    """noun adverb verb and verb adverb noun, as (n, 7) numbers of words: a noun has one verb."""
    kind = rng.integers(0, KINDS, (n, 2))
    noun = kind * NOUNS + rng.integers(0, NOUNS, (n, 2))
    verb = KINDS * NOUNS + kind
    adverb = KINDS * (NOUNS + 1) + rng.integers(0, ADVERBS, (n, 2))
    middle = np.full(n, WORDS - 1)
    order = (noun[:, 0], adverb[:, 0], verb[:, 0], middle, verb[:, 1], adverb[:, 1], noun[:, 1])
    return np.stack(order, axis=1)


def fill_cases(rng, public):
    x, whole = clauses(rng, 2000), clauses(rng, 300 if public else 500)
    words = MASK + 1 + rng.permutation(WORDS)  # else the rule could be written down
    x, whole = words[x], words[whole]
    new, verbs = whole.copy(), whole[:, [2, 4]]
    new[:, [2, 4]] = MASK

    return [
        Property("better than a guess: at least 40 % right", 2, at_least(0.4, verbs, x, new)),
        Property("each verb by its own noun: at least 90 % right", 4, at_least(0.9, verbs, x, new)),
    ]


ASSIGNMENT = Assignment(
    name="05_bert",
    title="BERT's objectives and fine-tuning",
    chapters="12 and 13",
    hours=6,
    numbers={
        "logits": {"shape": [3, 4], "low": -2, "high": 2},
        "hidden": {"shape": [2], "low": 0, "high": 3},
        "vectors": {"shape": [3, 2], "low": 0, "high": 9},
    },
    tasks=[
        Task("by_hand", "by_hand", 4, "masked loss, mean without padding", by_hand_cases, by_hand),
        Task("join", "join", 5, "two sentences as one input, in a batch", join_cases),
        Task("hide_loop", "hide_loop", 4, "80/10/10, token by token", hide_loop_cases),
        Task("hide", "hide", 6, "the same for whole batches", hide_cases),
        Task("span", "best_span", 5, "an answer as a pair of places", span_cases),
        Task("senses", "auc", 5, "to compare all pairs at once", auc_cases),
        Task("fill", "fill", 6, "a masked language model, trained", fill_cases, seconds=20),
        Task("explain", None, 4, "to read what pretraining is worth"),
    ],
)
