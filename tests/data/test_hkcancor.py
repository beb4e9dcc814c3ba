"""Each word keeps its tag and its sound, and each recording its side of the split."""

import hashlib
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.data import hkcancor
from attnbook.data.archive import DataError
from attnbook.data.hkcancor import TAGS, Utterance, load, split

HEADERS = """\
@UTF8
@Begin
@Languages:\tyue , eng
@ID:\tyue , eng|HKCanCor|XXA|34;|female|||Adult||origin:HK|
@Notes:\tgoes on
\tin the next line
"""
TEXT = (
    HEADERS
    + """\
*XXA:\t我 打 call機 ,
\t係 咩 ?
%mor:\tr|ngo5 v|daa2 n|call0gei1
\t, v|hai6 y|me1
\t?
*XB；:\t○ " ... - .
%mor:\t#|# " ... - .
*XXX:\tNew_Zealand !
%mor:\txns|New_Zealand0 !
@End
"""
)


def parse(text):
    return list(hkcancor._parse(text, "FC-1", "some.cha"))


def test_lines_go_on_after_a_tab_and_a_mark_is_its_own_tag():
    assert parse(TEXT) == [
        Utterance(
            "FC-1",
            "XXA",
            ("我", "打", "call機", ",", "係", "咩", "?"),
            ("r", "v", "n", ",", "v", "y", "?"),
            ("ngo5", "daa2", "call0gei1", "", "hai6", "me1", ""),
        ),
        Utterance(
            "FC-1",
            "XXB",
            ("○", '"', "...", "-", "."),
            ("#", '"', "...", "-", "."),
            ("#", *[""] * 4),
        ),
        Utterance("FC-1", "XXX", ("New_Zealand", "!"), ("xns", "!"), ("New_Zealand0", "")),
    ]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n@End", "\n@End\n"])
def test_the_last_line_is_read_however_the_text_ends(end):
    assert [utterance.words for utterance in parse(f"*XXA:\t係\n%mor:\tv|hai6{end}")] == [("係",)]


@pytest.mark.parametrize(
    ("head", "speaker"),
    [("*XXA", "XXA"), ("*XXX", "XXX"), ("*XA；", "XXA"), ("*XB*", "XXB")],
)
def test_stray_marks_in_a_speakers_code_are_dropped(head, speaker):
    (utterance,) = parse(f"{head}:\t係\n%mor:\tv|hai6\n")
    assert utterance.speaker == speaker


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*XXA:\t我 係\n%mor:\tr|ngo5\n", "line 2: 2 words have 1 tags"),
        ("*XXA:\t我\n%mor:\tr|ngo5 .\n", "line 2: 1 words have 2 tags"),
        ("*XXA:\t\n%mor:\t\n", "line 2: 0 words have 0 tags"),
        ("*XXA:\t我\n\t係\n*XXB:\t係\n", r"line 3: expected a %mor line, found '\*XXB"),
        ("*XXA:\t我\n", "ends before the %mor line"),
        ("%mor:\tr|ngo5\n", "line 1: expected the speaker's next words, found '%mor"),
        ("*XXA:\t我\n%gra:\tr|ngo5\n", "line 2: expected a %mor line, found '%gra"),
        ("*XXA 我\n%mor:\tr|ngo5\n", "line 1: expected the speaker's next words"),
        ("*abc:\t我\n%mor:\tr|ngo5\n", "line 1: expected the speaker's next words"),
        ("\t我\n", "line 1: expected the speaker's next words"),
        ("*XXA:\t我\n%mor:\tr\n", "line 2: cannot read the tag 'r' of the word '我'"),
        ("*XXA:\t我\n%mor:\tr|\n", r"line 2: cannot read the tag 'r\|'"),
        ("*XXA:\t我\n%mor:\t|ngo5\n", r"line 2: cannot read the tag '\|ngo5'"),
        ("*XXA:\t我\n%mor:\tr|ngo5|x\n", r"line 2: cannot read the tag 'r\|ngo5\|x'"),
        ("*XXA:\t.\n%mor:\t,\n", "line 2: cannot read the tag ',' of the word '.'"),
    ],
)
def test_what_is_not_understood_is_told_with_file_and_line(text, message):
    with pytest.raises(DataError, match=rf"^some\.cha.*{message}"):
        parse(text)


