"""Each utterance has its frames in order, and its speaker."""

import numpy as np
import pytest

from attnbook.data import vowels
from attnbook.data.archive import DataError
from attnbook.data.vowels import load

HEAD = "#A remark on data\n@problemName JapaneseVowels\n@classLabel true 1 2\n@data\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "aeon" / "datasets" / "data" / "JapaneseVowels"
    folder.mkdir(parents=True)
    (folder / "JapaneseVowels_TRAIN.ts").write_text(f"{HEAD}1,2,3:4,5,-6.5:2\n0.5:7:1\n")
    (folder / "JapaneseVowels_TEST.ts").write_text(f"{HEAD}8,9:10,11:9\n")
    monkeypatch.setattr(vowels, "fetch", lambda name: tmp_path)
    return folder


def test_a_row_of_the_file_is_a_coefficient_and_a_row_of_the_array_is_a_frame(folder):
    train, test = load()
    assert [u.speaker for u in train] == [1, 0]
    assert train[0].frames.tolist() == [[1, 4], [2, 5], [3, -6.5]]
    assert train[1].frames.tolist() == [[0.5, 7]]
    assert [(u.speaker, u.frames.tolist()) for u in test] == [(8, [[8, 10], [9, 11]])]
    assert train[0].frames.dtype == np.float32


@pytest.mark.parametrize("line", ["1,2:3:1", "1,x:3,4:1", "1,2:3,4:one", "1,2:3,4", ""])
def test_a_line_that_is_no_utterance(folder, line):
    with (folder / "JapaneseVowels_TEST.ts").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=r"TEST\.ts: utterance 2 cannot be read"):
        load()


@pytest.mark.slow
def test_the_utterances_as_they_are():
    train, test = load()
    assert [len(train), len(test)] == [270, 370]
    assert np.bincount([u.speaker for u in train]).tolist() == [30] * 9
    assert np.bincount([u.speaker for u in test]).tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    lengths = [len(u.frames) for u in train + test]
    assert (min(lengths), max(lengths)) == (7, 29)
    assert {u.frames.shape[1] for u in train + test} == {12}
    assert len({u.frames.tobytes() for u in train + test}) == 640
    assert all(np.isfinite(u.frames).all() for u in train + test)
    assert train[0].frames[0, :2].tolist() == pytest.approx([1.860936, -0.207383])


@pytest.mark.parametrize("text", ["", HEAD, "1,2:3,4:1\n"])
def test_a_file_without_utterances(folder, text):
    (folder / "JapaneseVowels_TEST.ts").write_text(text)
    with pytest.raises(DataError, match=r"TEST\.ts: there is no utterance"):
        load()
