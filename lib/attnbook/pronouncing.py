"""From letters to phonemes: the task that the chapter on cross-attention and its recipe share.

The words are those of `cmudict`, each on one side of its split with all its pronunciations. The
stress of the vowels is left out, so that there are 39 phonemes. Each pronunciation of a word is a
target in training; in testing the nearest one counts.
"""

from collections.abc import Callable, Iterable, Iterator

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attnbook import checks, masks
from attnbook.data.cmudict import Entry
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.rows import cut_at
from attnbook.decoding.steps import Seq2SeqStep
from attnbook.metrics.edits import phoneme_error_rate, word_error_rate
from attnbook.models.seq2seq import Seq2Seq
from attnbook.objectives.labels import IGNORE, smoothed_nll

PAD, BOS, EOS = 0, 1, 2  # the ids that are neither letters nor phonemes, on both sides
LETTERS = "'-.abcdefghijklmnopqrstuvwxyz"
PHONEMES = (
    "AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY", "F",
    "G", "HH", "IH", "IY", "JH", "K", "L", "M", "N", "NG", "OW", "OY", "P",
    "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH",
)  # fmt: skip
SIZES = {"source_vocab_size": len(LETTERS) + 3, "target_vocab_size": len(PHONEMES) + 3}
MAX_LEN = 32  # the longest word has 28 letters, the longest pronunciation 28 phonemes
Batch = tuple[Tensor, Tensor]
_LETTER_IDS, _PHONEME_IDS = (
    {name: i for i, name in enumerate(names, 3)} for names in (LETTERS, PHONEMES)
)


def letter_ids(words: Iterable[str]) -> Int[Tensor, "B S"]:
    """The letters of each word as ids, from 3 on; `PAD` behind the shorter words.

    Raises:
        KeyError: a letter that is not among `LETTERS`.
        ValueError: no word, or one without letters.

    Chapter: 10_cross_attention
    """
    return _padded([_LETTER_IDS[letter] for letter in word] for word in words)


def phoneme_names(ids: Iterable[int]) -> list[str]:
    """The phonemes with these ids; "?" for an id that is none, which a model may write.

    Chapter: 10_cross_attention
    """
    return [PHONEMES[i - 3] if 3 <= i < len(PHONEMES) + 3 else "?" for i in ids]


def pronouncing_batches(
    entries: Iterable[Entry], size: int, *, epochs: int = 1, seed: int = 0
) -> Iterator[Batch]:
    """Each word with each of its pronunciations, in batches of like lengths, mixed in each epoch.

    Args:
        entries: without stress, such as the training side of `cmudict`.
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
    pairs = [(entry.word, sound) for entry in entries for sound in entry.pronunciations]
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        mixed = [pairs[i] for i in torch.randperm(len(pairs), generator=generator).tolist()]
        # The sort keeps the order of what is equally long: other neighbours in each epoch.
        mixed.sort(key=lambda pair: (len(pair[0]), len(pair[1])))
        starts = range(0, len(mixed), size)
        for i in torch.randperm(len(starts), generator=generator).tolist():
            words, sounds = zip(*mixed[starts[i] : starts[i] + size], strict=True)
            ids = ([_PHONEME_IDS[p] for p in sound] for sound in sounds)
            yield letter_ids(words), _padded([BOS, *row, EOS] for row in ids)


def pronouncing_loss(model: Seq2Seq, batch: Batch, smoothing: float = 0.1) -> Tensor:
    """The loss of the next phoneme, with a share `smoothing` of the label spread over all ids.

    Source: Szegedy et al. 2016 (label smoothing); Vaswani et al. 2017, section 5.4.
    Chapter: 10_cross_attention
    """
    letters, phonemes = batch
    inputs, labels = phonemes[:, :-1], phonemes[:, 1:]  # (B, L) -> (B, L - 1)
    logits, _, _ = model(letters, inputs, masks.real_tokens(letters, PAD))
    asked = labels.masked_fill(labels == PAD, IGNORE)
    return smoothed_nll(logits, asked, smoothing=smoothing)


def greedy_phonemes(model: Seq2Seq, letters: Int[Tensor, "B S"]) -> list[list[int]]:
    """Letters (B, S) -> the ids of the phonemes that the model writes, always the likeliest next.

    Chapter: 10_cross_attention
    """
    step = Seq2SeqStep(model, letters, masks.real_tokens(letters, PAD))
    prompt = torch.full((len(letters), 1), BOS, device=letters.device)
    return cut_at(greedy(step, prompt, max_new=MAX_LEN - 1, eos=EOS), EOS)


def pronounce(
    model: nn.Module,
    words: list[str],
    write: Callable[[nn.Module, Tensor], list[list[int]]] = greedy_phonemes,
    size: int = 512,
) -> list[list[str]]:
    """How the model says each of the words, in their order; words of like length together.

    Args:
        model: any.
        words: of the letters in `LETTERS`.
        write: from the model and letters (B, S) to the phoneme ids of each word.
        size: words a batch.

    Raises:
        KeyError: a letter that is not among `LETTERS`.
        ValueError: a size below 1.

    Chapter: 10_cross_attention
    """
    checks.positive(size=size)
    device = next(model.parameters()).device
    order = sorted(range(len(words)), key=lambda i: len(words[i]))
    said: dict[int, list[str]] = {}
    for start in range(0, len(order), size):
        group = order[start : start + size]
        rows = write(model, letter_ids(words[i] for i in group).to(device))
        said |= {i: phoneme_names(row) for i, row in zip(group, rows, strict=True)}
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
    if not tensors or min(map(len, tensors)) < 1:
        raise ValueError("words must hold at least one, each with a letter")
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD)
