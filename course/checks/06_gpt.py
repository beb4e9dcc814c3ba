"""Assignment 6: sampling, a small GPT, in-context learning, patches. Follows chapters 14 to 16."""

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

# The plain way, number by number


def by_hand(numbers):
    """The student's numbers -> probabilities, those after top-2, bits, as plain numbers."""
    import math  # its source stands alone in the instructor's notebook

    logits, tenths = numbers["logits"], numbers["tenths"]
    powers = [2.718281828459045 ** (logit / 2) for logit in logits]
    second = sorted(powers)[-2]
    kept = [power if power >= second else 0.0 for power in powers]
    probabilities, filtered = ([x / sum(xs) for x in xs] for xs in (powers, kept))
    bits = sum(-math.log2(n / 10) for n in tenths) / 3
    return [
        {"shape": [4], "data": probabilities},
        {"shape": [4], "data": filtered},
        {"shape": [], "data": [bits]},
    ]


def top_p(logits, p):
    """(V,) -> probabilities: the largest one by one, until they hold p."""
    probabilities = softmax(logits)
    kept = np.zeros_like(probabilities)
    total = 0.0
    for token in sorted(range(len(logits)), key=lambda token: -probabilities[token]):
        if total >= p:
            break
        kept[token] = probabilities[token]
        total += probabilities[token]
    return kept / kept.sum()


def sample(logits, u, k, p):
    """(B, V), (B,) -> the probabilities that are drawn from, and the tokens drawn."""
    probabilities, tokens = np.zeros(logits.shape), np.zeros(len(logits))
    for b, row in enumerate(logits):
        smallest = sorted(row)[-min(k, len(row))]
        probabilities[b] = top_p(np.where(row >= smallest, row, -np.inf), p)
        total, token = probabilities[b, 0], 0
        while total <= u[b]:
            token += 1
            total += probabilities[b, token]
        tokens[b] = token
    return probabilities, tokens


def norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def gpt(stream, starts, T, tokens, positions, square, w_1, w_2):
    """The labels (B, T), and the logits (B, T, V) of a GPT of one block."""
    D = tokens.shape[1]
    w_q, w_k, w_v, w_o = square
    labels, logits = np.zeros((len(starts), T)), np.zeros((len(starts), T, len(tokens)))
    for b, start in enumerate(starts):
        x = np.array([tokens[stream[start + t]] + positions[t] for t in range(T)])
        before = norm(x)
        for t in range(T):
            scores = [(before[t] @ w_q) @ (before[s] @ w_k) / math.sqrt(D) for s in range(t + 1)]
            for s, weight in enumerate(softmax(np.array(scores))):
                x[t] += weight * (before[s] @ w_v) @ w_o
        for t in range(T):
            inner = norm(x[t]) @ w_1
            x[t] += np.where(inner > 0, inner, 0) ** 2 @ w_2
            labels[b, t] = stream[start + t + 1]
            logits[b, t] = [norm(x[t]) @ row for row in tokens]
    return labels, logits


def induction(ids, weights):
    """(B, T), (B, H, T, T) -> the place behind the last time (B, T), the scores (H,)."""
    B, T = ids.shape
    places, found = np.full((B, T), -1), []
    for b in range(B):
        for t in range(T):
            behind = [s + 1 for s in range(t) if ids[b, s] == ids[b, t]]
            if behind:
                places[b, t] = behind[-1]
                found.append(sum(weights[b, :, t, s] for s in behind))
    return places, np.mean(found, axis=0)


def patches(images, kernels):
    """(B, C, height, width), (D, C, h, w) -> patches (B, N, C h w), vectors (B, N, D)."""
    (height, width), (D, _, h, w) = images.shape[2:], kernels.shape
    cut = [
        [image[:, top : top + h, left : left + w].ravel()
         for top in range(0, height, h) for left in range(0, width, w)]
        for image in images
    ]  # fmt: skip
    cut = np.array(cut)
    vectors = np.zeros((*cut.shape[:2], D))
    for b, n, d in np.ndindex(vectors.shape):
        vectors[b, n, d] = cut[b, n] @ kernels[d].ravel()
    return cut, vectors


