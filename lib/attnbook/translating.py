"""Translation from English to German: the task of chapter 11 and of its recipe in `trained`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attnbook import checks, masks, runtime
from attnbook.data import homeassistant
from attnbook.data.homeassistant import Pair
from attnbook.decoding.beam import beam_search
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.rows import cut_at
from attnbook.decoding.steps import Seq2SeqStep
from attnbook.metrics.bleu import corpus_bleu
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.objectives.labels import mean_nll, summed_nll
from attnbook.objectives.next_token import next_tokens
from attnbook.tokenization.subwords import train_bpe
from attnbook.tokenization.tokenizer import Tokenizer
from attnbook.training import evaluate

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


def load(vocab_size: int = 2000) -> Translating:
    """The task on `homeassistant`: what is tested, or differs from it in digits alone, is unseen.

    Args:
        vocab_size: of the byte-pair encoding.

    Raises:
        DataError: the data set cannot be had.
        ValueError: a vocab_size that is too small.

    Source: Home Assistant; Sennrich et al. 2016, section 3.2, for the common vocabulary.
    Chapter: 11_training
    """
    sides = homeassistant.split(homeassistant.load("de"))
    texts = [text for pair in sides[0] for text in (pair.english, *pair.translations)]
    tokenizer = train_bpe(texts, vocab_size)
    return Translating(tokenizer, *([*_short(pairs, tokenizer)] for pairs in sides))


def _short(pairs: Iterable[Pair], tokenizer: Tokenizer) -> Iterable[Pair]:
    for pair in pairs:
        texts = (pair.english, *pair.translations)
        english, *fits = (len(tokenizer.tokenize(text)) + 2 <= MAX_LEN for text in texts)
        kept = tuple(text for text, fit in zip(pair.translations, fits, strict=True) if fit)
        if english and kept:
            yield Pair(pair.english, kept)


def translation_batches(task: Translating, pairs: Iterable[Pair], tokens: int = 2048) -> list[Batch]:
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


def translator(task: Translating, d_model: int = 96, n_layers: int = 2) -> Seq2Seq:
    """A new, untrained `Seq2Seq` for the task: one table for both languages and for the output.

    Source: Vaswani et al. 2017, section 3.4 (one table); Xiong et al. 2020 (norms first).
    Chapter: 11_training
    """
    V = task.tokenizer.vocab_size
    sizes = {"d_model": d_model, "n_heads": 4, "d_ff": 4 * d_model, "n_layers": n_layers}
    vocabulary = {"source_vocab_size": V, "target_vocab_size": V, "share_embeddings": True}
    choices = {"max_len": MAX_LEN, "pre_norm": True, "dropout": 0.1}
    return Seq2Seq(Seq2SeqConfig(**sizes, **vocabulary, **choices))


def translation_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The cross-entropy of each token of the target, given the source and the tokens before it.

    Chapter: 11_training
    """
    logits, labels = teacher_forced(model, batch)
    return mean_nll(logits, labels)


def teacher_forced(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """The logits (B, T, V) behind each true start of the target, and the labels (B, T).

    Chapter: 11_training
    """
    source, mask, target = batch
    inputs, labels = next_tokens(target, real=target != 0)
    return model(source, inputs, mask)[0], labels
