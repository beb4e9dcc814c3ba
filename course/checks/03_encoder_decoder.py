"""Assignment 3: encoder and decoder, with a cache. Follows chapters 8 and 9."""

import math

import numpy as np

from course.checks import Assignment, Property, Task, at_least, case, normal, own_part

# The plain way, number by number


def normed(numbers, eps):
    """A list of numbers, less their mean, over their standard deviation."""
    mean = sum(numbers) / len(numbers)
    variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
    return [(number - mean) / math.sqrt(variance + eps) for number in numbers]


def norms(which, x, *more):
    """One of three norms of x (..., D): along each row, or (batch norm) down each column."""
    gamma, beta, eps = (1.0, 0.0, *more) if which == "layer_norm_loop" else more
    result = np.zeros_like(x)
    if which == "batch_norm":
        for j in range(x.shape[-1]):
            column = normed(x[..., j].ravel().tolist(), eps)
            result[..., j] = np.reshape(column, x.shape[:-1])
    else:
        for at in np.ndindex(x.shape[:-1]):
            result[at] = normed(x[at].tolist(), eps)
    return result * gamma + beta


def attend(query, keys, values):
    """One query (d,) over the keys (S, d) that it may see -> a weighted sum of the values."""
    scores = np.array([query @ key / math.sqrt(len(query)) for key in keys])
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def encoder_block(x, lengths, w_q, w_k, w_v, w_o, w_1, b_1, w_2, b_2):
    h, result = norms("layer_norm_loop", x, 1e-5), x.copy()
    for b, t in np.ndindex(x.shape[:2]):
        seen = h[b, : lengths[b]]
        y = x[b, t] + attend(h[b, t] @ w_q, seen @ w_k, seen @ w_v) @ w_o
        inner = np.array(normed(y.tolist(), 1e-5)) @ w_1 + b_1
        result[b, t] = y + np.where(inner > 0, inner, 0) @ w_2 + b_2
    return result


def in_steps(x, n, w_q, w_k, w_v):
    """Whatever the number n of tokens a step: each sees those up to itself, and the cache all."""
    outputs = np.zeros_like(x)
    for b, t in np.ndindex(x.shape[:2]):
        seen = x[b, : t + 1]
        outputs[b, t] = attend(x[b, t] @ w_q, seen @ w_k, seen @ w_v)
    return outputs, x @ w_k, x @ w_v


def next_logits(table, ids):
    """What follows one list of ids: of each, its row of the table, less and less for older ones."""
    return sum(table[token] * 0.5**age for age, token in enumerate(reversed(ids)))


def greedy(table, prompt, max_new, eos, pad):
    rows = []
    for beginning in prompt.tolist():
        new = []
        while len(new) < max_new and eos not in new:
            new.append(int(np.argmax(next_logits(table, beginning + new))))
        rows.append(new)
    width = max(len(new) for new in rows)
    return np.array([new + [pad] * (width - len(new)) for new in rows])


def perplexity(logits, ids, real):
    costs = []
    for b, t in np.ndindex(ids.shape):
        if t > 0 and real[b, t]:
            row = logits[b, t - 1]
            top = row.max()
            log_sum = top + math.log(sum(math.exp(x - top) for x in row))
            costs.append(log_sum - row[ids[b, t]])
    return math.exp(sum(costs) / len(costs))


def by_hand(numbers):
    """The student's numbers -> mean and deviation, norm, sum, norm of the sum, as plain numbers."""
    word = numbers["word"]
    total = [a + b for a, b in zip(word, numbers["update"], strict=True)]
    found = []
    for row in (word, total):
        mean = sum(row) / 4
        deviation = (sum((x - mean) ** 2 for x in row) / 4) ** 0.5
        found += [[mean, deviation], [(x - mean) / (deviation or 1.0) for x in row]]
    parts = found[0], found[1], total, found[3]
    return [{"shape": [len(part)], "data": part} for part in parts]


# The cases


