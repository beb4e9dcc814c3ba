"""From letters to phonemes: the task that the chapter on cross-attention and its recipe share.

The words are those of `cmudict`, each on one side of its split with all its pronunciations. The
stress of the vowels is left out, so that there are 39 phonemes. Each pronunciation of a word is a
target in training; in testing the nearest one counts.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks, masks
from attnbook.data import cmudict
from attnbook.data.cmudict import Entry
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.rows import cut_at
from attnbook.decoding.steps import Seq2SeqStep
from attnbook.metrics.edits import phoneme_error_rate, word_error_rate
from attnbook.models.seq2seq import Seq2Seq
from attnbook.objectives.labels import IGNORE

PAD, BOS, EOS = 0, 1, 2  # the ids that are neither letters nor phonemes, on both sides
MAX_LEN = 32  # the longest word has 28 letters, the longest pronunciation 28 phonemes
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Pronouncing:
    """The task: letters and phonemes as numbers, and the entries of each side.

    Args:
        letter_ids: the id of each letter, from 3 on.
        phoneme_ids: the id of each phoneme, from 3 on.
        train, valid, test: the entries.

    Chapter: 10_cross_attention
    """

    letter_ids: dict[str, int]
    phoneme_ids: dict[str, int]
    train: list[Entry]
    valid: list[Entry]
    test: list[Entry]

    @property
    def vocab_sizes(self) -> dict[str, int]:
        """The two numbers of ids, as the fields of a `Seq2SeqConfig`."""
        source, target = len(self.letter_ids), len(self.phoneme_ids)
        return {"source_vocab_size": source + 3, "target_vocab_size": target + 3}

    def letters(self, words: Iterable[str]) -> Int[Tensor, "B S"]:
        """The letters of each word as ids, `PAD` behind the shorter ones.

        Raises:
            KeyError: a letter that no word of the training side has.
            ValueError: no word.
        """
        return _padded([self.letter_ids[letter] for letter in word] for word in words)

    def phonemes(self, ids: Iterable[int]) -> list[str]:
        """The names of the phonemes with these ids; what is no phoneme is "?".

        A model may write any id: one that is no phoneme is a mistake like another.
        """
        names = {i: name for name, i in self.phoneme_ids.items()}
        return [names.get(i, "?") for i in ids]


def load() -> Pronouncing:
    """The task on `cmudict`, without stress.

    Raises:
        DataError: the data set cannot be had.

    Source: The CMU Pronouncing Dictionary.
    Chapter: 10_cross_attention
    """
    train, valid, test = cmudict.split(cmudict.load(stress=False))
    letters = sorted({letter for entry in train for letter in entry.word})
    phonemes = sorted({p for entry in train for sound in entry.pronunciations for p in sound})
    numbered = ({name: i for i, name in enumerate(names, 3)} for names in (letters, phonemes))
    return Pronouncing(*numbered, train, valid, test)


def pronouncing_batches(
    task: Pronouncing, size: int, *, epochs: int = 1, seed: int = 0
) -> Iterator[Batch]:
    """The training side in batches of like lengths, mixed anew for each epoch.

    Args:
        task: whose training side it is.
        size: pairs of a word and one of its pronunciations in each batch; those that are left
            over at the end of an epoch make a smaller one.
        epochs: how often each pair comes.
        seed: of the order.

    Yields:
        Letters (B, S), and phonemes (B, L) from `BOS` to `EOS`; `PAD` behind the shorter ones.

    Raises:
        ValueError: a size or epochs below 1.

    Chapter: 10_cross_attention
    """
    checks.positive(size=size, epochs=epochs)
    pairs = [(entry.word, sound) for entry in task.train for sound in entry.pronunciations]
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        mixed = [pairs[i] for i in torch.randperm(len(pairs), generator=generator).tolist()]
        # The sort keeps the order of what is equally long: other neighbours in each epoch.
        mixed.sort(key=lambda pair: (len(pair[0]), len(pair[1])))
        starts = range(0, len(mixed), size)
        for i in torch.randperm(len(starts), generator=generator).tolist():
            words, sounds = zip(*mixed[starts[i] : starts[i] + size], strict=True)
            ids = ([task.phoneme_ids[p] for p in sound] for sound in sounds)
            yield task.letters(words), _padded([BOS, *row, EOS] for row in ids)


def pronouncing_loss(model: Seq2Seq, batch: Batch, smoothing: float = 0.1) -> Tensor:
    """The loss of the next phoneme, with a share `smoothing` of the label spread over all ids.

    Source: Szegedy et al. 2016 (label smoothing); Vaswani et al. 2017, section 5.4.
    Chapter: 10_cross_attention
    """
    letters, phonemes = batch
    inputs, labels = phonemes[:, :-1], phonemes[:, 1:]  # (B, L) -> (B, L - 1)
    logits, _, _ = model(letters, inputs, masks.real_tokens(letters, PAD))
    return smoothed_nll(logits, labels.masked_fill(labels == PAD, IGNORE), smoothing)


def smoothed_nll(
    logits: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"], smoothing: float
) -> Float[Tensor, ""]:
    """As `mean_nll`, with a share `smoothing` of each label spread evenly over all V classes.

    Raises:
        ValueError: a smoothing outside [0, 1), or no label that counts.

    Source: Szegedy et al. 2016, section 7.
    Chapter: 10_cross_attention
    """
    checks.probability(smoothing=smoothing)
    if not (labels != IGNORE).any():
        raise ValueError("labels must hold one that is not IGNORE: a mean of none is NaN")
    flat = logits.flatten(0, 1), labels.flatten()  # (B, T, V) -> (B * T, V)
    return F.cross_entropy(*flat, ignore_index=IGNORE, label_smoothing=smoothing)


def greedy_phonemes(model: Seq2Seq, letters: Int[Tensor, "B S"]) -> list[list[int]]:
    """Letters (B, S) -> the ids of the phonemes that the model writes, always the likeliest next.

    Chapter: 10_cross_attention
    """
    step = Seq2SeqStep(model, letters, masks.real_tokens(letters, PAD))
    prompt = torch.full((len(letters), 1), BOS, device=letters.device)
    return cut_at(greedy(step, prompt, max_new=MAX_LEN - 1, eos=EOS), EOS)


def pronounce(
    task: Pronouncing,
    model: nn.Module,
    words: list[str],
    write: Callable[[nn.Module, Tensor], list[list[int]]] = greedy_phonemes,
    size: int = 512,
) -> list[list[str]]:
    """How the model says each of the words, in their order; words of like length together.

    Args:
        task: for the ids.
        model: any.
        words: any whose letters the task has.
        write: from the model and letters (B, S) to the phoneme ids of each word.
        size: words a batch.

    Raises:
        KeyError: a letter that the task does not have.
        ValueError: a size below 1.

    Chapter: 10_cross_attention
    """
    checks.positive(size=size)
    device = next(model.parameters()).device
    order = sorted(range(len(words)), key=lambda i: len(words[i]))
    said: dict[int, list[str]] = {}
    for start in range(0, len(order), size):
        group = order[start : start + size]
        rows = write(model, task.letters(words[i] for i in group).to(device))
        said |= {i: task.phonemes(row) for i, row in zip(group, rows, strict=True)}
    return [said[i] for i in range(len(words))]


def error_rates(said: list[list[str]], entries: list[Entry]) -> tuple[float, float]:
    """The phoneme and the word error rate of what was said for the words of these entries.

    Source: Yao and Zweig 2015.
    Chapter: 10_cross_attention
    """
    listed = [entry.pronunciations for entry in entries]
    return phoneme_error_rate(said, listed), word_error_rate(said, listed)


def _padded(rows: Iterable[list[int]]) -> Tensor:
    tensors = [torch.tensor(row) for row in rows]
    if not tensors:
        raise ValueError("words must hold at least one")
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD)
