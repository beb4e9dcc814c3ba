"""Speech as a sequence of vectors: nine men say the Japanese vowels /ae/, and who is it?

Source: Kudo, Toyama and Shimbo 1999 (Japanese Vowels), as aeon 1.6.0 carries it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch


@dataclass(frozen=True, eq=False)
class Utterance:
    """One utterance: who speaks, and how it sounds.

    `speaker` is 0 to 8. `frames` is an array (n, 12), float32: the 12 cepstral coefficients of each
    of n = 7 to 29 frames of 25.6 ms, one every 6.4 ms.

    Chapter: 17_beyond_text
    """

    speaker: int
    frames: np.ndarray


def load() -> tuple[list[Utterance], list[Utterance]]:
    """Read the 640 utterances, fetching them on the first use, in the set's own two parts.

    Returns:
        train: 270 utterances, 30 of each speaker, in the order of the speakers.
        test: 370 utterances, recorded on other occasions, 24 to 88 of each speaker.

    Raises:
        DataError: the set cannot be had, or a line is not an utterance.

    Source: Kudo, Toyama and Shimbo 1999.

    Chapter: 17_beyond_text
    """
    folder = fetch("vowels") / "aeon" / "datasets" / "data" / "JapaneseVowels"
    train, test = (_read(folder / f"JapaneseVowels_{side}.ts") for side in ("TRAIN", "TEST"))
    return train, test


def _read(path: Path) -> list[Utterance]:
    _, _, body = path.read_text(encoding="utf-8").partition("@data\n")
    if not body:
        raise DataError(f"{path}: there is no utterance behind a line @data")
    utterances = []
    for number, line in enumerate(body.splitlines(), 1):
        *rows, speaker = line.split(":")  # one row a coefficient, one number a frame
        try:
            frames = np.array([row.split(",") for row in rows], dtype=np.float32).T  # (n, 12)
            utterances.append(Utterance(int(speaker) - 1, frames))
        except ValueError as error:
            raise DataError(f"{path}: utterance {number} cannot be read: {error}") from error
    return utterances
