"""Assignment 4: cross-attention and decoding. Follows chapters 10 and 11."""

import math

import numpy as np

from course.checks import (
    Assignment,
    Property,
    Task,
    at_least,
    case,
    normal,
    only,
    own_part,
    softmax,
)

PAD, BOS, EOS, IGNORE = 0, 1, 2, -100

# The plain way, number by number


def by_hand(numbers):
    """The student's numbers -> weights, vector, log-probabilities, their sum, as plain numbers."""
    import math  # it stands alone

    query, keys, values = numbers["query"], numbers["keys"], numbers["values"]
    scores = [sum(a * b for a, b in zip(query, key, strict=True)) / 2 for key in keys[:3]]
    powers = [math.exp(score) for score in scores]
    weights = [*(power / sum(powers) for power in powers), 0.0]
    found = [sum(w * v[j] for w, v in zip(weights, values, strict=True)) for j in range(2)]
    log_p = []
    for row, token in zip(numbers["logits"], (1, 0, 2), strict=True):
        log_p.append(row[token] - math.log(sum(math.exp(x) for x in row)))
    vectors = [{"shape": [len(part)], "data": part} for part in (weights, found, log_p)]
    return [*vectors, {"shape": [], "data": [sum(log_p)]}]


def cross(x, memory, w_q, w_k, w_v, real):
    """One sequence that asks, one that answers -> the output and the weights."""
    T, S, D = len(x), len(memory), len(w_q)
    output, weights = np.zeros((T, D)), np.zeros((T, S))
    for t in range(T):
        seen = [s for s in range(S) if real[s]]
        scores = [(x[t] @ w_q) @ (memory[s] @ w_k) / math.sqrt(D) for s in seen]
        for s, weight in zip(seen, softmax(np.array(scores)), strict=True):
            weights[t, s] = weight
            output[t] += weight * (memory[s] @ w_v)
    return output, weights


def cross_batch(x, memory, w_q, w_k, w_v, real):
    pairs = zip(x, memory, real, strict=True)
    rows = [cross(row, answers, w_q, w_k, w_v, seen) for row, answers, seen in pairs]
    return tuple(np.stack(part) for part in zip(*rows, strict=True))


def teacher_forcing(targets, logits, smoothing):
    inputs, labels = np.zeros_like(targets), np.zeros_like(targets)
    total, count = 0.0, 0
    for b, t in np.ndindex(*targets.shape):
        inputs[b, t] = targets[b, t - 1] if t else BOS
        labels[b, t] = IGNORE if targets[b, t] == PAD else targets[b, t]
        if targets[b, t] != PAD:
            log_p = np.log(softmax(logits[b, t]))
            total -= (1 - smoothing) * log_p[targets[b, t]] + smoothing * log_p.mean()
            count += 1
    return inputs, labels, total / count


def beam_search(first, then, eos, beams, max_new):
    """Texts as tuples; of equal ones that which comes first."""
    growing, finished = [((), 0.0)], []
    for n in range(1, max_new + 1):
        grown = []
        for text, log_p in growing:
            row = then[text[-1]] if text else first
            grown += [((*text, token), log_p + row[token]) for token in range(len(row))]
        grown.sort(key=lambda one: one[1], reverse=True)
        for text, log_p in grown[:beams]:
            if text[-1] == eos or n == max_new:
                finished.append((text, log_p / n))
        growing = [one for one in grown if one[0][-1] != eos][:beams]
        if len(finished) >= beams:
            break
    text, score = max(finished, key=lambda one: one[1])
    return np.array(text), score


