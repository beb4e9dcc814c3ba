"""The attention calculator: one query, a few words, and every step from scores to the sum."""

import html
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook import checks
from attnbook.attention import attention
from attnbook.interactive.output import (
    InteractiveFigure,
    column,
    html_table,
    short,
    text_table,
    typed,
    vector,
)

LARGEST = 9  # of a number that is typed: the powers of e stay far from overflow
MOST_WORDS, MOST_NUMBERS = 6, 4  # what fits the width of a phone


def attention_calculator(
    query: Float[Tensor, "d"],
    keys: Float[Tensor, "S d"],
    values: Float[Tensor, "S d_v"],
    words: Sequence[str],
) -> InteractiveFigure:
    """Attention of one query by steps, with numbers and words that readers can change.

    Score, division by sqrt(d) or not, softmax, weighted sum; each word can be masked. Where no
    script runs, a table shows the numbers that are given here.

    Args:
        query: shape (d,), d at most 4.
        keys: one word a row, shape (S, d), S at most 6.
        values: shape (S, d_v), d_v at most 4.
        words: the S words.

    Returns:
        The figure: end a cell with it.

    Raises:
        TypeError: a tensor that is not floating-point, mixed dtypes, a word that is no string.
        ValueError: sizes that do not fit or are too large, a number outside -9 … 9.

    Source: Vaswani et al. 2017, equation 1.
    Chapter: 04_self_attention
    """
    checks.floating(query=query, keys=keys, values=values)
    if query.ndim != 1:
        raise ValueError(f"query must have 1 axis, but its shape is {checks.shape(query)}")
    checks.queries_keys_values(query[None], keys[None][0], values)
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"words must be a list of strings, not {words!r}")
    if len(words) != len(keys):
        raise ValueError(f"there must be one word a key: {len(words)} words, {len(keys)} keys")
    for name, size, most in (
        ("the number of words", len(keys), MOST_WORDS),
        ("the width of query and keys", len(query), MOST_NUMBERS),
        ("the width of values", values.shape[-1], MOST_NUMBERS),
    ):
        if not 1 <= size <= most:
            raise ValueError(f"{name} must be 1 … {most}, not {size}")
    for name, x in (("query", query), ("keys", keys), ("values", values)):
        if not (x.abs() <= LARGEST).all():
            raise ValueError(f"{name} must lie in -{LARGEST} … {LARGEST}, not {x.tolist()}")

    start = {
        "query": _numbers(query[None])[0],
        "keys": _numbers(keys),
        "values": _numbers(values),
        "words": list(words),
        "largest": LARGEST,
    }
    q, k, v = query.double(), keys.double(), values.double()
    output, weights = attention(q[None], k, v)
    products, root = k @ q, len(q) ** 0.5  # (S,)
    header = ["word", "key", "value", "query · key", f"score (÷ {typed(root)})"]
    header += ["e^score", "weight"]
    columns = (products, products / root, (products / root).exp(), weights[0])
    rows = [
        [word, _typed(key), _typed(value), *numbers]
        for word, key, value, *numbers in zip(
            words, keys, values, *(column(x.tolist()) for x in columns), strict=True
        )
    ]
    result = f"The output is {vector(column(output[0].tolist()))}."
    caption = f"Attention for one word: the query is {_typed(query)}"
    note = "Where scripts run (the book's site, JupyterLab, Colab), this table is a calculator."
    return InteractiveFigure(
        "calculator",
        start=start,
        still=f"{html_table(caption, header, rows)}\n<p>{html.escape(result)} {note}</p>",
        text=f"{caption}\n{text_table(header, rows)}\n{result}",
    )


def _numbers(x: Tensor) -> list[list[float]]:
    return [[short(number) for number in row] for row in x.tolist()]


def _typed(x: Tensor) -> str:
    return vector([typed(number) for number in x.tolist()])
