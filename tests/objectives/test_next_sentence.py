import math
from itertools import pairwise

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from attnbook.objectives.next_sentence import join_pairs, sentence_pairs

CLS, SEP, PAD = 101, 102, 0


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def numbered(*lengths):
    """Documents of sentences "document.sentence", no two the same."""
    return [[f"{d}.{i}" for i in range(n)] for d, n in enumerate(lengths)]


def successions(documents):
    return {pair for document in documents for pair in pairwise(document)}


def test_by_hand():
    documents = numbered(3, 1)
    pairs = sentence_pairs(documents, generator=seeded())
    assert [first for first, _, _ in pairs] == ["0.0", "0.1"]
    assert sorted(is_next for _, _, is_next in pairs) == [False, True]
    for first, second, is_next in pairs:
        wanted = {"0.0": "0.1", "0.1": "0.2"}[first] if is_next else "1.0"
        assert second == wanted


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5), st.integers(0, 9))
def test_half_are_successors_and_half_come_from_another_document(lengths, seed):
    assume(max(lengths) > 1 and sum(n > 0 for n in lengths) > 1)
    documents = numbered(*lengths)
    pairs = sentence_pairs(documents, generator=seeded(seed))
    firsts = [sentence for document in documents for sentence in document[:-1]]
    assert [first for first, _, _ in pairs] == firsts
    assert sum(not is_next for _, _, is_next in pairs) == len(firsts) // 2
    for first, second, is_next in pairs:
        assert is_next == ((first, second) in successions(documents))
        if not is_next:
            assert first.split(".")[0] != second.split(".")[0]


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=2, max_size=4),
    st.integers(0, 9),
)
def test_no_right_answer_is_called_wrong_though_sentences_come_again(documents, seed):
    right = successions(documents)
    assume(right)
    for i, document in enumerate(documents):
        others = [s for j, other in enumerate(documents) if j != i for s in other]
        for first in document[:-1]:
            assume(any((first, s) not in right for s in others))
    for first, second, is_next in sentence_pairs(documents, generator=seeded(seed)):
        assert is_next == ((first, second) in right)


def test_a_successor_elsewhere_is_no_wrong_answer():
    """Every other sentence but one follows "a" somewhere: that one is drawn, always."""
    documents = [["a", "b"], ["a", "b"], ["a", "c"], ["d"]]
    for seed in range(50):
        pairs = sentence_pairs(documents, generator=seeded(seed))
        wrong = [second for _, second, is_next in pairs if not is_next]
        assert len(wrong) == 1
        assert wrong[0] in ("a", "d")


def test_wrong_seconds_are_drawn_evenly():
    documents = numbered(2, 2, 3, 1)
    counts, generator = {}, seeded(3)
    for _ in range(2_000):
        for first, second, is_next in sentence_pairs(documents, generator=generator):
            if not is_next and first == "1.0":
                counts[second] = counts.get(second, 0) + 1
    n = sum(counts.values())
    assert abs(n - 1_000) < 4.5 * math.sqrt(2_000 / 4)
    assert set(counts) == {"0.0", "0.1", "2.0", "2.1", "2.2", "3.0"}
    assert all(abs(c - n / 6) < 4.5 * math.sqrt(n * 5 / 36) for c in counts.values())


def test_each_draw_is_fresh_and_a_seed_repeats_it():
    documents, generator = numbered(20, 20), seeded()
    before = torch.get_rng_state()
    first, second = (sentence_pairs(documents, generator=generator) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before), "the global generator must be left alone"
    assert first != second
    assert [x[2] for x in first] != [x[2] for x in second]
    assert sentence_pairs(documents, generator=seeded()) == first


def test_sentences_of_ids():
    pairs = sentence_pairs([[(1, 2), (3,)], [(4,), (5, 6)]], generator=seeded())
    assert {first for first, _, _ in pairs} == {(1, 2), (4,)}


