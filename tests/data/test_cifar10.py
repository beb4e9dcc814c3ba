"""CIFAR-10 from an archive of its layout with a few records, served by this machine."""

import hashlib
import io
import re
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from attnbook.data import cifar10
from attnbook.data.archive import DataError
from attnbook.data.sources import SOURCES

from .conftest import tree

NAME = "cifar-10-binary.tar.gz"
FOLDER = "cifar-10-batches-bin"
FILES = [f"{FOLDER}/data_batch_{i}.bin" for i in (1, 2, 3, 4, 5)] + [f"{FOLDER}/test_batch.bin"]
RECORDS = 4


def drawn():
    """For each file its records: label, red, green, blue."""
    table = np.random.default_rng(0).integers(0, 256, (6, RECORDS, 3073), dtype=np.uint8)
    table[:, :, 0] = np.arange(6 * RECORDS).reshape(6, RECORDS) % 10
    return table


TABLE = drawn()
MEMBERS = {name: part.tobytes() for name, part in zip(FILES, TABLE, strict=True)}


def packed(members):
    """The archive; its files stand in another order than their names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as bundle:
        for name, content in reversed(({f"{FOLDER}/readme.html": b"no"} | members).items()):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            bundle.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def expect(monkeypatch):
    """Makes an archive the one that is wanted."""

    def of(archive, **other):
        tiny = replace(
            cifar10._SOURCE,
            archive_sha256=hashlib.sha256(archive).hexdigest(),
            archive_bytes=len(archive),
            n_bytes=6 * RECORDS * 3073,
        )
        monkeypatch.setattr(cifar10, "_SOURCE", replace(tiny, **other))
        monkeypatch.setattr(cifar10, "_PER_FILE", RECORDS)
        return archive

    return of


@pytest.fixture
def put(root, expect):
    """Puts an archive of these members into the cache by hand."""

    def place(members, **other):
        (root / "archives").mkdir(parents=True)
        (root / "archives" / NAME).write_bytes(expect(packed(members), **other))

    return place


@pytest.fixture
def server(root, monkeypatch):
    """A machine that has the file `content`, and notes what it was asked."""

    class Page(BaseHTTPRequestHandler):
        content, asked, claimed = b"", [], None

        def do_GET(self):
            Page.asked.append(self.path)
            if self.path != f"/kriz/{NAME}":
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(Page.claimed or len(Page.content)))
            self.end_headers()
            self.wfile.write(Page.content)

        def log_message(self, *args):
            pass

    http = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    monkeypatch.setattr(cifar10, "ADDRESS", f"http://127.0.0.1:{http.server_port}/kriz/{NAME}")
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    yield Page
    http.shutdown()
    http.server_close()


def test_the_first_use_downloads_and_the_second_does_not(root, server, expect):
    server.content = expect(packed(MEMBERS))
    (images, labels), (test_images, test_labels) = cifar10.load()
    assert images.shape == (5 * RECORDS, 3, 32, 32)
    assert test_images.shape == (RECORDS, 3, 32, 32)
    assert {images.dtype, test_images.dtype} == {np.dtype(np.uint8)}
    assert {labels.dtype, test_labels.dtype} == {np.dtype(np.int64)}
    assert labels.tolist() == [i % 10 for i in range(5 * RECORDS)]
    assert test_labels.tolist() == [0, 1, 2, 3]
    # By the layout: byte 1 + 1024 c + 32 y + x of a record.
    for channel, y, x in ((0, 0, 0), (0, 0, 31), (1, 7, 3), (2, 31, 30)):
        byte = 1 + 1024 * channel + 32 * y + x
        assert images[2 * RECORDS + 1, channel, y, x] == TABLE[2, 1, byte]
        assert test_images[3, channel, y, x] == TABLE[5, 3, byte]
    assert tree(root) == {f"archives/{NAME}": server.content}
    cifar10.load()
    assert server.asked == [f"/kriz/{NAME}"]


def test_an_archive_put_there_by_hand_serves_without_a_network(put, monkeypatch):
    monkeypatch.setattr(cifar10, "read_address", lambda *args: pytest.fail("asked"))
    put(MEMBERS)
    assert len(cifar10.load()[0][1]) == 5 * RECORDS


def test_without_a_network_the_error_says_what_to_do(root, server, expect, monkeypatch):
    expect(packed(MEMBERS))
    monkeypatch.setattr(cifar10, "ADDRESS", cifar10.ADDRESS.replace("kriz", "nobody"))
    with pytest.raises(DataError, match=r"cifar10 could not be fetched: .*404") as caught:
        cifar10.load()
    assert f"\n    {cifar10.ADDRESS}\n" in str(caught.value)
    assert f"\n    {root / 'archives' / NAME}" in str(caught.value)
    assert not root.exists()


@pytest.mark.parametrize("broken", ["changed", "longer", "short"])
def test_a_wrong_download_is_seen_before_it_is_opened_and_not_kept(
    root, server, expect, monkeypatch, broken
):
    server.asked.clear()
    archive = expect(packed(MEMBERS))
    server.content = {
        "changed": archive[:-1] + bytes([archive[-1] ^ 1]),
        "longer": archive + b"more" * 99,
        "short": archive[:-9],
    }[broken]
    server.claimed = len(archive) if broken == "short" else None
    monkeypatch.setattr(tarfile, "open", lambda *args: pytest.fail("opened"))
    wrong = r"has the wrong checksum|could not be fetched: IncompleteRead"
    with pytest.raises(DataError, match=wrong):
        cifar10.load()
    assert tree(root) in ({}, {"archives": b""})
    assert len(server.asked) == 1


def test_no_more_is_read_than_the_archive_holds(root, server, expect, monkeypatch):
    archive, most = expect(packed(MEMBERS)), []
    server.content = archive + b"more" * 99
    real = cifar10.read_address

    def watched(address, bound):
        content = real(address, bound)
        most.append(len(content))
        return content

    monkeypatch.setattr(cifar10, "read_address", watched)
    with pytest.raises(DataError, match="wrong checksum"):
        cifar10.load()
    assert most == [len(archive) + 1]


def test_a_damaged_archive_put_there_by_hand_is_named_and_kept(root, put):
    put(MEMBERS, archive_sha256="0" * 64)
    with pytest.raises(
        DataError, match=r"wrong checksum: expected sha256 0{64}, got \w+"
    ) as caught:
        cifar10.load()
    path = root / "archives" / NAME
    assert f"{path} (replace it or take it away)" in str(caught.value)
    assert path.exists()


def test_a_file_of_another_size_is_refused(put):
    put(MEMBERS | {FILES[2]: MEMBERS[FILES[2]][:-1]})
    with pytest.raises(DataError, match=r"data_batch_3.bin must have 12,292 bytes, not 12,291"):
        cifar10.load()


def test_files_that_are_too_large_are_refused_before_they_are_read(put, monkeypatch):
    put(MEMBERS | {FILES[2]: MEMBERS[FILES[2]] + b"1"})
    monkeypatch.setattr(tarfile.TarFile, "extractfile", lambda *args: pytest.fail("read"))
    with pytest.raises(DataError, match="its members hold 73753 bytes where 73752 are expected"):
        cifar10.load()


def test_a_missing_file_is_refused(put):
    put({name: content for name, content in MEMBERS.items() if name != FILES[5]})
    with pytest.raises(DataError, match=r"test_batch.bin must have 12,292 bytes, not 0"):
        cifar10.load()


def test_a_label_out_of_range_is_refused(put):
    table = drawn()
    table[1, 3, 0] = 10
    put(MEMBERS | {FILES[1]: table[1].tobytes()})
    with pytest.raises(DataError, match=r"data_batch_2.bin has a label 10, but the last one is 9"):
        cifar10.load()


def test_a_folder_that_cannot_be_written_is_named(root, server, expect, monkeypatch):
    server.content = expect(packed(MEMBERS))
    root.parent.mkdir(exist_ok=True)
    root.write_bytes(b"a file where the cache should be")
    with pytest.raises(DataError, match=re.escape(f"cannot be kept in {root / 'archives'}")):
        cifar10.load()


def test_the_pinned_sizes_are_those_of_the_layout():
    source = cifar10._SOURCE
    assert (cifar10._RECORD, source.n_bytes) == (3073, 60_000 * 3073)
    assert len(source.archive_sha256) == 64
    assert source.members == tuple(FILES)
    assert cifar10.CLASSES[3:5] == ("cat", "deer")
    assert len(cifar10.CLASSES) == 10


def test_make_data_does_not_ask_for_it():
    assert "cifar10" not in SOURCES
