"""Few labelled digits: those alone are seen, and a seed fixes the rest."""

import torch
from torch import nn

from attnbook.digits import DigitTask
from attnbook.models.masked_autoencoder import MaskedAutoencoder
from attnbook.trained import few_digits, painted_digits
from attnbook.trained.few_digits import name_digits


def test_few_images_alone_are_seen(monkeypatch):
    monkeypatch.setattr(few_digits, "STEPS", 2)
    seen = []

    def recorded(model, batch):
        seen.extend(batch[0].flatten(1).tolist())
        return nn.functional.cross_entropy(model(batch[0])[0], batch[1])

    monkeypatch.setattr(few_digits.digits, "digits_loss", recorded)
    x, y = torch.rand(60, 1, 28, 28), torch.arange(60) % 10
    task = DigitTask(train=(x, y), valid=(x, y), test=(x, y))
    autoencoder = MaskedAutoencoder(painted_digits.CONFIG)
    scores = [name_digits(task, autoencoder, n=2, seed=3) for _ in range(2)]
    assert scores[0] == scores[1]
    assert len(seen) == 2 * 2 * 32
    assert len({tuple(image) for image in seen}) == 20
