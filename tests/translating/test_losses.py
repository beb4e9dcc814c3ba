"""What a translator is trained on: its own words, and a score without a gradient."""

import pytest
import torch

from attnbook import translating
from attnbook.data.homeassistant import Pair
from attnbook.metrics.bleu import sentence_bleu
from attnbook.translating import losses

PAIRS = [Pair("Open the door", ("Öffne die Tür",)), Pair("Plug in", ("Stecker", "Einstecken"))]


def draws():
    return torch.Generator().manual_seed(5)


def test_without_a_share_scheduled_sampling_is_the_cross_entropy(task, model):
    (batch,) = translating.translation_batches(task, PAIRS)
    plain = losses.translation_loss(model, batch)
    torch.testing.assert_close(losses.scheduled_loss(0.0, draws())(model, batch), plain)
    mixed = losses.scheduled_loss(0.9, draws())(model, batch)
    assert mixed != plain
    assert mixed.requires_grad


def test_the_reward_is_the_bleu_of_the_text_up_to_its_end(task):
    texts = ["Öffne die Türen", "Einstecken"]
    ids = task.tokenizer(texts, add_special_tokens=False)["input_ids"]
    ids = torch.cat([ids, torch.full((2, 1), task.eos)], dim=1)
    ids[1] = torch.tensor([*task.tokenizer(texts[1:])["input_ids"][0, 1:], *[7] * 99])[
        : len(ids[1])
    ]
    got = losses.rewards(task, ids, PAIRS)
    wanted = [sentence_bleu(t, p.translations) / 100 for t, p in zip(texts, PAIRS, strict=True)]
    assert got.tolist() == pytest.approx(wanted)
    assert wanted[0] < 0.9
    assert wanted[1] == pytest.approx(1)


def test_reward_loss_multiplies_advantage_and_probability(task, model, monkeypatch):
    """With rewards of our own: the loss is that of the drawn texts, read again."""
    scores = iter([torch.tensor([1.0, 0.5]), torch.tensor([0.25, 0.5])])
    seen = []

    def scored(task, ids, pairs):
        seen.append(ids)
        return next(scores)

    monkeypatch.setattr(losses, "rewards", scored)
    loss = losses.reward_loss(task, draws())(model, PAIRS)
    drawn = seen[0][0]  # the second text has no advantage
    end = drawn.tolist().index(task.eos) + 1 if task.eos in drawn.tolist() else len(drawn)
    source = task.tokenizer([PAIRS[0].english])["input_ids"]
    target = torch.cat([torch.tensor([task.bos]), drawn[:end]])[None]
    log_p = model(source, target[:, :-1])[0].log_softmax(dim=-1)[0]
    log_p = log_p[torch.arange(end), target[0, 1:]].sum()
    torch.testing.assert_close(loss, -0.75 * log_p / 2)
