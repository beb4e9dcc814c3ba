"""60,000 small photographs of ten kinds of things (CIFAR-10), for a GPU and an open network.

No package carries them, so that they are none of `SOURCES`, and `make data` does not ask for them:
the first use downloads them from the page of their author. The form with Python objects would have
to be unpickled, which can run code; this is the one of plain bytes.

Source: Krizhevsky 2009; no licence is stated.
"""

import tempfile
from pathlib import Path

import numpy as np

from attnbook.data.archive import DataError, check_archive, members, sdist_name
from attnbook.data.fetch import cache_root, write
from attnbook.data.index import read_address
from attnbook.data.sources import Source

Photographs = tuple[np.ndarray, np.ndarray]  # images (N, 3, 32, 32) uint8 and labels (N,) int64
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"

_PER_FILE = 10_000
_RECORD = 1 + 3 * 32 * 32  # bytes: the label, then all of red, of green and of blue
# As a source archive, whose own checksum is known: `members` reads it in the same way.
_SOURCE = Source(
    name="cifar10",
    package="cifar-10",
    version="binary",
    members=(
        *(f"cifar-10-batches-bin/data_batch_{i}.bin" for i in range(1, 6)),
        "cifar-10-batches-bin/test_batch.bin",  # the last one
    ),
    sha256="",  # that of the archive stands for them
    n_bytes=6 * _PER_FILE * _RECORD,
    archive_bytes=170_052_171,
    licence="none stated",
    about="60,000 colour photographs of ten kinds of things",
    kind="sdist",
    archive_sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)


def load() -> tuple[Photographs, Photographs]:
    """Read all 60,000 images, downloading 170 MB on the first use, in the set's own two parts.

    The archive is kept in the folder `archives` of the cache, where it can also be put by hand.
    Images have red, green and blue from 0 to 255; labels are places in `CLASSES`.

    Returns:
        train: images (50000, 3, 32, 32), uint8, and labels (50000,), int64.
        test: images (10000, 3, 32, 32) and labels (10000,), of the same kinds.

    Raises:
        DataError: the set cannot be had, or is not what it should be.

    Source: Krizhevsky 2009.

    Chapter: 16_vit
    """
    path = cache_root() / "archives" / sdist_name(_SOURCE)
    try:
        if not path.exists():
            _download(path)
        found = dict(members(path, f"the archive {path} (replace it or take it away)", _SOURCE))
    except OSError as error:
        raise DataError(
            f"cifar10 cannot be kept in {path.parent}, or not be read there: {error}. It needs "
            f"{_SOURCE.archive_bytes / 1e6:.0f} MB. The variable ATTNBOOK_DATA chooses another "
            f"folder."
        ) from error
    *train, test = (_photographs(name, found.get(name, b"")) for name in _SOURCE.members)
    images, labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
    return (images, labels), test


def _download(path: Path) -> None:
    """Save the archive: it gets its name once its checksum is right."""
    try:
        content = read_address(ADDRESS, _SOURCE.archive_bytes)
    except OSError as error:
        raise DataError(
            f"cifar10 could not be fetched: {error}\n"
            f"Only the part of chapter 16 that is for a GPU needs it. Without a network, save\n"
            f"    {ADDRESS}\n"
            f"({_SOURCE.archive_bytes / 1e6:.0f} MB) on a machine that has one, put it here, and "
            f"try again:\n"
            f"    {path}"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    root = path.parent.parent
    with tempfile.TemporaryDirectory(dir=root, prefix=".fetch-", ignore_cleanup_errors=True) as tmp:
        fresh = Path(tmp, path.name)
        write(fresh, content)
        check_archive(fresh, f"the download from {ADDRESS} (broken off, or changed)", _SOURCE)
        fresh.replace(path)


def _photographs(name: str, content: bytes) -> Photographs:
    """The images and labels of one file."""
    if len(content) != _PER_FILE * _RECORD:
        raise DataError(
            f"cifar10: {name} must have {_PER_FILE * _RECORD:,} bytes, not {len(content):,}"
        )
    table = np.frombuffer(content, dtype=np.uint8).reshape(-1, _RECORD)
    if (highest := table[:, 0].max()) >= len(CLASSES):
        raise DataError(f"cifar10: {name} has a label {highest}, but the last one is 9")
    return table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].astype(np.int64)