def edits(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, j in np.ndindex(*table.shape):
        if i and j:
            changed = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(changed, table[i - 1, j] + 1, table[i, j - 1] + 1)
        else:
            table[i, j] = i + j
    return table[-1, -1]


def phoneme_error_rate(said, listed):
    wrong = count = 0
    for word, rows in zip(said.tolist(), listed.tolist(), strict=True):
        word = [p for p in word if p]
        sounds = [[p for p in row if p] for row in rows if row[0]]
        nearest = min(sounds, key=lambda sound: edits(word, sound))
        wrong, count = wrong + edits(word, nearest), count + len(nearest)
    return wrong / count


# The cases


def by_hand_cases(rng, public):
    return [
        Property("four weights that sum to 1", 2, own_part(0, 4, {"shape": [4], "sum": 1})),
        Property("a vector as wide as a value", 1, own_part(1, 4, {"shape": [2]})),
        Property("a log-probability for each of three tokens", 1, own_part(2, 4, {"shape": [3]})),
        Property("one log-probability of the whole output", 1, own_part(3, 4, {"shape": []})),
    ]


def sequences(rng, public, *leading):
    T, S, D = (2, 4, 3) if public else (5, 7, 6)
    x, memory = normal(rng, *leading, T, D), normal(rng, *leading, S, D)
    return x, memory, normal(rng, D, D), normal(rng, D, D), normal(rng, D, D)


def loop_cases(rng, public):
    args = sequences(rng, public)
    none, rest = np.zeros_like(args[2]), args[3:]
    S = len(args[1])
    real = np.arange(S) < S - 2
    all_real = np.ones(S, dtype=bool)

    def first(*arguments):
        return cross(*arguments)[0]

    return [
        Property(
            "a query of zeros gives the mean of the values, which come from the memory",
            1,
            [case(first, *args[:2], none, *rest, all_real)],
        ),
        Property("queries from x, keys from the memory", 2, [case(first, *args, all_real)]),
        Property("padding is not looked at", 1, [case(first, *args[:2], none, *rest, real)]),
    ]


def matrix_cases(rng, public):
    B = 2 if public else 3
    args = sequences(rng, public, B)
    S = args[1].shape[1]
    lengths = np.array([2, 4] if public else [4, 7, 1])
    real = np.arange(S) < lengths[:, None]
    none = np.ones_like(real)
    return [
        Property("the output, without padding", 2, [case(only(cross_batch, 0), *args, none)]),
        Property("the weights (B, T, S) come second", 1, [case(only(cross_batch, 1), *args, none)]),
        Property("padding gets no weight", 2, [case(only(cross_batch, 1), *args, real)]),
    ]


def teacher_cases(rng, public):
    B, L, V = (2, 3, 4) if public else (4, 9, 7)
    lengths = np.array([3, 2] if public else [9, 4, 2, 7])
    full = rng.integers(3, V, (B, L))
    full[:, -1] = EOS
    targets = rng.integers(3, V, (B, L))
    targets[np.arange(B), lengths - 1] = EOS
    targets[np.arange(L) >= lengths[:, None]] = PAD
    logits = 2 * normal(rng, B, L, V)

    def cases(part, ids, smoothing):
        return [case(only(teacher_forcing, part), ids, logits, smoothing)]

    return [
        Property("inputs: BOS, then each target one place later", 1, cases(0, full, 0.0)),
        Property("labels: the targets, EOS too", 1, cases(1, full, 0.0)),
        Property("the label of padding is IGNORE", 1, cases(1, targets, 0.0)),
        Property("the loss without smoothing", 1, cases(2, full, 0.0)),
        Property("label smoothing", 1, cases(2, full, 0.1 if public else 0.3)),
        Property("the mean is over real tokens only", 1, cases(2, targets, 0.0)),
    ]


def tables(rng, public, start, after_a, after_b):
    """Probabilities of a, b and EOS, at first and behind a and b -> first, then, eos.

    In the hidden ones, other tokens stand between, each with a small probability. What stands
    behind EOS tempts a search that goes on there.
    """
    V, eos = (3, 2) if public else (6, 1)
    a, b = (0, 1) if public else np.sort(rng.permutation([0, 2, 3, 4, 5])[:2])

    def row(*p):
        found = 0.002 * rng.random(V)
        found[[a, b, eos]] = p
        return np.log(found / found.sum())

    then = np.log(rng.dirichlet(np.ones(V), V))
    then[a], then[b], then[eos] = row(*after_a), row(*after_b), row(0.98, 0.01, 0.01)
    return row(*start), then, eos


def beam_cases(rng, public):
    lost = tables(rng, public, (0.55, 0.44, 0.01), (0.4, 0.59, 0.01), (0.95, 0.04, 0.01))
    ends = tables(rng, public, (0.6, 0.37, 0.03), (0.07, 0.03, 0.9), (0.35, 0.6, 0.05))
    mean = tables(rng, public, (0.55, 0.05, 0.4), (0.6, 0.25, 0.15), (0.3, 0.6, 0.1))
    after = (0.5, 0.48, 0.02), (0.95, 0.03, 0.02)
    alike = [tables(rng, public, (0.49, 0.49, 0.02), *after[::way]) for way in (1, -1)]
    text = only(beam_search, 0)
    long = 3 if public else 5
    return [
        Property("one beam is greedy", 1, [case(text, *lost, 1, long)]),
        Property("two beams find what greedy loses", 1, [case(text, *lost, 2, 2)]),
        Property("a text ends at EOS and does not grow", 2, [case(text, *ends, 2, long + 1)]),
        Property(
            "the mean over its tokens decides, and comes second",
            1,
            [case(beam_search, *mean, 2, long)],
        ),
        Property(
            "equally probable beams both go on",
            1,
            [case(text, *some, 2, 2) for some in alike],
        ),
    ]


def rate_cases(rng, public):
    n, V = (4, 9) if public else (9, 30)

    def batch(words, width):
        return np.array([word + [PAD] * (width - len(word)) for word in words])

    def cases(said, listed):
        wide = max(map(len, said)) + 1
        P, m = max(map(len, listed)), max(len(s) for row in listed for s in row) + 1
        rows = [batch(row + [[]] * (P - len(row)), m) for row in listed]
        return [case(phoneme_error_rate, batch(said, wide), np.stack(rows))]

    def sound(length):
        return (1 + rng.permutation(V)[:length]).tolist()

    right = sound(n)
    changed = [V + 1, *right[1:-1], V + 2]
    moved = right[1:]  # one deletion; place by place, all are wrong
    longer = [right[0], V + 1, *right[1:]]
    short, long = sound(2), sound(n + 2)
    near = sound(n)
    return [
        Property("substitutions", 1, cases([changed], [[right]])),
        Property(
            "insertions and deletions",
            2,
            [*cases([moved], [[right]]), *cases([longer], [[right]]), *cases([[]], [[right]])],
        ),
        Property(
            "edits of all words, over phonemes of all words",
            1,
            cases([[short[0], V + 1], long], [[short], [long]]),
        ),
        Property(
            "the nearest listed pronunciation counts, of equally near ones the first",
            1,
            [
                *cases([near], [[near[1:], near]]),
                *cases([near], [[[*near[:-1], V + 1], [*near, V + 2], near[:1]]]),
            ],
        ),
    ]


# Letters and sounds of the training: two pairs of letters make one sound, one letter makes two.
LETTERS, SOUNDS = 12, 14


def pronounced(word):
    sounds, i = [], 0
    while i < len(word):
        if word[i] < 2 and word[i + 1 : i + 2] == [11]:
            sounds.append(12 + word[i])
            i += 1
        else:
            sounds += [2, 3] if word[i] == 10 else [word[i]]
        i += 1
    return sounds


def words(rng, n):
    """Letters (n, 8) and sounds (n, 9), each with EOS, dealt at random to the ids from 3 on."""
    pairs = 2 * [[0, 11], [1, 11]]
    parts = [*([letter] for letter in range(LETTERS)), *pairs, [10]]
    letter_ids, sound_ids = 3 + rng.permutation(LETTERS), 3 + rng.permutation(SOUNDS)
    source, targets = np.full((n, 8), PAD), np.full((n, 9), PAD)
    for row in range(n):
        word, sounds = [], []
        while not word or len(word) > 8 or len(sounds) > 8:
            chosen = rng.integers(0, len(parts), rng.integers(3, 7))
            word = [letter for part in chosen for letter in parts[part]]
            sounds = pronounced(word)
        source[row, : len(word)] = letter_ids[word]
        targets[row, : len(sounds) + 1] = [*sound_ids[sounds], EOS]
    return source, targets


def begun(rng, targets):
    """A beginning of each, behind BOS (n, L), and the token that comes next (n,)."""
    n, L = targets.shape
    places = rng.integers(0, (targets != PAD).sum(axis=1))
    inputs = np.concatenate((np.full((n, 1), BOS), targets[:, :-1]), axis=1)
    inputs[np.arange(L) > places[:, None]] = PAD
    return inputs, targets[np.arange(n), places]


def pronounce_cases(rng, public):
    known, new = 1500, 400 if public else 600
    source, targets = words(rng, known + new)
    beginnings, labels = begun(rng, targets[known:])
    given = source[:known], targets[:known], source[known:], beginnings

    return [
        Property("better than a guess: at least 40 % right", 2, at_least(0.4, labels, *given)),
        Property(
            "it looks at the right letter: at least 90 % right", 3, at_least(0.9, labels, *given)
        ),
    ]


ASSIGNMENT = Assignment(
    name="04_cross_attention",
    title="Cross-attention and decoding",
    chapters="10 and 11",
    hours=6,
    numbers={
        "query": {"shape": [4], "low": -2, "high": 2},
        "keys": {"shape": [4, 4], "low": -1, "high": 1},
        "values": {"shape": [4, 2], "low": 0, "high": 9},
        "logits": {"shape": [3, 3], "low": -2, "high": 3},
    },
    tasks=[
        Task("by_hand", "by_hand", 5, "a look-up, and how probable a text is", by_hand_cases,
             by_hand),
        Task("loop", "cross_attention_loop", 4, "two sequences, as loops", loop_cases),
        Task("matrices", "cross_attention", 5, "the same for batches with padding", matrix_cases),
        Task("teacher", "teacher_forcing", 6, "inputs, labels and their loss", teacher_cases),
        Task("beam", "beam_search", 6, "a search along several beginnings", beam_cases),
        Task("rate", "phoneme_error_rate", 5, "edit distance and the phoneme error rate",
             rate_cases),
        Task("pronounce", "next_sounds", 5, "an alignment, learned", pronounce_cases, seconds=20),
        Task("explain", None, 4, "to read an alignment map"),
    ],
)  # fmt: skip
