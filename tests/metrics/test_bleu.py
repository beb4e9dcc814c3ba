import importlib.util
import math
import sys

import pytest

from attnbook.metrics import bleu
from attnbook.metrics.bleu import corpus_bleu, sentence_bleu

CAT = "the cat sat on the mat"


def test_by_hand():
    # 1-grams 5 of 6, 2-grams 4 of 5, 3-grams 3 of 4, 4-grams 2 of 3; as long as the reference.
    wanted = 100 * math.prod([5 / 6, 4 / 5, 3 / 4, 2 / 3]) ** (1 / 4)
    assert corpus_bleu(["the cat sat on the hat"], [[CAT]]) == pytest.approx(wanted)
    # All of the hypothesis is right, but it is short: exp(1 - 6 / 5).
    assert corpus_bleu(["the cat sat on the"], [[CAT]]) == pytest.approx(100 * math.exp(-1 / 5))
    assert corpus_bleu([CAT], [[CAT]]) == pytest.approx(100)


def test_a_corpus_is_not_the_mean_of_its_sentences():
    hypotheses, references = [CAT, "a dog ran off home"], [[CAT], ["a bird sat in it"]]
    # Over both sentences: 7 of 11 words, 5 of 9 pairs, 4 of 7 triples, 3 of 5 fours.
    wanted = 100 * math.prod([7 / 11, 5 / 9, 4 / 7, 3 / 5]) ** (1 / 4)
    assert corpus_bleu(hypotheses, references) == pytest.approx(wanted)
    each = [corpus_bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True)]
    assert abs(sum(each) / 2 - wanted) > 3


def test_hypotheses_and_references_have_their_places():
    """The brevity penalty tells a short translation from a long one."""
    short, long = "the cat sat on the", CAT
    assert corpus_bleu([short], [[long]]) == pytest.approx(100 * math.exp(-1 / 5))
    assert corpus_bleu([long], [[short]]) == pytest.approx(
        100 * math.prod([5 / 6, 4 / 5, 3 / 4, 2 / 3]) ** (1 / 4)
    )


def test_13a_parts_punctuation_from_words():
    # With its marks parted: Hello , world ! against Hello , world . – 3 of 4, 2 of 3, 1 of 2,
    # and none of one 4-gram, which the smoothing counts as a half.
    wanted = 100 * math.prod([3 / 4, 2 / 3, 1 / 2, 1 / 2]) ** (1 / 4)
    assert corpus_bleu(["Hello, world!"], [["Hello, world."]]) == pytest.approx(wanted)


def test_case_counts():
    assert corpus_bleu([CAT.capitalize()], [[CAT]]) < 90


def test_chinese_is_parted_by_character():
    hypotheses, references = ["我喜欢吃苹果"], [["我喜欢吃香蕉"]]
    wanted = 100 * math.prod([4 / 6, 3 / 5, 2 / 4, 1 / 3]) ** (1 / 4)
    assert corpus_bleu(hypotheses, references, tokenize="zh") == pytest.approx(wanted)
    assert corpus_bleu(hypotheses, references) < 1  # 13a takes the sentence for one word


def test_several_references_and_not_as_many_for_each():
    hypotheses = [CAT, "a dog ran home now"]
    references = [["no word of it", CAT], ["a dog ran home now"]]
    assert corpus_bleu(hypotheses, references) == pytest.approx(100)
    assert corpus_bleu(hypotheses[::-1], references[::-1]) == pytest.approx(100)


def test_without_sacrebleu_the_library_imports_and_the_error_says_what_is_missing(monkeypatch):
    bleu._bleu.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ImportError, match="BLEU needs sacrebleu: pip install sacrebleu"):
        corpus_bleu([CAT], [[CAT]])
    spec = importlib.util.find_spec("attnbook.metrics.bleu")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_one_sentence_has_a_score_though_no_four_words_match():
    # 3 of 4 words, 1 of 3 pairs, no triple of 2 and no four of 1: a half of one, a quarter of one.
    wanted = 100 * math.prod([3 / 4, 1 / 3, 1 / 4, 1 / 4]) ** (1 / 4)
    assert sentence_bleu("sat the cat down", ["the cat has sat"]) == pytest.approx(wanted)
    # Two words have one pair, and no triple to be wrong: 1 of 2, and a half of one.
    assert sentence_bleu("the dog", ["the cat"]) == pytest.approx(100 * (1 / 2 * 1 / 2) ** (1 / 2))
    assert sentence_bleu("the cat", ["a dog", "the cat"]) == pytest.approx(100)


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_swapped(self):
        with pytest.raises(TypeError, match=r"hypotheses\[0\] must be one string, not \['the cat"):
            corpus_bleu([[CAT]], [CAT])

    def test_nesting(self):
        with pytest.raises(TypeError, match=r"references\[0\] must be a list of strings, not 'the"):
            corpus_bleu([CAT], [CAT])
        with pytest.raises(TypeError, match="hypotheses must be a list, not 'the cat"):
            corpus_bleu(CAT, [[CAT]])
        with pytest.raises(TypeError, match=r"hypotheses\[0\] must be one string, not \['the', "):
            corpus_bleu([CAT.split()], [[CAT]])
        with pytest.raises(TypeError, match=r"references\[0\] must be a list of strings"):
            corpus_bleu([CAT], [[CAT.split()]])
        with pytest.raises(ValueError, match=r"references\[1\] must hold at least one string"):
            corpus_bleu([CAT, CAT], [[CAT], []])

    def test_one_sentence(self):
        with pytest.raises(TypeError, match=r"references\[0\] must be a list of strings, not 'the"):
            sentence_bleu(CAT, CAT)
        with pytest.raises(ValueError, match=r"references\[0\] must hold at least one string"):
            sentence_bleu(CAT, [])

    def test_lengths(self):
        # sacrebleu's own nesting: one list for the whole corpus.
        with pytest.raises(ValueError, match=r"hypotheses and references must be .* not 2 and 1"):
            corpus_bleu([CAT, CAT], [[CAT, CAT]])
        with pytest.raises(ValueError, match="at least 1, not 0 and 0"):
            corpus_bleu([], [])

    def test_tokenize(self):
        with pytest.raises(ValueError, match='tokenize must be "13a" or "zh", not \'none\''):
            corpus_bleu([CAT], [[CAT]], tokenize="none")