def by_hand_cases(rng, public):
    return [
        Property("a mean and a standard deviation", 1, own_part(0, 4, {"shape": [2]})),
        Property(
            "the layer norm of the word, which sums to 0",
            1,
            own_part(1, 4, {"shape": [4], "sum": 0}),
        ),
        Property("word and update, added up: four numbers", 1, own_part(2, 4, {"shape": [4]})),
        Property("post-norm, which sums to 0", 1, own_part(3, 4, {"shape": [4], "sum": 0})),
    ]


def norms_cases(rng, public):
    T, D, shape = (2, 3, (2, 2, 3)) if public else (5, 7, (3, 5, 4))
    loop, layer, batch = "layer_norm_loop", "layer_norm", "batch_norm"
    flat = np.array([[2.0, 2, 2]] if public else [[5.0, 5, 5, 5], [-1, -1, -1, -1]])
    # The variance is below eps, so that it shows where eps stands.
    close = 1 + 0.01 * np.concatenate((flat[:1], flat[:1] + np.arange(flat.shape[1])))

    def several(which):
        gain, shift = 1 + normal(rng, shape[-1]), normal(rng, shape[-1])
        return case(norms, which, 3 * normal(rng, *shape) + 2, gain, shift, 1e-5)

    return [
        Property(
            "layer_norm_loop: each row with a mean and a deviation of its own, over n",
            1,
            [case(norms, loop, 3 * normal(rng, T, D) + 1, 1e-5)],
        ),
        Property(
            "layer_norm_loop: eps is added to the variance, under the root",
            1,
            [case(norms, loop, flat, 1e-5), case(norms, loop, close, 1e-3)],
        ),
        Property("layer_norm: the last axis, then gamma and beta", 2, [several(layer)]),
        Property("batch_norm: each column, over all other axes", 1, [several(batch)]),
    ]


def block_cases(rng, public):
    B, T, D, d_ff = (2, 3, 4, 5) if public else (3, 7, 4, 11)

    def made(lengths=None, off=()):
        shapes = {"w_q": (D, D), "w_k": (D, D), "w_v": (D, D), "w_o": (D, D)}
        shapes |= {"w_1": (D, d_ff), "b_1": (d_ff,), "w_2": (d_ff, D), "b_2": (D,)}
        weights = {name: normal(rng, *shape) for name, shape in shapes.items()}
        weights |= {name: np.zeros(shapes[name]) for name in off}
        lengths = np.full(B, T) if lengths is None else lengths
        return case(encoder_block, 2 * normal(rng, B, T, D) + 1, lengths, *weights.values())

    no_attention, no_feed_forward = ("w_o",), ("w_2", "b_2")
    short = np.array([T, 1]) if public else np.array([4, T, 1])
    return [
        Property("the attention's update (here w_2 and b_2 are 0)", 1, [made(off=no_feed_forward)]),
        Property("the feed-forward network's update (here w_o is 0)", 1, [made(off=no_attention)]),
        Property("the second sub-layer reads what the first one left", 1, [made()]),
        Property("padding is no key: real places do not see it", 2, [made(short, no_feed_forward)]),
    ]


def cache_cases(rng, public):
    B, T, D, n = (2, 4, 3, 2) if public else (2, 7, 5, 3)

    def made(n, *parts):
        args = normal(rng, B, T, D), n, *(normal(rng, D, D) for _ in range(3))
        return [case(lambda *a: tuple(
            x if i in parts else None for i, x in enumerate(in_steps(*a))), *args)]  # fmt: skip

    return [
        Property("token by token: what one causal pass gives", 2, made(1, 0)),
        Property("the cache holds the keys and values of all tokens, in order", 1, made(1, 1, 2)),
        Property("several at once: none sees a later one, each sees the cache", 2, made(n, 0)),
        Property("all at once, behind no cache", 1, made(T, 0)),
    ]


