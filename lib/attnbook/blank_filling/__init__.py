"""Blanks and next sentences in what presidents told Congress: the task of BERT's pre-training.

Chapter 12 explains it. Its long training (`attnbook.trained.bert_sotu`) and chapter 13, which goes
on from there, take the same vocabulary, pairs and scores. `attnbook.blank_filling.from_left` asks a
left-to-right model for the same blanks.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks
from attnbook.data import sotu
from attnbook.metrics.counts import correct_tokens
from attnbook.models.bert_heads import BertPretraining
from attnbook.objectives.labels import IGNORE, mean_nll
from attnbook.objectives.masked_tokens import mask_tokens
from attnbook.objectives.next_sentence import sentence_pairs
from attnbook.tokenization.subwords import train_wordpiece, wordpiece_tokenizer
from attnbook.tokenization.tokenizer import Tokenizer

VOCABULARY = Path(__file__).with_name("vocabulary.json")
VOCAB_SIZE, MAX_LEN = 4000, 64
N_SPECIAL = 5  # their ids come first: [PAD], [UNK], [CLS], [SEP], [MASK]
POOL = 2048  # pairs among which those of like length are put together
Documents = Sequence[Sequence[str]]


class Blanks(NamedTuple):
    """A batch of sentence pairs with blanks: [CLS] first [SEP] second [SEP], padded behind.

    Args:
        ids: what the model reads, shape (B, T).
        real: True at real tokens, (B, T).
        segments: 0 for the first sentence, 1 for the second, (B, T).
        labels: the hidden tokens, `IGNORE` elsewhere, (B, T).
        is_next: 1 where the second sentence follows the first in its speech, (B,).

    Chapter: 12_bert_pretraining
    """

    ids: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]
    segments: Int[Tensor, "B T"]
    labels: Int[Tensor, "B T"]
    is_next: Int[Tensor, " B"]


def learn_vocabulary(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> list[str]:
    """The pieces of `train_wordpiece`: the special ones, then the others in order of code points.

    `train_wordpiece` finds the same pieces each time, but numbers some of them by chance.

    Args:
        texts: what to learn from.
        vocab_size: how many pieces.

    Chapter: 12_bert_pretraining
    """
    learned = train_wordpiece(texts, vocab_size)
    special = learned.tokens(learned.special_ids)
    return special + sorted(set(learned.vocab) - set(special))


def load_tokenizer() -> Tokenizer:
    """The tokenizer of the task: 4,000 pieces, learned once from the training speeches and kept.

    Chapter: 12_bert_pretraining
    """
    return wordpiece_tokenizer(json.loads(VOCABULARY.read_text(encoding="utf-8")))


def load_documents() -> tuple[Documents, Documents, Documents]:
    """The sentences of each speech, in order, for training, validation and test.

    Raises:
        DataError: the data set cannot be had.

    Source: American Presidency Project, public domain.
    Chapter: 12_bert_pretraining
    """
    sides = sotu.split(sotu.load())
    train, validation, test = ([sotu.split_sentences(s.text) for s in side] for side in sides)
    return train, validation, test


class PairBatches:
    """Batches of `Blanks` without end: pairs, their order and the blanks are drawn anew each epoch.

    Each iteration begins again with the same batches, so that a training can be resumed.

    Args:
        documents: the sentences of each text, in order.
        tokenizer: such as `load_tokenizer()`.
        rows: pairs a batch, B.
        seed: of all draws.
        max_len: the longest row, special tokens included; what is longer is cut.
        share: of the tokens, those that are asked for; see `mask_tokens`.

    Raises:
        ValueError: a size below 1; as `sentence_pairs`, from the iteration.

    Source: Devlin et al. 2019, section 3.1; drawn anew: Liu et al. 2019, section 4.1.
    Chapter: 12_bert_pretraining
    """

    def __init__(
        self,
        documents: Documents,
        tokenizer: Tokenizer,
        *,
        rows: int = 32,
        seed: int = 0,
        max_len: int = MAX_LEN,
        share: float = 0.15,
    ) -> None:
        checks.positive(rows=rows, max_len=max_len)
        self.documents, self.tokenizer = documents, tokenizer
        self.rows, self.seed, self.max_len, self.share = rows, seed, max_len, share

    def __iter__(self) -> Iterator[Blanks]:
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            pairs = sentence_pairs(self.documents, generator=generator)
            order = torch.randperm(len(pairs), generator=generator).tolist()
            for start in range(0, len(pairs), POOL):
                pool = [pairs[i] for i in order[start : start + POOL]]
                # Of like length together, so that there is little padding.
                pool.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
                starts = range(0, len(pool), self.rows)
                for i in torch.randperm(len(starts), generator=generator).tolist():
                    yield self._batch(pool[starts[i] : starts[i] + self.rows], generator)

    def _batch(self, pairs: Sequence[tuple[str, str, bool]], generator: torch.Generator) -> Blanks:
        firsts, seconds, is_next = (list(column) for column in zip(*pairs, strict=True))
        read = self.tokenizer(firsts, seconds, max_length=self.max_len)
        ids, labels = mask_tokens(
            read["input_ids"],
            mask_id=self.tokenizer.vocab["[MASK]"],
            special_ids=self.tokenizer.special_ids,
            vocab_size=self.tokenizer.vocab_size,
            share=self.share,
            generator=generator,
        )
        real, segments = read["attention_mask"], read["token_type_ids"]
        return Blanks(ids, real, segments, labels, torch.tensor(is_next).long())


def true_ids(batch: Blanks) -> Int[Tensor, "B T"]:
    """The batch's tokens as they stood in the text, those that are asked for put back, (B, T).

    Chapter: 12_bert_pretraining
    """
    return torch.where(batch.labels == IGNORE, batch.ids, batch.labels)


def hide_all(batch: Blanks, mask_id: int) -> Blanks:
    """The batch with the mask token at every place that is asked for: no random, no kept token.

    For tests, where a kept token would be a free point, and for the masking 100/0/0.

    Chapter: 12_bert_pretraining
    """
    return batch._replace(ids=batch.ids.masked_fill(batch.labels != IGNORE, mask_id))


def held_out(n: int, *, rows: int = 32, seed: int = 0) -> list[Blanks]:
    """Batches of the test speeches for scores: every asked place holds the mask token.

    Args:
        n: how many batches.
        rows: pairs a batch.
        seed: of the draws.

    Raises:
        DataError: the data set cannot be had.

    Chapter: 12_bert_pretraining
    """
    tokenizer, (_, _, test) = load_tokenizer(), load_documents()
    batches = islice(PairBatches(test, tokenizer, rows=rows, seed=seed), n)
    return [hide_all(batch, tokenizer.vocab["[MASK]"]) for batch in batches]


def blank_loss(model: BertPretraining, batch: Blanks) -> Tensor:
    """The sum of both losses: of the hidden tokens, and of the next sentence if it has that head.

    Only the hidden places go through the head: the other six of seven would cost and teach nothing.

    Raises:
        ValueError: a batch without a hidden token.

    Source: Devlin et al. 2019, section 3.1 and appendix A.2.
    Chapter: 12_bert_pretraining
    """
    x, _ = model.bert(batch.ids, batch.real, batch.segments)  # (B, T, D)
    asked = batch.labels != IGNORE  # (B, T)
    loss = mean_nll(model.masked(x[asked]), batch.labels[asked])  # (n, D) -> (n, V)
    if model.next_sentence is None:
        return loss
    return loss + mean_nll(model.next_sentence(model.bert.pool(x)), batch.is_next)  # (B, 2)


def filled_right(model: BertPretraining, batch: Blanks) -> tuple[Tensor, Tensor]:
    """How many hidden tokens the model finds, and how many there are: a score for `evaluate`.

    Chapter: 12_bert_pretraining
    """
    x, _ = model.bert(batch.ids, batch.real, batch.segments)  # (B, T, D)
    asked = batch.labels != IGNORE  # (B, T)
    return correct_tokens(model.masked(x[asked]).argmax(dim=-1), batch.labels[asked])


def follows_right(model: BertPretraining, batch: Blanks) -> tuple[Tensor, Tensor]:
    """How many pairs the model judges right, and how many there are: a score for `evaluate`.

    Raises:
        ValueError: a model without a head for the next sentence.

    Chapter: 12_bert_pretraining
    """
    if model.next_sentence is None:
        raise ValueError("model must have a head for the next sentence: its Bert has no pooler")
    x, _ = model.bert(batch.ids, batch.real, batch.segments)  # (B, T, D)
    logits = model.next_sentence(model.bert.pool(x))  # (B, 2)
    return correct_tokens(logits.argmax(dim=-1), batch.is_next)
