"""What a translator is trained on: the next token, its own words read as well, a score."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attnbook.data.homeassistant import Pair
from attnbook.decoding.one_by_one import greedy, sample
from attnbook.decoding.rows import cut_at
from attnbook.metrics.bleu import sentence_bleu
from attnbook.models.seq2seq import Seq2Seq
from attnbook.objectives.labels import mean_nll, smoothed_nll, summed_nll
from attnbook.objectives.next_token import next_tokens
from attnbook.objectives.policy import policy_gradient_loss
from attnbook.objectives.scheduled import scheduled_inputs
from attnbook.training import LossFn
from attnbook.translating import MAX_LEN, PAD, Batch, Translating, search_start


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
    inputs, labels = next_tokens(target, real=target != PAD)
    return model(source, inputs, mask)[0], labels


def translation_nll(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """The summed cross-entropy and the number of tokens, for `evaluate`.

    Chapter: 11_training
    """
    return summed_nll(*teacher_forced(model, batch))


def smoothed_loss(model: nn.Module, batch: Batch) -> Tensor:
    """As `translation_loss`, with a tenth of each label spread over the vocabulary.

    Chapter: 11_training
    """
    return smoothed_nll(*teacher_forced(model, batch))


def scheduled_loss(share: float, generator: torch.Generator) -> LossFn:
    """As `translation_loss`, but of the tokens that the model reads a share are its own.

    Args:
        share: with which probability, at least 0 and below 1.
        generator: where the draws come from.

    Source: see `attnbook.objectives.scheduled.scheduled_inputs`.
    Chapter: 11_training
    """

    def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
        source, mask, target = batch
        with torch.no_grad():
            logits, labels = teacher_forced(model, batch)
        mixed = scheduled_inputs(target[:, :-1], logits, share, generator=generator)
        return mean_nll(model(source, mixed, mask)[0], labels)

    return loss_fn


def reward_loss(task: Translating, generator: torch.Generator, *, baseline: bool = True) -> LossFn:
    """The policy gradient with the BLEU of each sentence as its reward, 0 … 1.

    A batch is a list of pairs. For each English text one translation is drawn from the model; the
    baseline is the score of the most probable one (`greedy`).

    Args:
        task: whose tokenizer is used.
        generator: where the draws come from.
        baseline: False leaves it out.

    Source: Rennie et al. 2017 (self-critical training).
    Chapter: 11_training
    """

    def loss_fn(model: Seq2Seq, batch: Sequence[Pair]) -> Tensor:
        texts = [pair.english for pair in batch]
        step, prompt = search_start(model, task, texts)
        ends = {"max_new": MAX_LEN - 1, "eos": task.eos, "pad": task.tokenizer.pad_id}
        ids = sample(step, prompt, generator=generator, **ends)  # (B, n)
        scores = rewards(task, ids, batch)  # (B,)
        if baseline:
            scores = scores - rewards(task, greedy(step, prompt, **ends), batch)
        lengths = (ids == task.eos).int().argmax(dim=1) + 1
        lengths = torch.where((ids == task.eos).any(dim=1), lengths, ids.shape[1])
        inputs, drawn = next_tokens(torch.cat([prompt, ids], dim=1), lengths=lengths + 1)
        logits = model(step.source, inputs, step.source_mask)[0]  # (B, n, V)
        return policy_gradient_loss(logits, drawn, scores.to(logits))

    return loss_fn


def rewards(task: Translating, ids: Int[Tensor, "B n"], pairs: Sequence[Pair]) -> Tensor:
    """The BLEU of each row of ids as a sentence, 0 … 1, shape (B,).

    Chapter: 11_training
    """
    texts = map(task.tokenizer.decode, cut_at(ids, task.eos))
    both = zip(texts, pairs, strict=True)
    return torch.tensor([sentence_bleu(text, pair.translations) / 100 for text, pair in both])
