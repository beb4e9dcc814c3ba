"""Speeches whole, in their order, on their side; sentences by a rule that can be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.data import sotu
from attnbook.data.archive import DataError
from attnbook.data.sotu import Speech, load, split, split_sentences

TABLE = """\
fileid,year,date,president_full,is_sotu
1953-Eisenhower-1,1953,1953-02-02,Dwight D. Eisenhower,True
1953-Truman-1,1953,1953-01-07,Harry S. Truman,False
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "sotu" / "data"
    (folder / "speeches").mkdir(parents=True)
    (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
    (folder / "speeches" / "1953-Truman-1.txt").write_text("[On] Tape.\n", encoding="utf-8")
    (folder / "speeches" / "1953-Eisenhower-1.txt").write_text(
        "[ As delivered ] \n\nMr. Speaker—\n[Laughter]\n", encoding="utf-8"
    )
    monkeypatch.setattr(sotu, "fetch", lambda name: tmp_path)
    return folder


def test_load_in_order_of_date_with_the_archives_note_apart(folder):
    assert load() == [
        Speech("1953-Truman-1", 1953, "Harry S. Truman", False, "", "[On] Tape."),
        Speech(
            "1953-Eisenhower-1",
            1953,
            "Dwight D. Eisenhower",
            True,
            "[ As delivered ]",
            "Mr. Speaker—\n[Laughter]",
        ),
    ]


@pytest.mark.parametrize("name", ["1953-Eisenhower-1", "1954-Eisenhower-1"])
def test_load_tells_what_the_table_and_the_files_do_not_share(folder, name):
    path = folder / "speeches" / f"{name}.txt"
    path.unlink() if path.exists() else path.touch()
    with pytest.raises(DataError, match=rf"metadata\.csv and speeches do not agree on '{name}'"):
        load()


@pytest.mark.parametrize(
    "sentences",
    [
        ["It is so.", "Is it?", "It is!", "Good."],
        ["Mr. Speaker, Mr. Vice President:", "Gen. J. K. Smith of the U.S. Army came."],
        ['He said, "Go."', '"We will!"', "(So he did.)", "“Then ‘yes’.”", "And he went…"],
        ["It rose by 3.5 percent.", "1947 was worse.", "$5 were left."],
        ["It cost 3 cents.", "St. Louis paid."],
        ["We wait...", "And wait?!", "Now."],
        ["In U.S. waters", "it ended at 9 p.m. today."],
        ["We lead NATO.", "Then we act."],  # more than one capital letter
    ],
)
def test_where_a_sentence_ends(sentences):
    text = "".join(s + (" " if s.endswith(tuple('.!?…")”')) else "\n") for s in sentences)
    assert split_sentences(text) == sentences


def test_a_line_break_ends_a_sentence_and_blank_lines_are_none():
    assert split_sentences("\n\nTo the Congress:\n \n I come\nagain. \n") == [
        "To the Congress:",
        "I come",
        "again.",
    ]
    assert split_sentences("") == split_sentences(" \n") == []


@given(text=st.text("aB1. !?\"\n()'$"))
def test_nothing_is_lost_between_sentences(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in sentences)
    assert [s for one in sentences for s in split_sentences(one)] == sentences


def given_in(name):
    return Speech(name, int(name[:4]), "someone", True, "", "Text.")


def test_the_texts_of_one_president_and_year_stay_together():
    names = [f"1973-Nixon-{i}" for i in range(1, 12)]
    sides = split(map(given_in, names))
    assert sorted(map(len, sides)) == [0, 0, 11]


def test_the_sides_of_four_speeches_do_not_move():
    train, valid, test = split(
        map(given_in, ["1981-Carter-1", "1980-Carter-2", "2020-Trump-1", "1790-Washington-1"])
    )
    assert [speech.name for speech in train] == ["1980-Carter-2", "1790-Washington-1"]
    assert [speech.name for speech in valid] == ["2020-Trump-1"]
    assert [speech.name for speech in test] == ["1981-Carter-1"]


# From here on the speeches themselves


@pytest.fixture(scope="module")
def speeches():
    return load()


@pytest.mark.slow
def test_the_speeches_have_their_known_size(speeches):
    assert len(speeches) == 249
    assert sum(len(speech.text) for speech in speeches) == 12_180_279
    assert (speeches[0].name, speeches[-1].name) == ("1790-Washington-1", "2026-Trump-1")
    assert len({speech.president for speech in speeches}) == 43
    assert sum(not speech.annual for speech in speeches) == 12
    assert sum(bool(speech.note) for speech in speeches) == 13
    assert sum("elivered in person" in speech.note for speech in speeches) == 9
    assert not any("elivered in person" in speech.text for speech in speeches)
    years = [speech.year for speech in speeches]
    assert years == sorted(years)
    assert all(speech.name.startswith(f"{speech.year}-") for speech in speeches)
    assert all(speech.text == speech.text.strip() != "" for speech in speeches)


@pytest.mark.slow
def test_the_split_has_its_known_sizes(speeches):
    assert [len(side) for side in split(speeches)] == [201, 26, 22]


@pytest.mark.slow
def test_the_salt_is_the_first_that_meets_its_rule(speeches, monkeypatch):
    total = sum(len(speech.text) for speech in speeches)

    def meets(salt):
        monkeypatch.setattr(sotu, "_SALT", f"{salt}:")
        return all(
            abs(sum(len(speech.text) for speech in side) / total - 0.1) < 0.01
            and {"18", "19", "20"} <= {speech.name[:2] for speech in side}
            for side in split(speeches)[1:]
        )

    assert next(salt for salt in range(1000) if meets(salt)) == 28
