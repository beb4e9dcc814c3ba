"""Translation from English to German: the task of chapter 11 and of its recipe in `trained`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attnbook import checks
from attnbook.data import homeassistant
from attnbook.data.homeassistant import Pair
from attnbook.decoding.beam import beam_search
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.rows import cut_at
from attnbook.decoding.steps import Seq2SeqStep
from attnbook.metrics.bleu import corpus_bleu
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.tokenization.subwords import train_bpe
from attnbook.tokenization.tokenizer import Tokenizer

VOCAB_SIZE = 2000
PAD = 0  # what the tokenizer fills up with, and nothing else
MAX_LEN = 24  # tokens of a text, with the two of its frame
Batch = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Translating:
    """The task: one vocabulary of pieces for both languages, and the pairs of each side.

    Args:
        tokenizer: byte-pair encoding, learned from the training side of both languages together.
        train, valid, test: the pairs of which the English text, and those translations that are
            left, have at most `MAX_LEN` tokens.

    Chapter: 11_training
    """

    tokenizer: Tokenizer
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]

    @property
    def bos(self) -> int:
        """The id with which each text begins."""
        return self.tokenizer.vocab["[BOS]"]

    @property
    def eos(self) -> int:
        """The id with which each text ends."""
        return self.tokenizer.vocab["[EOS]"]


def load() -> Translating:
    """The task on `homeassistant`: what is tested, or differs from it in digits alone, is unseen.

    Raises:
        DataError: the data set cannot be had.

    Source: Home Assistant; Sennrich et al. 2016, section 3.2, for the common vocabulary.
    Chapter: 11_training
    """
    sides = homeassistant.split(homeassistant.load("de"))
    texts = [text for pair in sides[0] for text in (pair.english, *pair.translations)]
    tokenizer = train_bpe(texts, VOCAB_SIZE)
    return Translating(tokenizer, *([*_short(pairs, tokenizer)] for pairs in sides))


def _short(pairs: Iterable[Pair], tokenizer: Tokenizer) -> Iterable[Pair]:
    for pair in pairs:
        texts = (pair.english, *pair.translations)
        english, *fits = (len(tokenizer.tokenize(text)) + 2 <= MAX_LEN for text in texts)
        kept = tuple(text for text, fit in zip(pair.translations, fits, strict=True) if fit)
        if english and kept:
            yield Pair(pair.english, kept)


def translation_batches(
    task: Translating, pairs: Iterable[Pair], tokens: int = 2048
) -> list[Batch]:
    """Texts of like length together, each with each of its translations, in a fixed random order.

    Args:
        task: whose tokenizer is used.
        pairs: such as `task.train`.
        tokens: target tokens a batch, about.

    Returns:
        For each batch the source (B, S), its mask (B, 1, S), and the target (B, T), framed by its
        start and its end.

    Raises:
        ValueError: no pair, or tokens below 1.

    Chapter: 11_training
    """
    checks.positive(tokens=tokens)
    texts = [(pair.english, german) for pair in pairs for german in pair.translations]
    # By the target first: it costs more, for each of its tokens is scored against the vocabulary.
    lengths = [[len(task.tokenizer.tokenize(text)) + 2 for text in both[::-1]] for both in texts]
    groups: list[list[tuple[str, str]]] = [[]]
    for i in sorted(range(len(texts)), key=lengths.__getitem__):
        if len(groups[-1]) * lengths[i][0] >= tokens:
            groups.append([])
        groups[-1].append(texts[i])
    order = torch.randperm(len(groups), generator=torch.Generator().manual_seed(0))
    return [_batch(task.tokenizer, *zip(*groups[i], strict=True)) for i in order.tolist()]


def _batch(tokenizer: Tokenizer, english: Sequence[str], german: Sequence[str]) -> Batch:
    source, target = tokenizer(list(english)), tokenizer(list(german))
    return source["input_ids"], source["attention_mask"][:, None], target["input_ids"]


def translator(d_model: int = 96, n_layers: int = 2, *, dropout: float = 0.1) -> Seq2Seq:
    """A new, untrained `Seq2Seq` for the task: one table for both languages and for the output.

    Args:
        d_model, n_layers, dropout: as `Seq2SeqConfig`; d_ff is 4 d_model.

    Source: Vaswani et al. 2017, section 3.4 (one table); Xiong et al. 2020 (norms first).
    Chapter: 11_training
    """
    sizes = {"d_model": d_model, "n_heads": 4, "d_ff": 4 * d_model, "n_layers": n_layers}
    vocabulary = {"source_vocab_size": VOCAB_SIZE, "target_vocab_size": VOCAB_SIZE}
    choices = {"max_len": MAX_LEN, "pre_norm": True, "share_embeddings": True, "dropout": dropout}
    return Seq2Seq(Seq2SeqConfig(**sizes, **vocabulary, **choices))


def translate(
    model: Seq2Seq, task: Translating, texts: Sequence[str], *, beams: int = 1, alpha: float = 1.0
) -> list[str]:
    """The German that the model writes for each English text, in order.

    Args:
        model: such as from `translator`, trained; it stays where it is.
        task: whose tokenizer is used.
        texts: English; longer ones than `MAX_LEN` tokens are cut.
        beams: 1 for the most probable token at each step, more for `beam_search`.
        alpha: of the beam search.

    Raises:
        TypeError, ValueError: as the tokenizer and the search.

    Chapter: 11_training
    """
    written: dict[int, str] = {}
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for some in (order[i : i + 128] for i in range(0, len(order), 128)):
        step, prompt = search_start(model, task, [texts[i] for i in some])
        ends = {"max_new": MAX_LEN - 1, "eos": task.eos, "pad": task.tokenizer.pad_id}
        if beams == 1:
            ids = greedy(step, prompt, **ends)  # (B, n)
        else:
            ids = beam_search(step, prompt, beams=beams, alpha=alpha, **ends)[0][:, 0]
        written |= zip(some, map(task.tokenizer.decode, cut_at(ids, task.eos)), strict=True)
    return [written[i] for i in range(len(texts))]


def search_start(
    model: Seq2Seq, task: Translating, texts: Sequence[str]
) -> tuple[Seq2SeqStep, Int[Tensor, "B 1"]]:
    """What a search needs to write about each text: the model's step and the start token.

    Chapter: 11_training
    """
    device = model.output.weight.device
    source = task.tokenizer(list(texts), max_length=MAX_LEN)
    ids, real = (source[name].to(device) for name in ("input_ids", "attention_mask"))
    return Seq2SeqStep(model, ids, real[:, None]), ids.new_full((len(texts), 1), task.bos)


def translation_bleu(
    model: Seq2Seq, task: Translating, pairs: Sequence[Pair], **search: int | float
) -> float:
    """BLEU of the model's translations, 0 … 100, against all translations that a pair has.

    Args:
        model, task: as `translate`.
        pairs: such as `task.test`.
        search: `beams` and `alpha` of `translate`.

    Chapter: 11_training
    """
    hypotheses = translate(model, task, [pair.english for pair in pairs], **search)
    return corpus_bleu(hypotheses, [pair.translations for pair in pairs])