# The cases


def by_hand_cases(rng, public):
    return [
        Property(
            "four probabilities at temperature 2 that sum to 1",
            1,
            own_part(0, 3, {"shape": [4], "sum": 1}),
        ),
        Property(
            "four probabilities after top-2 that sum to 1",
            2,
            own_part(1, 3, {"shape": [4], "sum": 1}),
        ),
        Property("one number of bits per character", 2, own_part(2, 3, {"shape": []})),
    ]


def distinct(rng, V, B=1):
    """Logits (B, V), no two of a row alike: steps in disorder, of another size in each row."""
    steps = rng.permuted(np.tile(np.arange(V), (B, 1)), axis=1) - V // 2
    return (rng.permuted(np.linspace(0.3, 1.2, B))[:, None] * steps).round(2)


def loop_cases(rng, public):
    V, p = (4, 0.7) if public else (9, 0.8)
    logits = distinct(rng, V)[0]
    few = [case(top_p, distinct(rng, V)[0], share) for share in (p, 0.95)]
    return [
        Property("as few as hold p with the one that crosses it", 2, few),
        Property("a small p leaves the most probable one", 1, [case(top_p, logits, 0.05)]),
    ]


def sample_cases(rng, public):
    B, V, k, p = (3, 5, 2, 0.6) if public else (7, 11, 6, 0.7)
    logits, ties = distinct(rng, V, B), distinct(rng, V, B)
    for row in ties:
        by_size = np.argsort(row)
        row[by_size[-k - 1]] = row[by_size[-k]]
    u = ((rng.permutation(B) + rng.uniform(0.1, 0.9, B)) / B).round(3)  # low ones and high ones
    return [
        Property("top-k: the k largest", 1, [case(only(sample, 0), logits, u, k, 1)]),
        Property(
            "top-k: what equals the k-th stays as well", 1, [case(only(sample, 0), ties, u, k, 1)]
        ),
        Property("top-p: each row on its own", 1, [case(only(sample, 0), logits, u, V, p)]),
        Property(
            "both: p is a share of what top-k leaves", 1, [case(only(sample, 0), logits, u, k, p)]
        ),
        Property(
            "the token drawn: the first whose running sum is above u",
            2,
            [case(only(sample, 1), normal(rng, B, V), u, V, 1)],
        ),
    ]


def gpt_cases(rng, public):
    N, B, T, V, D, F, L = (9, 1, 3, 5, 4, 7, 6) if public else (31, 3, 6, 7, 4, 11, 8)
    stream = rng.integers(0, V, N)
    starts = rng.permutation(N - T - 1)[:B]
    last = np.append(starts, N - T - 1)
    table, places = normal(rng, V, D), normal(rng, L, D)
    square, w_1, w_2 = normal(rng, 4, D, D), normal(rng, D, F), normal(rng, F, D)
    silent = square.copy()
    silent[3] = 0

    def cases(part, starts, places, square, w_2):
        return [case(only(gpt, part), stream, starts, T, table, places, square, w_1, w_2)]

    # What a part adds is seen alone: the other parts end in a matrix of zeros.
    nowhere, nothing = np.zeros_like(places), np.zeros_like(w_2)
    return [
        Property("labels: one place later", 1, cases(0, last, places, silent, nothing)),
        Property(
            "tokens and positions are normed and meet the table again",
            2,
            cases(1, starts, places, silent, nothing),
        ),
        Property(
            "the attention sees the past alone and is added",
            2,
            cases(1, starts, nowhere, square, nothing),
        ),
        Property(
            "the feed-forward part is a squared ReLU and is added",
            2,
            cases(1, starts, nowhere, silent, w_2),
        ),
    ]


