import dataclasses
import json
import math

import pytest
import torch
import torch.nn.functional as F

from attnbook.models.cbow import CBOW, CBOWConfig

B, N, V, D = 3, 4, 11, 6


def test_the_mean_of_the_context_then_a_linear_layer():
    model = CBOW(CBOWConfig(vocab_size=V, d_model=D))
    context = torch.randint(V, (B, N))
    vectors = torch.stack([model.tokens.weight[row].mean(dim=0) for row in context])
    torch.testing.assert_close(model(context), vectors @ model.output.weight.T)
    assert model(context).shape == (B, V)
    torch.testing.assert_close(model(context.flip(1)), model(context))  # a bag has no order


def test_the_first_loss_is_near_that_of_a_guess():
    model = CBOW(CBOWConfig(vocab_size=500, d_model=64))
    loss = F.cross_entropy(model(torch.randint(500, (64, N))), torch.randint(500, (64,)))
    assert abs(loss.item() - math.log(500)) < 0.05


def test_config_to_json_and_back():
    config = CBOWConfig(vocab_size=V, d_model=D)
    assert CBOWConfig(**json.loads(json.dumps(dataclasses.asdict(config)))) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 3


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_config(self):
        with pytest.raises(ValueError, match="vocab_size must be at least 1, not 0"):
            CBOWConfig(vocab_size=0, d_model=D)
        with pytest.raises(TypeError, match=r"d_model must be an int, not 6\.0"):
            CBOWConfig(vocab_size=V, d_model=6.0)

    def test_context(self):
        model = CBOW(CBOWConfig(vocab_size=V, d_model=D))
        with pytest.raises(ValueError, match="context must lie in 0 … 10, but 11 is among them"):
            model(torch.tensor([[1, 11]]))
        with pytest.raises(ValueError, match=r"context must have 2 axes .* its shape is \(2,\)"):
            model(torch.tensor([1, 2]))
        with pytest.raises(ValueError, match=r"at least 1 place, but its shape is \(2, 0\)"):
            model(torch.empty(2, 0, dtype=torch.long))
        with pytest.raises(TypeError, match="context must hold integers"):
            model(torch.zeros(2, 3))
