"""The comparison on the digits: what one training sees, and that a seed fixes it."""

import pytest
import torch
from torch import nn

from attnbook.digits import DigitCNN, DigitTask
from attnbook.trained import digit_models
from attnbook.trained.digit_models import score_once, small_vit


def side(n):
    return torch.rand(n, 1, 28, 28), torch.arange(n) % 10


@pytest.fixture
def task():
    return DigitTask(train=side(20), valid=side(5), test=side(7))


class Recorder(nn.Module):
    """Keeps what it is trained on."""

    def __init__(self):
        super().__init__()
        self.output = nn.Linear(784, 10)
        self.seen = []

    def forward(self, images):
        if self.training:
            self.seen += [image.tolist() for image in images.flatten(1)]
        return self.output(images.flatten(1)), None


@pytest.mark.parametrize("augment", [False, True])
def test_the_first_images_alone_are_seen(task, augment):
    model = Recorder()
    score_once(lambda: model, 0.01, task, n_images=3, augment=augment, seed=5, steps=2)
    first = task.train[0][:3].flatten(1).tolist()
    assert len(model.seen) == 2 * 64
    assert all((image in first) != augment for image in model.seen)


def test_the_seed_fixes_the_weights_and_the_batches(task):
    def trained(seed):
        models = []

        def make():
            models.append(Recorder())
            return models[0]

        score_once(make, 0.01, task, n_images=9, augment=True, seed=seed, steps=2)
        return models[0].output.weight, models[0].seen

    (weight, seen), (same, seen_again), (other, others) = trained(3), trained(3), trained(4)
    assert torch.equal(weight, same)
    assert seen == seen_again
    assert not torch.equal(weight, other)
    assert seen != others


PARTS = (*(f"attention.w_{x}" for x in "qkvo"), "feed_forward.w_1", "feed_forward.w_2")


@pytest.mark.parametrize(
    ("make", "inside"),
    [
        (lambda: DigitCNN((2, 3, 5)), {"body.3", "body.6"}),
        (small_vit, {f"layers.{i}.{part}" for i in range(3) for part in PARTS}),
    ],
)
def test_muon_gets_the_matrices_inside_and_only_when_asked(task, monkeypatch, make, inside):
    taken = []
    monkeypatch.setattr(
        digit_models, "train", lambda model, *_, **settings: taken.append((model, settings))
    )
    for use_muon in (False, True):
        settings = {"n_images": 4, "augment": False, "seed": 1, "use_muon": use_muon}
        score_once(make, 0.01, task, **settings)
    (_, plain), (model, fast) = taken
    assert "optimizer" not in plain
    matrices, _ = fast["optimizer"](model.parameters(), lr=0.01).param_groups
    ids = {id(weight) for weight in matrices["params"]}
    assert {n for n, x in model.named_parameters() if id(x) in ids} == {
        f"{n}.weight" for n in inside
    }


def test_it_is_scored_on_the_test_images(task):
    class Knows(Recorder):
        def forward(self, images):
            found = (images[:, None] == task.test[0][None]).flatten(2).all(dim=2).float()
            logits = 99 * found @ nn.functional.one_hot(task.test[1], 10).float()
            return logits + super().forward(images)[0] * 1e-3, None

    settings = {"n_images": 4, "augment": False, "seed": 1, "steps": 1}
    assert score_once(Knows, 1e-6, task, **settings) == 1


def test_models_of_one_size():
    sizes = {
        name: sum(p.numel() for p in make().parameters())
        for name, (make, _) in digit_models.MODELS.items()
    }
    assert sizes["ViT"] == pytest.approx(sizes["CNN"], rel=0.12)
    assert small_vit(14).config.n_patches == 4