ITEM = st.tuples(
    st.text("一我係abcXY_○", min_size=1, max_size=4),
    st.sampled_from(["n", "v1", "xjn", "Ng", "#"]),
    st.sampled_from(["ngo5", "hai6", "call0gei1"]),
) | st.sampled_from(".,?!-").map(lambda mark: (mark, mark, ""))


@settings(deadline=None)  # two busy cores
@given(items=st.lists(ITEM, min_size=1, max_size=12), data=st.data())
def test_what_is_written_is_read_back_wherever_the_lines_are_broken(items, data):
    def write(head, parts):
        gaps = [data.draw(st.sampled_from([" ", "\n\t", " \n\t"])) for _ in parts[1:]]
        return head + parts[0] + "".join(g + p for g, p in zip(gaps, parts[1:], strict=True)) + "\n"

    words, tags, sounds = zip(*items, strict=True)
    text = HEADERS + write("*XXC:\t", words)
    text += write("%mor:\t", [t if t == w else f"{t}|{s}" for w, t, s in items])
    assert parse(text + "@End\n") == [Utterance("FC-1", "XXC", words, tags, sounds)]


@pytest.mark.parametrize("lengths", [(2, 1, 1), (1, 2, 1), (1, 1, 2), (0, 0, 0)])
def test_an_utterance_has_as_many_tags_and_sounds_as_words(lengths):
    with pytest.raises(ValueError, match="have {}, {} and {}".format(*lengths)):
        Utterance("FC-1", "XXA", *(("a",) * length for length in lengths))


def _folder(tmp_path, monkeypatch, **files):
    folder = tmp_path / "pycantonese" / "data" / "hkcancor"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name.replace('_', '-', 1)}.cha").write_text(text, encoding="utf-8")
    monkeypatch.setattr(hkcancor, "fetch", lambda name: tmp_path)


def test_load_names_the_recording_and_not_its_part(tmp_path, monkeypatch):
    said = "*XXA:\t係\n%mor:\tv|hai6\n"
    _folder(tmp_path, monkeypatch, FC_R10b_v=said, FC_005a_v2=said, FC_R10a_v=said, FC_1_v=said)
    assert [utterance.recording for utterance in load()] == ["FC-005", "FC-1", "FC-R10", "FC-R10"]


def test_load_tells_the_file_that_it_does_not_understand(tmp_path, monkeypatch):
    _folder(tmp_path, monkeypatch, FC_005a_v2="*XXA:\t係\n")
    with pytest.raises(DataError, match=r"FC-005a_v2\.cha: ends before"):
        load()


def test_load_refuses_a_file_name_that_gives_no_recording(tmp_path, monkeypatch):
    _folder(tmp_path, monkeypatch, FC_005ab_v2="")
    with pytest.raises(DataError, match=r"FC-005ab_v2\.cha: this is not how"):
        load()


def _said(recording):
    return Utterance(recording, "XXA", ("係",), ("v",), ("hai6",))


NAMES = st.lists(st.integers(1, 300).map("FC-{:03}".format), max_size=40)


@settings(deadline=None)  # two busy cores
@given(names=NAMES, others=NAMES)
def test_a_recording_stays_on_its_side_whatever_else_there_is(names, others):
    alone, together = split(map(_said, names)), split(map(_said, others + names))
    for few, many in zip(alone, together, strict=True):
        assert {u.recording for u in few} <= {u.recording for u in many}
        assert [u for u in few if u.recording not in others] == [
            u for u in many if u.recording in names and u.recording not in others
        ]
    assert sum(map(len, together)) == len(names) + len(others)


def test_the_sides_of_four_recordings_do_not_move():
    train, valid, test = split(map(_said, ["FC-R004", "FC-012", "FC-001", "FC-R002"]))
    assert [u.recording for u in train] == ["FC-001", "FC-R002"]
    assert [u.recording for u in valid] == ["FC-012"]
    assert [u.recording for u in test] == ["FC-R004"]


