"""Attention rollout: on numbers small enough for a pencil, and against the paths one by one."""

import itertools

import pytest
import torch

from attnbook.rollout import attention_rollout


def test_two_layers_by_hand():
    first = torch.tensor([[1.0, 0], [1, 0]])[None, None]  # both look at token 0
    second = torch.tensor([[0.0, 1], [0, 1]])[None, None]  # both look at token 1
    # Half attention, half the residual path: [[1, 0], [½, ½]], then [[½, ½], [0, 1]].
    wanted = torch.tensor([[[0.75, 0.25], [0.5, 0.5]]])
    torch.testing.assert_close(attention_rollout([first, second]), wanted)
    # Here the order of the layers matters.
    turned = torch.tensor([[[0.5, 0.5], [0.25, 0.75]]])
    torch.testing.assert_close(attention_rollout([second, first]), turned)


def test_it_is_the_sum_over_all_paths():
    weights = [torch.rand(2, heads, 4, 4).softmax(dim=-1) for heads in (3, 5, 1)]
    layers = [0.3 * torch.eye(4) + 0.7 * w.mean(dim=1) for w in weights]
    wanted = torch.zeros(2, 4, 4)
    for end, b, a, start in itertools.product(range(4), repeat=4):
        wanted[:, end, start] += layers[2][:, end, b] * layers[1][:, b, a] * layers[0][:, a, start]
    shares = attention_rollout(weights, residual=0.3)
    torch.testing.assert_close(shares, wanted)
    torch.testing.assert_close(shares.sum(dim=-1), torch.ones(2, 4))


def test_without_the_residual_path_it_is_the_product_of_the_means():
    weights = [torch.rand(2, 3, 5, 5).softmax(dim=-1) for _ in range(2)]
    product = weights[1].mean(dim=1) @ weights[0].mean(dim=1)
    torch.testing.assert_close(attention_rollout(weights, residual=0.0), product)


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_no_layer(self):
        with pytest.raises(ValueError, match="weights must hold those of at least one layer"):
            attention_rollout([])

    def test_shapes(self):
        good = torch.rand(2, 3, 5, 5)
        for wrong in (good[0], good[..., :4], good[:1], torch.rand(2, 3, 4, 4)):
            with pytest.raises(ValueError, match=r"weights\[1\] is \("):
                attention_rollout([good, wrong])

    def test_whole_numbers(self):
        with pytest.raises(TypeError, match=r"weights\[0\] must hold floating-point"):
            attention_rollout([torch.ones(1, 1, 2, 2, dtype=torch.long)])

    def test_a_share_that_is_none(self):
        with pytest.raises(ValueError, match="residual must be"):
            attention_rollout([torch.rand(1, 1, 2, 2)], residual=1.0)
