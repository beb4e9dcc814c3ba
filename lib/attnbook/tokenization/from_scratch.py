"""BPE and WordPiece in plain Python: equal to `tokenizers` piece for piece, and slower."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[str, str]


def learn_bpe(words: Mapping[str, int], n_merges: int, alphabet: Iterable[str] = ()) -> list[Pair]:
    """The merges of byte-pair encoding: join the most frequent pair of neighbours, and again.

    Of pairs that are equally frequent, the one whose symbols are older wins: its first symbol, then
    its second. Characters are the oldest, in the order of their code points; a merged symbol is as
    old as the first merge that made it. The paper leaves ties open; `tokenizers` breaks them so.

    Args:
        words: how often each word occurs; no merge reaches over the end of a word.
        n_merges: how many merges to learn; fewer where every word has become one symbol.
        alphabet: characters to count among the oldest even where no word has them.

    Returns:
        The pairs in the order in which they were joined.

    Source: Sennrich et al. 2016, algorithm 1.
    Chapter: 02_subwords
    """
    symbols = sorted({*alphabet, *(character for word in words for character in word)})
    age = {symbol: i for i, symbol in enumerate(symbols)}
    parts = {word: list(word) for word in words}
    merges: list[Pair] = []
    # The counts are kept up to date: counting all words again for each merge would take hours.
    counts: Counter[Pair] = Counter()
    holders: dict[Pair, set[str]] = {}  # the words in which a pair was ever seen
    for word, cut in parts.items():
        _count(word, cut, words[word], counts, holders)
    while len(merges) < n_merges and (most := max(counts.values(), default=0)) > 0:
        ties = (pair for pair, count in counts.items() if count == most)
        pair = min(ties, key=lambda pair: (age[pair[0]], age[pair[1]]))
        merges.append(pair)
        age.setdefault(pair[0] + pair[1], len(age))
        for word in holders.pop(pair):
            for old in pairwise(parts[word]):
                counts[old] -= words[word]
            parts[word] = _join(parts[word], pair)
            _count(word, parts[word], words[word], counts, holders)
        del counts[pair]
    return merges


def apply_bpe(word: str, merges: Mapping[Pair, int]) -> list[str]:
    """Cut a word as BPE does: join the pair that was learned first, as long as there is one.

    Args:
        word: characters of the alphabet the merges were learned on.
        merges: from each pair to its rank: `{pair: rank for rank, pair in enumerate(learned)}`.

    Returns:
        The pieces; together they are the word.

    Source: Sennrich et al. 2016, section 3.2.
    Chapter: 02_subwords
    """
    parts = list(word)
    while known := [pair for pair in pairwise(parts) if pair in merges]:
        parts = _join(parts, min(known, key=merges.__getitem__))
    return parts


def apply_wordpiece(
    word: str, vocab: Collection[str], *, unknown: str = "[UNK]", longest_word: int = 100
) -> list[str]:
    """Cut a word as WordPiece does: the longest piece from the left that the vocabulary has.

    Args:
        word: a word without blanks, as BERT's basic tokenization gives it.
        vocab: a set or dictionary of the pieces; those that go on with a word start with "##".
        unknown: stands for the whole word where some of it is in no piece.
        longest_word: a word with more characters than this is unknown without a look.

    Source: Wu et al. 2016, section 4.1; Devlin et al. 2019, for "##".
    Chapter: 02_subwords
    """
    if len(word) > longest_word:
        return [unknown]
    pieces: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)  # the longest first
        end = next((end for end in ends if prefix + word[start:end] in vocab), None)
        if end is None:
            return [unknown]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def _join(parts: Sequence[str], pair: Pair) -> list[str]:
    """Join the pair wherever it stands, from left to right: "aaa" gives "aa", "a"."""
    joined: list[str] = []
    i = 0
    while i < len(parts):
        width = 2 if tuple(parts[i : i + 2]) == pair else 1
        joined.append("".join(parts[i : i + width]))
        i += width
    return joined


def _count(
    word: str, parts: list[str], n: int, counts: Counter[Pair], holders: dict[Pair, set[str]]
) -> None:
    for pair in pairwise(parts):
        counts[pair] += n
        holders.setdefault(pair, set()).add(word)
