"""Each promoter keeps its letters, its bins and its part."""

import gzip

import pytest

from attnbook.data import promoter
from attnbook.data.archive import DataError
from attnbook.data.promoter import Promoter, load

HEAD = "set," + ",".join(f"ct_{i}" for i in range(10)) + ",x\n"
ROWS = (
    "test,0,0,0,0,0,1,0,0,0,0,GATTACA\n"
    "training,0,0,1,0,2,0,0,0,0,0,CCTG\n"
    "validation,0,0,0,0,1,0,0,1,0,0,AAC\n"
)


def write(root, text):
    folder = root / "mavenn" / "examples" / "datasets"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sortseq_data.csv.gz").write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def root(tmp_path, monkeypatch):
    write(tmp_path, HEAD + ROWS)
    monkeypatch.setattr(promoter, "fetch", lambda name: tmp_path)
    return tmp_path


def test_lines_become_promoters_in_the_sets_own_parts(root):
    (train,), (valid,), (test,) = load()
    assert train == Promoter("CCTG", (0, 0, 1, 0, 2, 0, 0, 0, 0, 0))
    assert (valid.letters, test.letters) == ("AAC", "GATTACA")
    assert (train.bin, valid.bin, test.bin) == (4, 4, 5)  # of two equal bins the lower one
    assert (train.strong, valid.strong, test.strong) == (False, False, True)


@pytest.mark.parametrize(
    "line", ["other,0,0,1,0,2,0,0,0,0,0,C\n", "test,0,0,1,0,2,0,0,0,0,x,C\n", "test,0,1\n"]
)
def test_a_line_that_is_no_promoter(root, line):
    write(root, HEAD + ROWS + line)
    with pytest.raises(DataError, match="promoter 4 cannot be read"):
        load()


@pytest.mark.slow
def test_the_promoters_as_they_are():
    parts = load()
    assert [len(part) for part in parts] == [30_516, 10_067, 9_935]
    every = [p for part in parts for p in part]
    assert len({p.letters for p in every}) == len(every)
    assert {len(p.letters) for p in every} == {75}
    assert set("".join(p.letters for p in every)) == set("ACGT")
    assert {len(p.counts) for p in every} == {10}
    assert parts[2][0].letters.startswith("AAAAAATCTGAG")
    assert parts[2][0].bin == 8
