"""The pairs, batches, model and search of the translation task."""

import pytest
import torch

from attnbook import translating
from attnbook.data.homeassistant import Pair
from attnbook.objectives.labels import IGNORE
from attnbook.translating import MAX_LEN, PAD, losses

PAIRS = [
    Pair("Plug", ("Stecker",)),
    Pair("Open the door", ("Öffne die Tür", "Die Tür öffnen")),
    Pair("Close the door now", ("Schließe jetzt die Tür",)),
]


def test_short_texts_are_kept_with_the_translations_that_fit(task):
    long = " ".join(["door"] * 30)
    pairs = [Pair("Plug", (long, "Stecker")), Pair(long, ("Tür",)), Pair("door", (long,))]
    assert [*translating._short(pairs, task.tokenizer)] == [Pair("Plug", ("Stecker",))]


def test_a_batch_frames_both_texts_and_masks_the_padding(task):
    (batch,) = translating.translation_batches(task, PAIRS)
    source, mask, target = batch
    decoded = {
        (task.tokenizer.decode(s), task.tokenizer.decode(t))
        for s, t in zip(source, target, strict=True)
    }
    assert decoded == {(pair.english, text) for pair in PAIRS for text in pair.translations}
    assert torch.equal(mask[:, 0], source != PAD)
    assert (source[:, 0] == task.bos).all()
    assert ((target == task.eos).sum(dim=1) == 1).all()
    assert task.tokenizer.pad_id == PAD
    assert sum(len(b[0]) for b in translating.translation_batches(task, PAIRS, tokens=5)) == 4


def test_labels_are_the_targets_one_place_on(task, model):
    source, mask, target = translating.translation_batches(task, PAIRS)[0]
    logits, labels = losses.teacher_forced(model, (source, mask, target))
    wanted = target[:, 1:].masked_fill(target[:, 1:] == PAD, IGNORE)
    assert torch.equal(labels, wanted)
    total, count = losses.translation_nll(model, (source, mask, target))
    assert count == (target != PAD).sum() - len(target)
    loss = losses.translation_loss(model, (source, mask, target))
    torch.testing.assert_close(loss, total / count)
    assert losses.smoothed_loss(model, (source, mask, target)) != loss
    assert logits.shape == (*labels.shape, translating.VOCAB_SIZE)


def test_translations_come_in_the_order_of_the_texts(task, model):
    """A model that knows nothing writes the same whatever stands beside a text."""
    texts = [pair.english for pair in PAIRS[::-1]]
    for beams in (1, 3):
        together = translating.translate(model, task, texts, beams=beams)
        assert together == [translating.translate(model, task, [t], beams=beams)[0] for t in texts]


def test_bleu_is_that_of_the_translations(task, model, monkeypatch):
    right = {pair.english: pair.translations[-1] for pair in PAIRS}
    said = {}

    def know(model, task, texts, **search):
        said.update(search)
        return [right[text] for text in texts]

    monkeypatch.setattr(translating, "translate", know)
    assert translating.translation_bleu(model, task, PAIRS, beams=4) == pytest.approx(100)
    assert said == {"beams": 4}


def test_the_mask_reaches_the_model(task, model):
    source, mask, target = translating.translation_batches(task, PAIRS)[0]
    wide = torch.nn.functional.pad(source, (0, 3)), torch.nn.functional.pad(mask, (0, 3)), target
    torch.testing.assert_close(
        losses.translation_loss(model, wide), losses.translation_loss(model, (source, mask, target))
    )
    assert source.shape[1] + 3 <= MAX_LEN