def test_join_by_hand():
    ids, segments, real = join_pairs(
        [(5, 6), (7,)], [(8,), (9, 10, 11)], cls_id=CLS, sep_id=SEP, pad_id=PAD, max_len=9
    )
    assert ids.tolist() == [[CLS, 5, 6, SEP, 8, SEP, PAD], [CLS, 7, SEP, 9, 10, 11, SEP]]
    assert segments.tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    assert real.int().tolist() == [[1] * 6 + [0], [1] * 7]


@given(
    st.lists(
        st.tuples(*[st.lists(st.integers(0, 9), min_size=1, max_size=12)] * 2),
        min_size=1,
        max_size=4,
    ),
    st.integers(5, 20),
)
def test_the_longer_loses_its_end(pairs, max_len):
    firsts, seconds = zip(*pairs, strict=True)
    ids, segments, real = join_pairs(
        firsts, seconds, cls_id=CLS, sep_id=SEP, pad_id=PAD, max_len=max_len
    )
    assert ids.shape == segments.shape == real.shape
    assert ids.shape[1] == int(real.sum(1).max()) <= max_len
    for row, part, is_real, first, second in zip(ids, segments, real, firsts, seconds, strict=True):
        first, second = list(first), list(second)
        while len(first) + len(second) + 3 > max_len:
            (first if len(first) > len(second) else second).pop()
        n = len(first) + len(second) + 3
        assert is_real.tolist() == [i < n for i in range(len(is_real))]
        assert row[is_real].tolist() == [CLS, *first, SEP, *second, SEP]
        assert part[is_real].tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1)
        assert (row[~is_real] == PAD).all()
        assert (part[~is_real] == 0).all()


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_nesting(self):
        with pytest.raises(TypeError, match=r"documents\[1\] must be a list of sentences"):
            sentence_pairs([["a", "b"], "one string"], generator=seeded())
        with pytest.raises(TypeError, match=r"documents\[0\] must be strings or tuples of ids"):
            sentence_pairs([[[1, 2], [3]], [[4]]], generator=seeded())

    @pytest.mark.parametrize("documents", [[], [["a", "b"]], [["a", "b"], []]])
    def test_no_other_document(self, documents):
        with pytest.raises(ValueError, match="documents must hold at least 2 with sentences"):
            sentence_pairs(documents, generator=seeded())

    def test_no_pair(self):
        with pytest.raises(ValueError, match="documents must hold at least one with 2 sentences"):
            sentence_pairs([["a"], ["b"]], generator=seeded())

    def test_no_wrong_second(self):
        with pytest.raises(ValueError, match="a sentence elsewhere that never follows 'a'"):
            sentence_pairs([["a", "b"], ["a", "b", "a", "a"]] * 9, generator=seeded())

    def test_generator(self):
        with pytest.raises(TypeError, match=r"generator must be a torch\.Generator, not int"):
            sentence_pairs(numbered(2, 2), generator=0)

    def test_join(self):
        ids = {"cls_id": CLS, "sep_id": SEP, "pad_id": PAD, "max_len": 9}
        with pytest.raises(ValueError, match=r"max_len must be at least 5, .* not 4"):
            join_pairs([(1,)], [(2,)], **ids | {"max_len": 4})
        with pytest.raises(
            ValueError, match=r"firsts and seconds must be of one length, .* 1 and 2"
        ):
            join_pairs([(1,)], [(2,), (3,)], **ids)
        with pytest.raises(
            ValueError, match=r"firsts and seconds must be of one length, .* 0 and 0"
        ):
            join_pairs([], [], **ids)
        with pytest.raises(ValueError, match=r"seconds\[0\] must have at least one token"):
            join_pairs([(1,)], [()], **ids)
        with pytest.raises(TypeError, match=r"firsts\[0\] must be a sequence of ids, not 1"):
            join_pairs([1], [2], **ids)
        with pytest.raises(TypeError, match=r"seconds\[0\] must be a sequence of ids, not 'text'"):
            join_pairs([(1,)], ["text"], **ids)
