"""Frames of speech: telling speakers apart, and the two ways to learn from frames without labels.

Chapter 17 explains them. An utterance is a sequence of frames, as a text is one of tokens; the
frames are numbers already, and are predicted as numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks, masks
from attnbook.data import vowels
from attnbook.models.stack import EncoderStack, StackConfig
from attnbook.objectives.masked_patches import patch_loss
from attnbook.positions import LearnedPositions
from attnbook.training import evaluate

N_SPEAKERS, N_NUMBERS, MAX_LEN = 9, 12, 29
Utterances = tuple[Tensor, Tensor, Tensor]  # frames (N, L, 12), real (N, L) and speakers (N,)


@dataclass(frozen=True)
class SpeakerTask:
    """The two parts of `vowels` as tensors, padded with zeros to 29 frames.

    Each coefficient has mean 0 and spread 1 over the training frames.

    Args:
        train, test: frames (N, 29, 12), True at the real ones (N, 29), and speakers (N,).

    Chapter: 17_beyond_text
    """

    train: Utterances
    test: Utterances


def load() -> SpeakerTask:
    """The task on `vowels`: 270 and 370 utterances.

    Raises:
        DataError: the data set cannot be had.

    Chapter: 17_beyond_text
    """
    train, test = vowels.load()
    every = torch.cat([torch.tensor(u.frames) for u in train])  # (all frames, 12)
    mean, spread = every.mean(dim=0), every.std(dim=0)
    return SpeakerTask(*(_padded(part, mean, spread) for part in (train, test)))


def _padded(part: Sequence[vowels.Utterance], mean: Tensor, spread: Tensor) -> Utterances:
    frames = torch.zeros(len(part), MAX_LEN, N_NUMBERS)
    real = torch.zeros(len(part), MAX_LEN, dtype=torch.bool)
    for i, utterance in enumerate(part):
        n = len(utterance.frames)
        frames[i, :n] = (torch.tensor(utterance.frames) - mean) / spread
        real[i, :n] = True
    return frames, real, torch.tensor([u.speaker for u in part])


def summaries(
    frames: Float[Tensor, "N L P"], real: Bool[Tensor, "N L"]
) -> Float[Tensor, "N twice_P"]:
    """Mean and standard deviation of each coefficient over an utterance: what has no order.

    Args:
        frames: shape (N, L, P).
        real: True at real frames, (N, L), at least one in each row.

    Chapter: 17_beyond_text
    """
    n = real.sum(dim=1, keepdim=True)  # (N, 1)
    kept = frames.masked_fill(~real[..., None], 0)
    mean = kept.sum(dim=1) / n  # (N, P)
    away = (frames - mean[:, None]).masked_fill(~real[..., None], 0)
    return torch.cat((mean, (away.square().sum(dim=1) / n).sqrt()), dim=1)


class FrameReader(nn.Module):
    """Frames -> vectors: a linear map, positions, and a stack, with one vector for hidden frames.

    Args:
        config: of the stack.
        causal: whether a frame sees no later one.

    Attributes:
        embed: the linear layer 12 -> D.
        blank: the learned vector (D,) that stands where a frame is hidden.
        positions: learned.
        stack: the `EncoderStack`.
        frame: the linear layer D -> 12 that predicts frames.
        speaker: the linear layer D -> 9 of the logits, from the mean of the vectors.

    Chapter: 17_beyond_text
    """

    def __init__(self, config: StackConfig, *, causal: bool = False) -> None:
        super().__init__()
        checks.flag(causal=causal)
        self.causal = causal
        self.embed = nn.Linear(N_NUMBERS, config.d_model)
        self.blank = nn.Parameter(torch.randn(config.d_model) * 0.02)
        self.positions = LearnedPositions(config.d_model, MAX_LEN)
        self.stack = EncoderStack(config)
        self.frame = nn.Linear(config.d_model, N_NUMBERS)
        self.speaker = nn.Linear(config.d_model, N_SPEAKERS)

    def forward(
        self,
        frames: Float[Tensor, "B L 12"],
        real: Bool[Tensor, "B L"],
        hidden: Bool[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        """frames (B, L, 12) -> vectors (B, L, D).

        Args:
            frames: padded to one length L.
            real: True at real frames: nothing attends to the others.
            hidden: True where the model must not see the frame; none unless given.
        """
        x = self.embed(frames)  # (B, L, D)
        if hidden is not None:
            x = torch.where(hidden[..., None], self.blank, x)
        mask = real[:, None]  # (B, 1, L)
        if self.causal:
            mask = mask & masks.causal(real.shape[1], device=real.device)  # (B, L, L)
        vectors, _ = self.stack(self.positions(x), mask)
        return vectors

    def logits(
        self, frames: Float[Tensor, "B L 12"], real: Bool[Tensor, "B L"]
    ) -> Float[Tensor, "B 9"]:
        """Of the speakers, from the mean of the vectors of the real frames."""
        vectors = self(frames, real).masked_fill(~real[..., None], 0)
        return self.speaker(vectors.sum(dim=1) / real.sum(dim=1, keepdim=True))


def hide_spans(
    real: Bool[Tensor, "B L"], length: int, *, generator: torch.Generator
) -> Bool[Tensor, "B L"]:
    """One span of frames in each utterance to hide, at a random place inside it.

    Args:
        real: True at real frames, which come first.
        length: of the span; an utterance that is not longer loses all frames but the first.
        generator: where the draws come from.

    Raises:
        ValueError: a length below 1.

    Source: Baevski et al. 2020 (spans of speech, with other lengths).
    Chapter: 17_beyond_text
    """
    checks.positive(length=length)
    checks.generator(generator)
    n = real.sum(dim=1)  # (B,)
    span = (n - 1).clamp(max=length)
    start = torch.rand(len(real), generator=generator) * (n - span + 1)  # 0 … n - span
    start = torch.where(n > length, start.floor(), 1.0)
    place = torch.arange(real.shape[1])
    return (place >= start[:, None]) & (place < (start + span)[:, None])


def blank_loss(model: FrameReader, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The mean squared error over hidden frames, a `loss_fn` for `train`.

    Args:
        model: a reader that sees both sides.
        batch: frames (B, L, 12), real and hidden (B, L).

    Chapter: 17_beyond_text
    """
    frames, real, hidden = batch
    return patch_loss(model.frame(model(frames, real, hidden)), frames, hidden & real)