def induction_cases(rng, public):
    B, H, T, V = (2, 3, 5, 3) if public else (4, 3, 11, 5)

    def drawn(B, H):
        scores = normal(rng, B, H, T, T)
        scores = np.where(np.tril(np.ones((T, T), dtype=bool)), scores, -np.inf)
        return rng.integers(0, V, (B, T)), softmax(scores).round(3)

    few, weights = drawn(B, H)
    few[0, :4] = [1, 2, 1, 1]
    one = drawn(1, 1)
    one[0][0, :4] = [2, 0, 2, 2]
    uneven = few.copy()  # rows with different numbers of places to count
    uneven[1] = np.arange(T)
    uneven[1, -1] = 0
    return [
        Property(
            "the place behind the last time or -1", 2, [case(only(induction, 0), few, weights)]
        ),
        Property(
            "one head: the weight behind all earlier times",
            2,
            [case(only(induction, 1), *one)],
        ),
        Property(
            "each head: the mean over the counted places of all rows",
            1,
            [case(only(induction, 1), uneven, weights)],
        ),
    ]


KEYS, VALUES, SHOWN = 8, 8, 6


def examples(rng, n, met):
    """Rows key value … key value key: (n, 13) words, and the number of the value asked for (n,).

    `met` says whether the pair that is asked for may come in training: value = key never does.
    """
    key = rng.permuted(np.tile(np.arange(KEYS), (n, 1)), axis=1)[:, :SHOWN]
    value = (key + rng.integers(1, VALUES, (n, SHOWN))) % VALUES
    row, asked = np.arange(n), rng.integers(0, SHOWN, n)
    if not met:
        value[row, asked] = key[row, asked]
    pairs = np.stack((key, KEYS + value), axis=-1).reshape(n, 2 * SHOWN)
    return np.concatenate((pairs, key[row, asked][:, None]), axis=1), value[row, asked]


def learn_cases(rng, public):
    (x, y), (new, labels) = examples(rng, 2000, True), examples(rng, 400 if public else 700, False)
    words = rng.permutation(KEYS + VALUES)  # else the rule could be written down

    return [
        Property(
            "better than a guess: at least 55 % right",
            2,
            at_least(0.55, labels, words[x], y, words[new]),
        ),
        Property(
            "learned in context: at least 90 % right",
            3,
            at_least(0.9, labels, words[x], y, words[new]),
        ),
    ]


def patches_cases(rng, public):
    def drawn(B, C, D, rows, columns, h, w):
        return normal(rng, B, C, rows * h, columns * w), normal(rng, D, C, h, w)

    one = (1, 1, 4, 2, 3, 2, 1) if public else (1, 1, 2, 4, 3, 5, 2)
    several = (2, 3, 5, 2, 4, 3, 1) if public else (4, 2, 7, 3, 5, 2, 6)
    return [
        Property(
            "one channel: row by row from the top left", 1, [case(only(patches, 0), *drawn(*one))]
        ),
        Property(
            "several: in a patch channel by channel", 1, [case(only(patches, 0), *drawn(*several))]
        ),
        Property(
            "each flat kernel makes one number of the vector",
            2,
            [case(only(patches, 1), *drawn(*several))],
        ),
    ]


ASSIGNMENT = Assignment(
    name="06_gpt",
    title="GPT, learning in context, and patches",
    chapters="14 to 16",
    hours=6,
    numbers={
        "logits": {"shape": [4], "low": -3, "high": 5},
        "tenths": {"shape": [3], "low": 1, "high": 9},
    },
    tasks=[
        Task("by_hand", "by_hand", 5, "temperature, top-k, bits", by_hand_cases, by_hand),
        Task("loop", "top_p_loop", 3, "top-p, token by token", loop_cases),
        Task("sample", "sample", 6, "filters and draws without a loop", sample_cases),
        Task("gpt", "gpt", 7, "windows, a block, tied weights", gpt_cases),
        Task(
            "induction",
            "induction",
            5,
            "where an induction head looks, and its score",
            induction_cases,
        ),
        Task("learn", "learn", 5, "look-up in context, learned", learn_cases, seconds=20),
        Task("patches", "patches", 4, "an image as a sequence, two ways", patches_cases),
        Task("explain", None, 4, "to tell recognising from looking up"),
    ],
)
