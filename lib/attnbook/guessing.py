"""A hidden word guessed from the four around it, in what presidents told Congress.

Chapter 1 explains the task. Its kept vectors (`attnbook.trained.cbow_sotu`) come of the same words,
windows and loss, and the map of words on the site is the chapter's.
"""

import re
from collections import Counter
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks

UNKNOWN, VOCAB_SIZE = 0, 4000  # id 0 stands for all words that are not in the vocabulary
SIDE = 2  # words on either side of the hidden one
AROUND = [0, 1, 3, 4]  # the places of the context in a window
# Fixed before anything was trained, to ask whether words of a kind get like vectors.
GROUPS = {
    name: words.split()
    for name, words in {
        "months": "january february march april may june july august september october "
        "november december",
        "numbers": "two three four five six seven eight nine ten eleven twelve fifteen "
        "twenty thirty forty fifty sixty",
        "countries": "france spain mexico russia china japan cuba germany italy chile peru "
        "korea iraq vietnam brazil canada england austria turkey colombia venezuela "
        "nicaragua portugal",
    }.items()
}
DRAWN = 12  # words of each group on the map


def plain_words(text: str) -> list[str]:
    """The words of a text in small letters; every figure is "0", punctuation marks are dropped.

    Chapter: 01_embeddings
    """
    found = re.findall(r"[^\W\d_]+|\d+(?:[.,]\d+)*", text.lower())
    return ["0" if word[0].isdigit() else word for word in found]


def vocabulary_of(counts: Counter[str], size: int = VOCAB_SIZE) -> list[str]:
    """ "UNKNOWN" and the commonest words: a word's place is its id.

    Args:
        counts: how often each word occurs; of equally common ones the first met comes first.
        size: how many entries, "UNKNOWN" included.

    Raises:
        TypeError, ValueError: a size that is no int of at least 1.

    Chapter: 01_embeddings
    """
    checks.positive(size=size)
    return ["UNKNOWN", *(word for word, _ in counts.most_common(size - 1))]


def windows_of(texts: Iterable[Tensor]) -> Int[Tensor, "N 5"]:
    """All windows of five words with a known one in the middle; none reaches over a text's end.

    Args:
        texts: the ids of each text, (n,), of at least five words.

    Returns:
        The windows in the order of the texts, (N, 5).

    Chapter: 01_embeddings
    """
    windows = torch.cat([ids.unfold(0, 2 * SIDE + 1, 1) for ids in texts])
    return windows[windows[:, SIDE] != UNKNOWN]


def guess_loss(model: nn.Module, windows: Int[Tensor, "B 5"]) -> Float[Tensor, ""]:
    """-ln of the probability that the model gives the word in the middle, the mean of B windows.

    Chapter: 01_embeddings
    """
    return F.cross_entropy(model(windows[:, AROUND]), windows[:, SIDE])


def flattened(vectors: Float[Tensor, "V D"], ids: Int[Tensor, " n"]) -> Float[Tensor, "V 2"]:
    """All words in the plane in which those of the given ids differ most.

    All vectors are brought to length 1. The plane goes through the mean of the n words, along their
    first two principal components, which a singular value decomposition finds.

    Args:
        vectors: one for each word, (V, D).
        ids: of the n words that choose the plane, (n,).

    Returns:
        The place of each of the V words, (V, 2).

    Chapter: 01_embeddings
    """
    unit = F.normalize(vectors, dim=1)  # (V, D), each of length 1
    mean = unit[ids].mean(dim=0)  # (D,)
    _, _, directions = torch.linalg.svd(unit[ids] - mean, full_matrices=False)  # rows: directions
    return (unit - mean) @ directions[:2].T  # (V, D) (D, 2) -> (V, 2)
