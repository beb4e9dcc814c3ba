"""Edit distance, and the error rates of letters to phonemes that rest on it."""

from collections.abc import Hashable, Sequence

from attnbook import checks


def edit_distance(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions that turn a into b.

    Args:
        a, b: two strings, compared by character, or two sequences of tokens.

    Raises:
        TypeError: a string beside a sequence of tokens.

    Source: Levenshtein 1966; by rows: Wagner and Fischer 1974.
    Chapter: 10_cross_attention
    """
    if isinstance(a, str) != isinstance(b, str):
        raise TypeError(f"a and b must both be strings or both be tokens, not {a!r} and {b!r}")
    row = list(range(len(b) + 1))  # from the empty start of a to each start of b
    for i, x in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            substituted = diagonal + (x != y)
            diagonal = row[j]
            row[j] = min(substituted, diagonal + 1, row[j - 1] + 1)
    return row[-1]


def phoneme_error_rate(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """Edits to the nearest listed pronunciation, over the phonemes of these, of all words together.

    Args:
        predicted: the phonemes of each word; none at all is allowed.
        references: for each word its pronunciations, each a list of phonemes. The nearest counts,
            of equally near ones the first.

    Returns:
        At least 0; above 1 where the predictions are long and wrong.

    Raises:
        TypeError: strings where lists are wanted: the nesting is wrong.
        ValueError: no word, not as many references as predictions, or a word without a
            pronunciation of at least one phoneme.

    Source: Yao and Zweig 2015.
    Chapter: 10_cross_attention
    """
    _check_words(predicted, references)
    edits = phonemes = 0
    for word, listed in zip(predicted, references, strict=True):
        distances = [edit_distance(list(word), list(reference)) for reference in listed]
        edits += min(distances)
        phonemes += len(listed[distances.index(min(distances))])
    return edits / phonemes


def word_error_rate(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """The share of words whose phonemes are none of the listed pronunciations.

    This is the word error rate of letters to phonemes. In speech recognition the name means the
    edit distance in words over the words of the reference.

    Args, raises: as `phoneme_error_rate`.

    Source: Yao and Zweig 2015.
    Chapter: 10_cross_attention
    """
    _check_words(predicted, references)
    wrong = [
        list(word) not in [list(reference) for reference in listed]
        for word, listed in zip(predicted, references, strict=True)
    ]
    return sum(wrong) / len(wrong)


def _check_words(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> None:
    checks.one_length(predicted=predicted, references=references)
    for i, (word, listed) in enumerate(zip(predicted, references, strict=True)):
        if isinstance(word, str):
            raise TypeError(f"predicted[{i}] must be a list of phonemes, not the string {word!r}")
        if not listed:
            raise ValueError(f"references[{i}] must hold at least one pronunciation")
        for reference in listed:
            if isinstance(reference, str):
                raise TypeError(
                    f"references[{i}] must be a list of pronunciations, each a list of phonemes, "
                    f"but the string {reference!r} stands in place of a pronunciation"
                )
            if not reference:
                raise ValueError(f"references[{i}] holds a pronunciation without phonemes")