def greedy_cases(rng, public):
    B, T, V, most = (2, 2, 4, 4) if public else (4, 3, 9, 8)
    eos, pad = V - 2, V - 1

    def ends(table, prompt):
        """After how many tokens each row ends; most + 1 where it does not."""
        rows = [greedy(table, row[None], most, eos, pad)[0].tolist() for row in prompt]
        return [row.index(eos) + 1 if eos in row else most + 1 for row in rows]

    def looks_back(table, prompt):
        """Whether the last token alone would have had other followers."""
        rows = np.concatenate((prompt, greedy(table, prompt, most, eos, pad)), axis=1)
        last, after = rows[:, T - 1 : -1], rows[:, T:]
        return bool(((table.argmax(axis=1)[last] != after) & (after != pad)).any())

    def made(fits):
        while True:
            table, prompt = normal(rng, V, V), rng.integers(0, V - 2, (B, T))
            table[:, pad] = -9.0
            if fits(ends(table, prompt)) and looks_back(table, prompt):
                return [case(greedy, table, prompt, most, eos, pad)]

    def staggered(found):  # one row never ends, another leaves room for two more tokens
        return max(found) > most and min(found) < most - 1

    return [
        Property("the most probable token, max_new times", 1, made(lambda x: min(x) > most)),
        Property("a row that has ended stays ended: PAD behind its EOS", 2, made(staggered)),
        Property("stops when all rows have ended", 1, made(lambda x: 1 < max(x) == min(x) < most)),
    ]


def perplexity_cases(rng, public):
    B, T, V = (2, 4, 3) if public else (3, 6, 8)

    def made(rows, lengths, logits=None):
        logits = 2 * normal(rng, rows, T, V) if logits is None else logits
        real = np.arange(T) < np.array(lengths)[:, None]
        return [case(perplexity, logits, rng.integers(0, V, (rows, T)), real)]

    large = 1000.0 + rng.integers(-2, 3, (1, T, V))
    uneven = [2, T] if public else [T - 2, 2, T]
    return [
        Property("one row: the logits of a place are about the next token", 2, made(1, [T])),
        Property("several rows: one mean over all their tokens", 1, made(B, [T] * B)),
        Property("padding counts for nothing", 1, made(B, uneven)),
        Property("large logits do not overflow", 1, made(1, [T], large)),
    ]


LETTERS, PLACES = 10, 5


def secrets(rng, n):
    """Text of five letters, a sign, the text in secret, an end: (n, 12) ids, by a drawn code."""
    order, other = rng.permutation(PLACES), rng.permutation(LETTERS)
    text = rng.integers(0, LETTERS, (n, PLACES))
    # Without the end the last letter would stand behind no input, and could not be peeped at.
    sign, end = np.full((n, 1), LETTERS), np.full((n, 1), LETTERS + 1)
    return np.concatenate((text, sign, other[text[:, order]], end), axis=1)


def train_cases(rng, public):
    new = 300 if public else 500
    rows = secrets(rng, 1500 + new)
    seen = {tuple(row) for row in rows[:1500].tolist()}
    unseen = np.array([row for row in rows[1500:].tolist() if tuple(row) not in seen])
    prompts, secret = unseen[:, : PLACES + 1], unseen[:, PLACES + 1 : -1]

    return [
        Property(
            "better than letters in any order: at least 40 % right",
            2,
            at_least(0.4, secret, rows[:1500], prompts),
        ),
        Property(
            "the code is found: at least 90 % right", 3, at_least(0.9, secret, rows[:1500], prompts)
        ),
    ]


ASSIGNMENT = Assignment(
    name="03_encoder_decoder",
    title="Encoder and decoder, with a cache",
    chapters="8 and 9",
    hours=6,
    numbers={
        "word": {"shape": [4], "low": 0, "high": 9},
        "update": {"shape": [4], "low": -5, "high": 5},
    },
    tasks=[
        Task("by_hand", "by_hand", 4, "layer norm, and the sum before or after it", by_hand_cases,
             by_hand),
        Task("norms", "norms", 5, "rows against columns, as a loop and without", norms_cases),
        Task("block", "encoder_block", 5, "two sub-layers with pre-norm, and padding", block_cases),
        Task("cache", "in_steps", 6, "a cache changes the work, not the result", cache_cases),
        Task("greedy", "greedy", 4, "to write until EOS, in a batch", greedy_cases),
        Task("perplexity", "perplexity", 5, "the shift by one, and padding", perplexity_cases),
        Task("train", "decipher", 5, "a causal decoder, trained and set free", train_cases,
             seconds=20),
        Task("explain", None, 4, "to read costs off two logarithmic axes"),
    ],
)  # fmt: skip
