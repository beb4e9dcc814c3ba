"""The digits as a task: the jitter, the batches, the loss and the score."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnbook import digits
from attnbook.digits import DigitBatches, DigitCNN, MatrixConv, PixelRegression, jitter

IMAGES = torch.rand(7, 1, 28, 28)
LABELS = torch.arange(7)


def spot(row, column, height=9, width=12):
    image = torch.zeros(1, 1, height, width)
    image[0, 0, row, column] = 1
    return image


class Draws:
    """`torch.rand` with the draws of a test: turn, zoom, right, down, each of -1 … 1."""

    def __init__(self, monkeypatch, *draws):
        monkeypatch.setattr(
            torch, "rand", lambda *size, generator: (torch.tensor(draws)[:, None] + 1) / 2
        )


def test_nothing_is_nothing():
    torch.testing.assert_close(jitter(IMAGES, shift=0.0, turn=0.0, zoom=0.0), IMAGES)


@pytest.mark.parametrize(("right", "down"), [(1, 0), (-1, 0), (0, 1), (1, -1)])
def test_a_move_is_in_pixels_of_either_axis(monkeypatch, right, down):
    Draws(monkeypatch, 0.0, 0.0, float(right), float(down))
    moved = jitter(spot(4, 6), shift=2.0, turn=0.0, zoom=0.0)
    # What is looked up two pixels to the right stands two pixels to the left.
    torch.testing.assert_close(moved, spot(4 - 2 * down, 6 - 2 * right))


def test_what_comes_in_is_paper(monkeypatch):
    Draws(monkeypatch, 0.0, 0.0, 1.0, 0.0)
    moved = jitter(torch.ones(1, 1, 5, 6), shift=2.0, turn=0.0, zoom=0.0)
    torch.testing.assert_close(moved, F.pad(torch.ones(1, 1, 5, 4), (0, 2)))


def test_a_quarter_turn_keeps_lengths_although_the_image_is_no_square(monkeypatch):
    Draws(monkeypatch, 1.0, 0.0, 0.0, 0.0)
    # The middle is (4, 5.5). Both spots are 2.5 columns off it, so 2.5 rows after the turn, and
    # each falls between four pixels.
    turned = jitter(spot(4, 8) + spot(4, 3), turn=90.0, shift=0.0, zoom=0.0)
    wanted = torch.zeros(1, 1, 9, 12)
    wanted[0, 0, [1, 1, 2, 2, 6, 6, 7, 7], [5, 6] * 4] = 0.25
    torch.testing.assert_close(turned, wanted, atol=1e-5, rtol=0)


def test_a_zoom_makes_larger(monkeypatch):
    Draws(monkeypatch, 0.0, 1.0, 0.0, 0.0)
    image = torch.zeros(1, 1, 8, 8)
    image[..., 3:5, 3:5] = 1
    larger = jitter(image, zoom=0.5, turn=0.0, shift=0.0)
    assert larger.sum().item() == pytest.approx(4 * 1.5**2, rel=0.1)


def test_each_image_is_drawn_for_itself():
    twice = jitter(IMAGES[:1].expand(2, -1, -1, -1), generator=torch.Generator().manual_seed(1))
    assert not torch.allclose(*twice)


def test_batches_take_every_image_before_one_comes_again_and_are_the_same_on_a_rerun():
    batches = DigitBatches(IMAGES, LABELS, steps=5, size=3, seed=2)
    first = list(batches)
    assert len(batches) == len(first) == 5
    order = torch.cat([labels for _, labels in first])
    assert sorted(order[:7].tolist()) == sorted(order[7:14].tolist()) == list(range(7))
    assert order[:7].tolist() != order[7:14].tolist()
    for images, labels in first:
        assert torch.equal(images, IMAGES[labels])  # labels are places here
    for (a, b), (c, d) in zip(first, batches, strict=True):
        assert torch.equal(a, c)
        assert torch.equal(b, d)
    other = DigitBatches(IMAGES, LABELS, steps=5, size=3, seed=3)
    assert not torch.equal(order, torch.cat([labels for _, labels in other]))


def test_more_than_there_is():
    ((_, labels),) = DigitBatches(IMAGES, LABELS, steps=1, size=17)
    assert set(labels.bincount().tolist()) == {2, 3}


def test_augmented_batches_are_jittered_and_the_same_on_a_rerun():
    batches = DigitBatches(IMAGES, LABELS, steps=2, size=7, seed=2, augment=True)
    (one, labels), (two, others) = batches
    assert not torch.allclose(one, IMAGES[labels])
    assert not torch.allclose(one[labels.argsort()], two[others.argsort()])  # anew each time
    assert torch.equal(one, next(iter(batches))[0])


class Always(nn.Module):
    """Says the same of every image."""

    def __init__(self, logits):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, images):
        return self.logits.expand(len(images), -1), None


def test_loss_and_accuracy_by_hand():
    model = Always([0.0, 1, 0, 0])
    labels = torch.tensor([1, 1, 0, 1, 3])
    e = torch.e
    wanted = torch.log(torch.tensor(e + 3)) - 3 / 5  # the label's logit is 1 three times of five
    torch.testing.assert_close(digits.digits_loss(model, (IMAGES[:5], labels)), wanted)
    assert digits.digits_accuracy(model, (IMAGES[:5], labels), size=2) == pytest.approx(3 / 5)


@pytest.mark.parametrize("make", [DigitCNN, PixelRegression, lambda: DigitCNN((2, 3, 5))])
def test_the_baselines_give_logits_as_vit_does(make):
    logits, weights = make()(IMAGES)
    assert logits.shape == (7, 10)
    assert weights is None


def test_a_convolution_with_its_kernels_as_rows_starts_and_computes_as_torchs():
    torch.manual_seed(3)
    ours = MatrixConv(2, 5)
    torch.manual_seed(3)
    theirs = nn.Conv2d(2, 5, 3, padding=1)
    assert torch.equal(ours.weight, theirs.weight.flatten(1))
    x = torch.rand(7, 2, 11, 13)
    torch.testing.assert_close(ours(x), theirs(x))


def test_the_cnn_takes_colour_and_other_sizes():
    model = DigitCNN((2, 3, 5), n_channels=3, image_size=13)
    assert model(torch.rand(7, 3, 13, 13))[0].shape == (7, 10)
    assert model.body[0].in_channels == 3


def test_batches_of_colour():
    ((images, _),) = DigitBatches(torch.rand(7, 3, 9, 11), LABELS, steps=1, size=5, augment=True)
    assert images.shape == (5, 3, 9, 11)


def test_logistic_regression_has_no_hidden_layer():
    model = PixelRegression()
    one, two = IMAGES[:1], IMAGES[1:2]
    zero = model(torch.zeros_like(one))[0]
    torch.testing.assert_close(model(one + two)[0] + zero, model(one)[0] + model(two)[0])


def test_the_sides():
    task = digits.load()
    assert [len(side[0]) for side in (task.train, task.valid, task.test)] == [4000, 500, 500]
    images, labels = task.train
    assert images.shape[1:] == (1, 28, 28)
    assert (images.min(), images.max()) == (0, 1)
    assert set(labels.tolist()) == set(range(10))


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_jitter(self):
        for wrong, message in (
            ({"shift": -1}, "shift must be at least 0"),
            ({"turn": float("nan")}, "turn must be at least 0"),
            ({"zoom": 1.0}, "zoom must be at least 0 and below 1"),
        ):
            with pytest.raises(ValueError, match=message):
                jitter(IMAGES, **wrong)
        with pytest.raises(ValueError, match="images must have 4 axes"):
            jitter(IMAGES[0])
        with pytest.raises(TypeError, match="images must hold floating-point"):
            jitter(IMAGES.byte())
        with pytest.raises(TypeError, match="generator must be a torch"):
            jitter(IMAGES, generator=3)

    def test_batches(self):
        for wrong, message in (
            ({"steps": 0}, "steps must be at least 1"),
            ({"size": 0}, "size must be at least 1"),
        ):
            with pytest.raises(ValueError, match=message):
                DigitBatches(IMAGES, LABELS, **{"steps": 1, **wrong})
        with pytest.raises(ValueError, match="6 for 7 images"):
            DigitBatches(IMAGES, LABELS[:6], steps=1)
        with pytest.raises(ValueError, match="0 for 0 images"):
            DigitBatches(IMAGES[:0], LABELS[:0], steps=1)
