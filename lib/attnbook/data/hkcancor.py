"""The Hong Kong Cantonese Corpus: talk, with a part-of-speech tag and the Jyutping of each word.

Source: K. K. Luke and May L. Y. Wong (2015), The Hong Kong Cantonese Corpus: Design and Uses,
Journal of Chinese Linguistics Monograph Series 25, 312-333; data under CC BY 4.0, in the CHAT
format of PyCantonese 5.0.0.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.hkcancor_tags import TAGS as TAGS  # a part of this module
from attnbook.data.sides import side

# Found once: the first whole number with which validation and test each come within one point of
# 10 % of the tokens, and each hold radio programmes and private talk. No tag was looked at.
_SALT = "176:"


@dataclass(frozen=True)
class Utterance:
    """What one speaker says in one go: `words[i]` has the tag `tags[i]`, and sounds `jyutping[i]`.

    All three have the same length, at least 1. Punctuation marks count as words; a mark is its
    own tag, and has the empty string as its Jyutping. The part of a word that is not Chinese is
    written out in its Jyutping, with the tone 0: `"call機"` is `"call0gei1"`.

    Chapter: 04_self_attention
    """

    recording: str
    speaker: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    jyutping: tuple[str, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.words), len(self.tags), len(self.jyutping)}
        if len(lengths) > 1 or 0 in lengths:
            raise ValueError(
                f"words, tags and jyutping must have one length, at least 1; they have "
                f"{len(self.words)}, {len(self.tags)} and {len(self.jyutping)}"
            )


def load() -> list[Utterance]:
    """Read the corpus, fetching it on the first use: 16,162 utterances, 153,656 tokens.

    The files come in order of name, and the utterances in the order in which they were said.
    Raises `DataError` where the set cannot be had, or a file cannot be understood.

    Source: Luke and Wong (2015), CC BY 4.0.

    Chapter: 04_self_attention
    """
    folder = fetch("hkcancor") / "pycantonese" / "data" / "hkcancor"
    return [utterance for path in sorted(folder.glob("FC-*.cha")) for utterance in _read(path)]


def split(
    utterances: Iterable[Utterance],
) -> tuple[list[Utterance], list[Utterance], list[Utterance]]:
    """Part the utterances into train, validation and test, about 80, 10 and 10 % of the tokens.

    Whole recordings go to one side, all their parts together (FC-005a and FC-005b are both
    FC-005). The side follows from the SHA-256 of the recording's name alone, so that it never
    moves, whatever else is in `utterances`.

    Chapter: 04_self_attention
    """
    sides: tuple[list[Utterance], ...] = ([], [], [])
    for utterance in utterances:
        sides[_side(utterance.recording)].append(utterance)
    return sides


def _side(recording: str) -> int:
    return side(_SALT + recording)


def _read(path: Path) -> Iterator[Utterance]:
    # FC-R013b_v.cha is the second part of recording FC-R013; "_v" and "_v2" name revisions.
    name = re.fullmatch(r"(FC-R?\d+)[a-z]?_v2?\.cha", path.name)
    if not name:
        raise DataError(f"{path}: this is not how a file of the corpus is called")
    return _parse(path.read_text(encoding="utf-8"), name[1], str(path))


def _parse(text: str, recording: str, file: str) -> Iterator[Utterance]:
    """Read CHAT text: an utterance is a line of words, and a `%mor` line of as many items."""
    said = None  # the speaker and the words that wait for their %mor line
    for number, line in _lines(text):
        where = f"{file}, line {number}"
        if line.startswith("@"):  # a header: who, when, the end
            continue
        head, _, content = line.partition(":\t")
        # Eleven lines have a stray mark in the speaker's code, as in "*XA；" and "*XB*".
        code = re.fullmatch(r"\*X+([A-Z])[*；]?", head)
        if code and said is None:
            said = "XX" + code[1], content.split()
        elif head == "%mor" and said is not None:
            speaker, words = said
            yield Utterance(recording, speaker, tuple(words), *_tags(words, content.split(), where))
            said = None
        else:
            wanted = "the speaker's next words" if said is None else "a %mor line"
            raise DataError(f"{where}: expected {wanted}, found {line[:40]!r}")
    if said is not None:
        raise DataError(f"{file}: ends before the %mor line of the last words")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Join each line with those that go on with it, after a tab; number it by its first."""
    start, whole = 0, ""
    # The empty line at the end lets the last one go, whether or not the text ends its last line.
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.startswith("\t") and whole:
            whole += " " + line[1:]
        else:
            if whole:
                yield start, whole
            start, whole = number, line


def _tags(
    words: list[str], items: list[str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part items such as `n|pang4jau5` into tag and Jyutping; a bare item is a punctuation mark."""
    if len(words) != len(items) or not words:
        raise DataError(f"{where}: {len(words)} words have {len(items)} tags")
    tags, jyutping = [], []
    for word, item in zip(words, items, strict=True):
        tag, bar, sound = item.partition("|")
        if (not bar and item != word) or (bar and not (tag and sound)) or "|" in sound:
            raise DataError(f"{where}: cannot read the tag {item!r} of the word {word!r}")
        tags.append(tag)
        jyutping.append(sound)
    return tuple(tags), tuple(jyutping)
