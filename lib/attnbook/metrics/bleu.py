"""BLEU: how many n-grams a translation has in common with the right ones."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any, Literal

from attnbook import checks


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: Literal["13a", "zh"] = "13a",
) -> float:
    """BLEU of a whole corpus, by sacrebleu, so that the number compares with published ones.

    n-grams are counted over all sentences before any quotient is taken: it is no mean of scores of
    sentences. Case counts. Texts are given as they are read, not split into tokens.

    Args:
        hypotheses: the translation of each sentence.
        references: for each sentence a list of right translations, at least one. (sacrebleu itself
            wants the transpose: a list of whole corpora.)
        tokenize: "13a", the tokenisation of WMT, for languages with spaces; "zh" for Chinese, which
            parts every Chinese character.

    Returns:
        0 … 100.

    Raises:
        ImportError: sacrebleu is not installed.
        TypeError: strings where lists are wanted or the other way: the nesting is wrong, or the
            arguments are swapped.
        ValueError: no sentence, not as many references as hypotheses, a sentence without a
            reference, or another tokenisation.

    Source: Papineni et al. 2002; Post 2018 (sacrebleu).
    Chapter: 11_training
    """
    _check_texts(hypotheses, references)
    if tokenize not in ("13a", "zh"):
        raise ValueError(f'tokenize must be "13a" or "zh", not {tokenize!r}')
    # None stands where a sentence has fewer references than another.
    transposed = list(itertools.zip_longest(*references))
    return _bleu(tokenize=tokenize).corpus_score(list(hypotheses), transposed).score


def sentence_bleu(hypothesis: str, references: Sequence[str]) -> float:
    """BLEU of one sentence, smoothed, by sacrebleu: a reward, not a result to report.

    Most short sentences have no 4-gram in common with the right one, and would score 0 however good
    they are. So orders that the hypothesis is too short for are left out, and where none matches,
    a half, a quarter and so on stands for it. The mean of such scores is not the BLEU of a corpus.

    Args:
        hypothesis: the translation, as it is read.
        references: right translations, at least one.

    Returns:
        0 … 100.

    Raises:
        ImportError, TypeError, ValueError: as `corpus_bleu`.

    Source: Papineni et al. 2002; Chen and Cherry 2014 (smoothing, their method 3).
    Chapter: 11_training
    """
    _check_texts([hypothesis], [references])
    return _bleu(effective_order=True).sentence_score(hypothesis, list(references)).score


@functools.cache
def _bleu(**choices: str | bool) -> Any:
    try:
        from sacrebleu.metrics import BLEU
    except ImportError as error:
        raise ImportError("BLEU needs sacrebleu: pip install sacrebleu") from error
    return BLEU(**choices)


def _check_texts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    checks.one_length(hypotheses=hypotheses, references=references)
    for i, (text, listed) in enumerate(zip(hypotheses, references, strict=True)):
        if not isinstance(text, str):
            raise TypeError(f"hypotheses[{i}] must be one string, not {text!r}")
        if isinstance(listed, str) or not all(isinstance(other, str) for other in listed):
            raise TypeError(f"references[{i}] must be a list of strings, not {listed!r}")
        if not listed:
            raise ValueError(f"references[{i}] must hold at least one string")