def test_about_eight_of_ten_names_are_for_training():
    train, valid, test = split(_said(f"FC-{i}") for i in range(10_000))
    assert abs(len(train) - 8000) < 120  # three standard deviations
    assert abs(len(valid) - 1000) < 90
    assert abs(len(test) - 1000) < 90


# From here on the corpus itself


@pytest.fixture(scope="module")
def corpus():
    return load()


def _tokens(utterances):
    return sum(len(utterance.words) for utterance in utterances)


@pytest.mark.slow
def test_the_corpus_has_its_known_size(corpus):
    assert len(corpus) == 16_162
    assert _tokens(corpus) == 153_656
    assert len({utterance.recording for utterance in corpus}) == 49
    assert len({word for utterance in corpus for word in utterance.words}) == 7_221
    assert len({(utterance.recording, utterance.speaker) for utterance in corpus}) == 130
    assert max(len(utterance.words) for utterance in corpus) == 107


@pytest.mark.slow
def test_the_first_utterance_is_as_printed_in_the_datas_readme(corpus):
    assert corpus[0] == Utterance(
        recording="FC-001",
        speaker="XXA",
        words=("喂", "遲", "啲", "去", "唔", "去", "旅行", "啊", "?"),
        tags=("e", "a", "u", "v", "d", "v", "vn", "y", "?"),
        jyutping=("wai3", "ci4", "di1", "heoi3", "m4", "heoi3", "leoi5hang4", "aa3", ""),
    )


@pytest.mark.slow
def test_words_tags_and_sounds_are_aligned(corpus):
    """A shift by one place would put Jyutping beside marks, or Latin words beside Jyutping."""
    for utterance in corpus:
        for word, tag, sound in zip(
            utterance.words, utterance.tags, utterance.jyutping, strict=True
        ):
            mark = not re.search(r"[\w○]", word)
            assert mark == (sound == "")
            assert mark == (tag == word) or (word, tag) == ("e", "e")  # one interjection
            if re.fullmatch(r"[\u3400-\u9fff\U00020000-\U0003ffff]+", word):
                assert re.fullmatch(r"([a-z]+[1-6])+", sound), (word, sound)


@pytest.mark.slow
def test_each_tag_has_a_meaning_and_each_meaning_a_tag(corpus):
    counts = Counter(tag for utterance in corpus for tag in utterance.tags)
    assert set(counts) == set(TAGS)
    assert len(counts) == 102
    assert counts.most_common(4) == [("v", 24353), ("r", 15078), ("d", 14708), ("y", 14502)]
    assert sum(count < 10 for count in counts.values()) == 26
    marks = sum(count for tag, count in counts.items() if not re.search(r"[\w#]", tag))
    assert marks == 28_262


@pytest.mark.slow
def test_the_split_has_its_known_sizes_and_parts_no_recording(corpus):
    sides = split(corpus)
    assert [len(side) for side in sides] == [12_758, 1_727, 1_677]
    assert [_tokens(side) for side in sides] == [120_705, 16_295, 16_656]
    recordings = [{utterance.recording for utterance in side} for side in sides]
    assert [len(names) for names in recordings] == [36, 5, 8]
    assert len(set.union(*recordings)) == 36 + 5 + 8


@pytest.mark.slow
def test_the_salt_is_the_first_that_meets_its_rule(corpus, monkeypatch):
    tokens = Counter()
    for utterance in corpus:
        tokens[utterance.recording] += len(utterance.words)

    def meets(salt):
        monkeypatch.setattr(hkcancor, "_SALT", f"{salt}:")
        sides = [{}, {}, {}]
        for name, count in tokens.items():
            sides[hkcancor._side(name)][name] = count
        return all(
            abs(sum(side.values()) / tokens.total() - 0.1) < 0.01
            and len({name.startswith("FC-R") for name in side}) == 2
            for side in sides[1:]
        )

    assert next(salt for salt in range(1000) if meets(salt)) == 176


def test_the_hash_is_the_one_that_the_book_describes():
    place = int(hashlib.sha256(b"176:FC-012").hexdigest()[:8], 16) / 2**32
    assert 0.8 <= place < 0.9