def ahead_loss(model: FrameReader, batch: tuple[Tensor, Tensor], ahead: int = 1) -> Tensor:
    """The mean squared error over the frames that come `ahead` frames later.

    Args:
        model: a causal reader: another would see what it is to predict.
        batch: frames (B, L, 12) and real (B, L).
        ahead: how many frames on.

    Raises:
        ValueError: a reader that is not causal, or ahead outside 1 … L - 1.

    Source: Chung et al. 2019 (APC), with the absolute error in place of the squared one.
    Chapter: 17_beyond_text
    """
    frames, real = batch
    checks.positive(ahead=ahead)
    if not model.causal or ahead >= real.shape[1]:
        raise ValueError("model must be causal, and ahead smaller than the number of frames")
    predicted = model.frame(model(frames, real))[:, :-ahead]  # (B, L - ahead, 12)
    return patch_loss(predicted, frames[:, ahead:], real[:, ahead:])


def speaker_loss(model: FrameReader, batch: Utterances) -> Tensor:
    """The cross-entropy between the logits and the speakers, a `loss_fn` for `train`.

    Chapter: 17_beyond_text
    """
    frames, real, speakers = batch
    return F.cross_entropy(model.logits(frames, real), speakers)


def speaker_accuracy(model: FrameReader, part: Utterances, size: int = 74) -> float:
    """The share of utterances that get their speaker.

    Chapter: 17_beyond_text
    """
    checks.positive(size=size)

    def right(model: FrameReader, batch: Utterances) -> tuple[Int[Tensor, ""], int]:
        frames, real, speakers = batch
        return (model.logits(frames, real).argmax(dim=1) == speakers).sum(), len(speakers)

    return evaluate(model, list(zip(*(x.split(size) for x in part), strict=True)), right)
