"""The next sentence: does the second of two sentences follow the first in its document?"""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks

S = TypeVar("S", bound=Hashable)


def sentence_pairs(
    documents: Sequence[Sequence[S]], *, generator: torch.Generator
) -> list[tuple[S, S, bool]]:
    """Pair each sentence with the next one, or, for half of them, with one of another document.

    A wrong second sentence is drawn evenly from all sentences of the other documents. It never
    makes a pair that stands anywhere in the documents, so that no right answer is called wrong
    where sentences such as "Thank you." come more than once.

    Args:
        documents: each a list of its sentences in order; a sentence is a string or a tuple of ids.
            The last sentence of a document has no next one and begins no pair.
        generator: where the draws come from, and go on from at the next call; on the processor.

    Returns:
        (first, second, is_next) in the order of the documents. Half are true, and one more where
        their number is odd. For a loss, `is_next` is class 1 (in BERT's own weights class 0).

    Raises:
        TypeError: a document that is a string, sentences that cannot be compared by a hash, or
            no generator.
        ValueError: fewer than 2 documents with a sentence, no document with two, or no wrong
            second sentence for one of the firsts.

    Source: Devlin et al. 2019 (BERT), section 3.1, task 2.
    Chapter: 12_bert_pretraining
    """
    checks.generator(generator)
    for i, document in enumerate(documents):
        if isinstance(document, str):
            raise TypeError(f"documents[{i}] must be a list of sentences, not one string")
        if not all(isinstance(sentence, Hashable) for sentence in document):
            raise TypeError(
                f"the sentences of documents[{i}] must be strings or tuples of ids, not lists"
            )
    sentences = [sentence for document in documents for sentence in document]
    if sum(map(bool, documents)) < 2:
        raise ValueError("documents must hold at least 2 with sentences, to draw another from")
    successive = {pair for document in documents for pair in pairwise(document)}
    if not successive:
        raise ValueError("documents must hold at least one with 2 sentences, a first and its next")

    number = sum(max(len(document) - 1, 0) for document in documents)
    wrong = torch.zeros(number, dtype=torch.bool)
    wrong[torch.randperm(number, generator=generator)[: number // 2]] = True
    lots = torch.rand(number, generator=generator, dtype=torch.float64)
    draws = zip(wrong.tolist(), lots.tolist(), strict=True)

    pairs, start = [], 0
    for document in documents:
        end = start + len(document)
        others = len(sentences) - len(document)
        for first, second in pairwise(document):
            is_wrong, lot = next(draws)
            if is_wrong:
                # From the drawn sentence on to the first that will do; it nearly always does.
                places = ((int(lot * others) + i) % others for i in range(others))
                seconds = (sentences[p if p < start else p + end - start] for p in places)
                second = next((s for s in seconds if (first, s) not in successive), None)
                if second is None:
                    raise ValueError(
                        f"documents must hold a sentence elsewhere that never follows {first!r}"
                    )
            pairs.append((first, second, not is_wrong))
        start = end
    return pairs


def join_pairs(
    firsts: Sequence[Sequence[int]],
    seconds: Sequence[Sequence[int]],
    *,
    cls_id: int,
    sep_id: int,
    pad_id: int,
    max_len: int,
) -> tuple[Int[Tensor, "B L"], Int[Tensor, "B L"], Bool[Tensor, "B L"]]:
    """Make one input of each pair: [CLS] first [SEP] second [SEP], and which part is which.

    Where a pair is too long, the longer of the two loses tokens from its end. All are padded to
    the longest of them.

    Args:
        firsts, seconds: the ids of the sentences, without special tokens, at least one in each.
        cls_id, sep_id, pad_id: the special tokens.
        max_len: the longest row, at least 5.

    Returns:
        ids: shape (B, L), L <= max_len.
        segments: 0 up to the first [SEP], 1 from there to the second, 0 at padding, (B, L).
        real: True at every token but padding, shape (B, L).

    Raises:
        TypeError: a sentence that is not a sequence of ids.
        ValueError: no pair, not as many seconds as firsts, an empty sentence, or a max_len below 5.

    Source: Devlin et al. 2019 (BERT), figure 2.
    Chapter: 12_bert_pretraining
    """
    checks.positive(max_len=max_len)
    if max_len < 5:
        raise ValueError(f"max_len must be at least 5, 3 special tokens and 2 more, not {max_len}")
    checks.one_length(firsts=firsts, seconds=seconds)
    rows = []
    for i, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        for name, sentence in (("firsts", first), ("seconds", second)):
            if isinstance(sentence, str | int):
                raise TypeError(f"{name}[{i}] must be a sequence of ids, not {sentence!r}")
            if not len(sentence):
                raise ValueError(f"{name}[{i}] must have at least one token")
        room = max_len - 3
        # The shorter keeps up to half of the room, and leaves what it does not need.
        keep = min(len(first), max(room - len(second), (room + 1) // 2))
        first, second = first[:keep], second[: room - keep]
        rows.append(([cls_id, *first, sep_id], [*second, sep_id]))
    L = max(len(a) + len(b) for a, b in rows)
    ids = torch.full((len(rows), L), pad_id)
    segments = torch.zeros_like(ids)
    real = torch.zeros_like(ids, dtype=torch.bool)
    for row, (a, b) in enumerate(rows):
        end = len(a) + len(b)
        ids[row, :end] = torch.tensor([*a, *b])
        segments[row, len(a) : end] = 1
        real[row, :end] = True
    return ids, segments, real
