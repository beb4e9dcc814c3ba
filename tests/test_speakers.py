"""Frames of speech as a task: padding, what is hidden, what may be seen, the losses."""

import numpy as np
import pytest
import torch

from attnbook import speakers
from attnbook.data.vowels import Utterance
from attnbook.models.stack import StackConfig
from attnbook.speakers import (
    FrameReader,
    ahead_loss,
    blank_loss,
    hide_spans,
    speaker_accuracy,
    speaker_loss,
    summaries,
)

CONFIG = StackConfig(d_model=10, n_heads=2, d_ff=7, n_layers=2, pre_norm=True)
FRAMES = torch.randn(3, 9, 12)
REAL = torch.arange(9) < torch.tensor([[9], [7], [4]])


@pytest.fixture(params=[False, True], ids=["both sides", "causal"])
def reader(request):
    torch.manual_seed(17)
    return FrameReader(CONFIG, causal=request.param).eval()


def test_the_task_is_standardised_by_its_training_frames(monkeypatch):
    rng = np.random.default_rng(1)
    train = [Utterance(i % 9, rng.normal(3, 5, (7 + i, 12)).astype("float32")) for i in range(20)]
    test = [Utterance(8, rng.normal(0, 1, (29, 12)).astype("float32"))]
    monkeypatch.setattr(speakers.vowels, "load", lambda: (train, test))
    task = speakers.load()
    frames, real, labels = task.train
    assert frames.shape == (20, 29, 12)
    assert real.sum(dim=1).tolist() == [7 + i for i in range(20)]
    assert labels.tolist() == [u.speaker for u in train]
    torch.testing.assert_close(frames[real].mean(dim=0), torch.zeros(12), atol=1e-5, rtol=0)
    torch.testing.assert_close(frames[real].std(dim=0), torch.ones(12))
    assert (frames[~real] == 0).all()
    assert task.test[0][task.test[1]].mean() < -0.3  # not by its own


def test_summaries_leave_padding_out():
    spoilt = FRAMES.masked_fill(~REAL[..., None], 1e4)
    out = summaries(spoilt, REAL)
    assert out.shape == (3, 24)
    for i, n in enumerate((9, 7, 4)):
        torch.testing.assert_close(out[i, :12], FRAMES[i, :n].mean(dim=0))
        torch.testing.assert_close(out[i, 12:], FRAMES[i, :n].std(dim=0, correction=0))


def test_padding_changes_nothing(reader):
    spoilt = FRAMES.masked_fill(~REAL[..., None], 5.0)
    with torch.no_grad():
        torch.testing.assert_close(reader(spoilt, REAL)[REAL], reader(FRAMES, REAL)[REAL])
        torch.testing.assert_close(reader.logits(spoilt, REAL), reader.logits(FRAMES, REAL))
        alone = reader.logits(FRAMES[2:, :4], REAL[2:, :4])
        torch.testing.assert_close(reader.logits(FRAMES, REAL)[2:], alone)


def test_what_is_hidden_is_not_seen(reader):
    hidden = torch.zeros_like(REAL)
    hidden[:, 2] = True
    other = FRAMES.clone()
    other[:, 2] += 3
    with torch.no_grad():
        torch.testing.assert_close(reader(other, REAL, hidden), reader(FRAMES, REAL, hidden))
        assert not torch.allclose(reader(other, REAL)[:, 2], reader(FRAMES, REAL)[:, 2])


def test_a_causal_reader_sees_no_later_frame(reader):
    later = FRAMES.clone()
    later[:, 3:] += 1
    with torch.no_grad():
        same = torch.allclose(reader(later, REAL)[:, :3], reader(FRAMES, REAL)[:, :3], atol=1e-6)
    assert same == reader.causal


def test_spans_are_of_one_length_and_in_the_utterance():
    generator = torch.Generator().manual_seed(3)
    real = (torch.arange(9) < torch.tensor([9, 7, 5, 4, 3])[:, None]).repeat(200, 1)
    hidden = hide_spans(real, 4, generator=generator)
    assert not (hidden & ~real).any()
    assert hidden.sum(dim=1).tolist() == [4, 4, 4, 3, 2] * 200
    edges = hidden.int().diff(dim=1).abs().sum(dim=1) + hidden[:, 0] + hidden[:, -1]
    assert (edges == 2).all()  # in one piece
    starts = hidden.int().argmax(dim=1).view(200, 5)
    assert [sorted(set(column.tolist())) for column in starts.T] == [
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3],
        [0, 1],
        [1],
        [1],
    ]


def test_hidden_real_frames_alone_count():
    model = FrameReader(CONFIG)
    hidden = torch.zeros_like(REAL)
    hidden[0, 1] = hidden[2, 8] = True  # the second is padding
    predicted = model.frame(model(FRAMES, REAL, hidden))
    wanted = (predicted[0, 1] - FRAMES[0, 1]).square().mean()
    torch.testing.assert_close(blank_loss(model, (FRAMES, REAL, hidden)), wanted)


@pytest.mark.parametrize("ahead", [1, 3])
def test_each_frame_says_what_comes(ahead):
    model = FrameReader(CONFIG, causal=True)
    predicted = model.frame(model(FRAMES, REAL))
    errors = [
        (predicted[i, t] - FRAMES[i, t + ahead]).square().mean()
        for i, n in enumerate((9, 7, 4))
        for t in range(n - ahead)
    ]
    loss = ahead_loss(model, (FRAMES, REAL), ahead)
    torch.testing.assert_close(loss, torch.stack(errors).mean())


def test_who_sees_ahead_is_refused():
    with pytest.raises(ValueError, match="causal"):
        ahead_loss(FrameReader(CONFIG), (FRAMES, REAL))
    with pytest.raises(ValueError, match="ahead"):
        ahead_loss(FrameReader(CONFIG, causal=True), (FRAMES, REAL), 9)


def test_loss_and_share_of_the_speakers():
    model = FrameReader(CONFIG).eval()
    with torch.no_grad():
        right = model.logits(FRAMES, REAL).argmax(dim=1)
    wrong = (right + 1) % 9
    labels = torch.stack((right[0], right[1], wrong[2]))
    assert speaker_accuracy(model, (FRAMES, REAL, labels), size=2) == pytest.approx(2 / 3)
    assert speaker_loss(model, (FRAMES, REAL, right)) < speaker_loss(model, (FRAMES, REAL, wrong))
