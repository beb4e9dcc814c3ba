"""Part-of-speech tagging of Cantonese talk: the task that the chapters on models share.

Chapter 4 explains it. The later ones put another model in the same place, so that their numbers
compare: the same words, batches, score and baselines.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.data import hkcancor
from attnbook.embeddings import TokenEmbedding
from attnbook.objectives.labels import IGNORE
from attnbook.training import evaluate

PAD, UNKNOWN = 0, 1  # the ids that are no words
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Tagging:
    """The task: words and tags as numbers, and the batches of either side.

    Args:
        word_ids: the id of each word that was said at least twice in training, from 2 on. All
            others are `UNKNOWN`, so that a model learns how to treat what it has never met.
        tag_ids: the id of each of the 102 tags.
        train, test: batches of word ids (B, T) and tag ids (B, T), about 1,024 words each;
            `IGNORE` where there is nothing to score, which is at padding and at punctuation.

    Chapter: 04_self_attention
    """

    word_ids: dict[str, int]
    tag_ids: dict[str, int]
    train: list[Batch]
    test: list[Batch]

    @property
    def vocab_size(self) -> int:
        """The number of word ids, padding and `UNKNOWN` among them."""
        return len(self.word_ids) + 2

    @property
    def n_tags(self) -> int:
        """The number of tag ids."""
        return len(self.tag_ids)


def load(tokens: int = 1024) -> Tagging:
    """The task on `hkcancor`, whole recordings on one side: what is tested was never heard.

    Args:
        tokens: words a batch, about.

    Raises:
        DataError: the data set cannot be had.
        ValueError: tokens below 1.

    Source: Luke and Wong 2015.
    Chapter: 04_self_attention
    """
    checks.positive(tokens=tokens)
    train, _, test = hkcancor.split(hkcancor.load())
    counts = Counter(word for u in train for word in u.words)
    often = (word for word, n in counts.items() if n > 1)
    word_ids = {word: i for i, word in enumerate(often, start=2)}
    tag_ids = {tag: i for i, tag in enumerate(sorted(hkcancor.TAGS))}
    sides = (
        tagging_batches([encode_utterance(u, word_ids, tag_ids) for u in us], tokens)
        for us in (train, test)
    )
    return Tagging(word_ids, tag_ids, *sides)


def encode_utterance(
    u: hkcancor.Utterance, word_ids: dict[str, int], tag_ids: dict[str, int]
) -> tuple[Int[Tensor, " T"], Int[Tensor, " T"]]:
    """The word ids of one utterance and its tag ids, `IGNORE` at a mark such as "?".

    A mark is its own tag and would be a free point: models read it, but only words are scored.

    Chapter: 04_self_attention
    """
    ids = [word_ids.get(word, UNKNOWN) for word in u.words]
    is_word = [any(letter.isalpha() for letter in tag) for tag in u.tags]
    targets = [tag_ids[t] if w else IGNORE for t, w in zip(u.tags, is_word, strict=True)]
    return torch.tensor(ids), torch.tensor(targets)


def tagging_batches(pairs: Iterable[Batch], tokens: int) -> list[Batch]:
    """Pairs of like length together, filled up with `PAD` and `IGNORE`, in a fixed random order.

    Args:
        pairs: ids (T,) and targets (T,) of each utterance.
        tokens: words a batch, about.

    Returns:
        Ids (B, T) and targets (B, T) of each batch; B is large where T is small.

    Chapter: 04_self_attention
    """
    groups: list[list[Batch]] = [[]]
    for pair in sorted(pairs, key=lambda pair: len(pair[0])):
        if len(groups[-1]) * len(pair[0]) >= tokens:
            groups.append([])
        groups[-1].append(pair)
    order = torch.randperm(len(groups), generator=torch.Generator().manual_seed(0))
    columns = (zip(*groups[i], strict=True) for i in order)
    pad = nn.utils.rnn.pad_sequence
    return [(pad(list(ids), True, PAD), pad(list(y), True, IGNORE)) for ids, y in columns]


def tag_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The loss of a model from ids (B, T) to scores (B, T, tags), over the words that count.

    Raises:
        ValueError: a batch in which no word counts.

    Chapter: 04_self_attention
    """
    ids, targets = batch
    if not (targets != IGNORE).any():
        raise ValueError("batch must have a target that is not IGNORE: a mean of none is NaN")
    return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORE)


def tag_accuracy(
    model: nn.Module,
    batches: list[Batch],
    counted: Callable[[Tensor], Tensor] = lambda ids: ids != PAD,
) -> float:
    """The share of right tags.

    Args:
        model: from ids (B, T) to scores (B, T, tags).
        batches: such as `Tagging.test`.
        counted: from ids to True at the words to count; such as `lambda ids: ids == UNKNOWN` for
            those whose company is all that a model has.

    Chapter: 04_self_attention
    """

    def score(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        ids, targets = batch
        scored = (targets != IGNORE) & counted(ids)  # (B, T)
        return (model(ids).argmax(dim=-1) == targets)[scored].sum(), scored.sum()

    return evaluate(model, batches, score)


class MostFrequentTag(nn.Module):
    """The oldest answer: the tag that the word had most often in training.

    Args:
        task: whose training side is counted.

    Chapter: 04_self_attention
    """

    counts: Tensor

    def __init__(self, task: Tagging) -> None:
        super().__init__()
        counts = torch.zeros(task.vocab_size, task.n_tags)
        for ids, targets in task.train:
            real = targets != IGNORE
            ones = torch.ones(int(real.sum()))
            counts.index_put_((ids[real], targets[real]), ones, accumulate=True)
        self.register_buffer("counts", counts)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T n"]:
        """ids (B, T) -> how often the word had each tag (B, T, tags)."""
        checks.ids("ids", ids, len(self.counts))
        return self.counts[ids.long()]  # torch reads an index of bytes as a mask


def tag_classifier(width: int, n_tags: int) -> nn.Sequential:
    """A small network from `width` numbers to one score for each tag.

    Chapter: 04_self_attention
    """
    hidden = (nn.Linear(width, 64), nn.ReLU(), nn.Dropout(0.2))
    return nn.Sequential(nn.Dropout(0.2), *hidden, nn.Linear(64, n_tags))


class WindowTagger(nn.Module):
    """The vectors of a word and of its neighbours, laid end to end, into a small network.

    Args:
        task: for the number of words and of tags.
        width: words that it sees, odd: 1 is the word alone, 3 one neighbour on either side.
        d_model: width D of a word's vector.

    Raises:
        ValueError: a size below 1, or an even width.

    Source: Collobert et al. 2011, section 3.3.1 (the window approach).
    Chapter: 04_self_attention
    """

    def __init__(self, task: Tagging, width: int, d_model: int) -> None:
        super().__init__()
        checks.positive(width=width, d_model=d_model)
        if width % 2 == 0:
            raise ValueError(f"width must be odd, as many words on either side, not {width}")
        self.width = width
        self.embedding = TokenEmbedding(task.vocab_size, d_model, pad_id=PAD, std=0.1)
        self.classify = tag_classifier(width * d_model, task.n_tags)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T n"]:
        """ids (B, T) -> scores (B, T, tags)."""
        x = self.embedding(ids)  # (B, T) -> (B, T, D)
        side = self.width // 2
        x = F.pad(x, (0, 0, side, side))  # zeros at both ends: (B, T + width - 1, D)
        windows = x.unfold(1, self.width, 1)  # a window at each word: (B, T, D, width)
        return self.classify(windows.flatten(2))  # (B, T, width * D) -> (B, T, tags)
