"""DNA: mutants of one promoter of a bacterium, and how strongly each makes a gene be read.

Source: Kinney et al. 2010 (Sort-Seq), as mavenn 1.1.4 carries it.
"""

import csv
import gzip
from dataclasses import dataclass

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch

BINS = 10
_SETS = ("training", "validation", "test")


@dataclass(frozen=True)
class Promoter:
    """A stretch of DNA, and the bins in which its cells were found.

    `letters` are 75 of A, C, G and T. `counts` says for each of the ten bins, from the dimmest
    cells to the brightest, how many with this stretch were found in it.

    Chapter: 13_bert_finetuning
    """

    letters: str
    counts: tuple[int, ...]

    @property
    def bin(self) -> int:
        """The bin with the most of its cells, 0 … 9; the lowest of equals."""
        return self.counts.index(max(self.counts))

    @property
    def strong(self) -> bool:
        """Whether that bin is one of the upper five."""
        return self.bin >= BINS // 2


def load() -> tuple[list[Promoter], list[Promoter], list[Promoter]]:
    """Read the 50,518 mutants, fetching them on the first use, in the set's own three parts,
    each in the order of the letters.

    Returns:
        train, validation and test: 30,516, 10,067 and 9,935 mutants, all different.

    Raises:
        DataError: the set cannot be had, or a line is not a promoter.

    Source: Kinney et al. 2010.

    Chapter: 13_bert_finetuning
    """
    path = fetch("promoter") / "mavenn" / "examples" / "datasets" / "sortseq_data.csv.gz"
    parts: dict[str, list[Promoter]] = {name: [] for name in _SETS}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 1):
            try:
                counts = tuple(int(row[f"ct_{i}"]) for i in range(BINS))
                parts[row["set"]].append(Promoter(row["x"], counts))
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"{path}: promoter {number} cannot be read: {error!r}") from error
    return tuple(parts.values())
