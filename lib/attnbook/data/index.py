"""A source archive from the package index, without pip: pip would run the archive's own code.

Which index it is comes from pip's configuration, like all that pip downloads.
"""

import errno
import http.client
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from attnbook.data.archive import DataError, sdist_name
from attnbook.data.sources import Source

_SECONDS = 60  # without a byte
_JSON = "application/vnd.pypi.simple.v1+json"


def download_sdist(into: Path, folder: Path, source: Source) -> Path:
    """Save the source archive into the new folder `into`; the members will go to `folder`.

    Nothing of it is opened: `attnbook.data.archive.members` checks its sha256 first.
    """
    into.mkdir()
    path, name = into / sdist_name(source), sdist_name(source)
    try:
        page = f"{_index().rstrip('/')}/{re.sub(r'[-_.]+', '-', source.package).lower()}/"
        path.write_bytes(read_address(_address(page, name), source.archive_bytes))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DataError(_not_to_be_had(error, folder, source)) from error
    except (ValueError, LookupError) as error:
        raise DataError(_not_to_be_had(error, folder, source)) from error
    return path


def _index() -> str:
    """The address of the index that pip would ask: of its settings, or its own default."""
    if os.environ.get("PIP_INDEX_URL"):  # the help hides a password in it
        return os.environ["PIP_INDEX_URL"]
    said = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--help", "--disable-pip-version-check"],
        env={**os.environ, "COLUMNS": "10000"},  # so that no address is broken into lines
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ).stdout
    found = re.search(r"--index-url <url>.*?\(default (\S+?)\)", said)
    if not found:
        raise LookupError("pip does not tell which package index it uses")
    return found[1]


def _address(page: str, name: str) -> str:
    """Find the file's address on the package's page of the index, in JSON or in HTML."""
    content = read_address(page, 10_000_000, accept=f"{_JSON}, text/html;q=0.1")
    try:
        links = [file["url"] for file in json.loads(content)["files"]]
    except json.JSONDecodeError:
        links = re.findall(r"href\s*=\s*[\"']([^\"']+)", content.decode("utf-8", "replace"))
    for link in links:
        bare = urllib.parse.urldefrag(link.replace("&amp;", "&")).url
        if urllib.parse.unquote(urllib.parse.urlsplit(bare).path).rpartition("/")[2] == name:
            return urllib.parse.urljoin(page, bare)
    raise LookupError(f"the package index has no {name}")


def read_address(address: str, most: int, accept: str = "*/*") -> bytes:
    """The bytes behind an address: no more than one above `most`.

    Raises `OSError` where they cannot be had.
    """
    request = urllib.request.Request(address, headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return answer.read(most + 1)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
    except http.client.HTTPException as error:  # such as an answer that breaks off
        raise OSError(f"{type(error).__name__}: {error}") from error


def _not_to_be_had(error: Exception, folder: Path, source: Source) -> str:
    why = str(error.args[0] if isinstance(error, LookupError) else error)
    if folder.exists():
        why += f"\nThe copy in {folder} is incomplete or altered."
    return (
        f"{source.name} could not be fetched: {why}\n"
        f"Without a network, run this on a machine that has one:\n"
        f"    python -m attnbook.data {source.name}\n"
        f"then copy the folder that it names to this place, and try again:\n"
        f"    {folder}\n"
        f"Or save the file {sdist_name(source)} of the package {source.package} from the package "
        f"index into\n"
        f"    {folder.parent / 'archives'}"
    )
