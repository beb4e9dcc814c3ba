import pytest
import torch
import torch.nn.functional as F

from attnbook.sublayers import FeedForward, Residual, squared_relu

B, T, D, D_FF = 2, 5, 12, 11


def drawn(*size, seed=0, dtype=torch.float32):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def with_random_norms(layer):
    for name, p in layer.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(p, mean=1.0)
    return layer


def test_feed_forward_by_hand():
    module = FeedForward(2, 3)
    with torch.no_grad():
        module.w_1.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1]]))
        module.w_1.bias.copy_(torch.tensor([0.0, 0, -1]))
        module.w_2.weight.copy_(torch.tensor([[1.0, 2, 4], [0, 1, 0]]))
        module.w_2.bias.copy_(torch.tensor([0.5, 0]))
    # x = (3, -1): inner (3, -1, 1), after ReLU (3, 0, 1), out (3 + 4 + 0.5, 0).
    assert module(torch.tensor([3.0, -1.0])).tolist() == [7.5, 0.0]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("relu", F.relu),
        ("gelu", F.gelu),
        ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
    ],
)
def test_feed_forward_takes_another_activation_and_each_position_by_itself(name, function):
    module = FeedForward(D, D_FF, activation=name)
    x = drawn(B, T, D) * 5  # far enough from 0 for the two kinds of GELU to part
    close(module(x), module.w_2(function(module.w_1(x))))
    close(module(x)[1, 3], module(x[1, 3]))


def test_an_activation_of_no_such_name_is_refused():
    with pytest.raises(ValueError, match=r"activation must be .*'swish'"):
        FeedForward(D, D_FF, activation="swish")


def test_the_norm_adds_what_it_is_told_to_the_variance():
    around, x = Residual(D, pre_norm=True, norm_eps=0.5), drawn(B, T, D)
    centred = x - x.mean(-1, keepdim=True)
    close(around.enter(x), centred / (centred.square().mean(-1, keepdim=True) + 0.5).sqrt())


def test_residual_post_norm_is_norm_of_the_sum():
    around, x = with_random_norms(Residual(D, pre_norm=False)), drawn(B, T, D)
    assert torch.equal(around.enter(x), x)
    update = drawn(B, T, D, seed=1)
    wanted = F.layer_norm(x + update, (D,), around.norm.weight, around.norm.bias)
    close(around.leave(x, update), wanted)


def test_residual_pre_norm_is_a_straight_path():
    around, x = with_random_norms(Residual(D, pre_norm=True)), drawn(B, T, D)
    close(around.enter(x), F.layer_norm(x, (D,), around.norm.weight, around.norm.bias))
    update = drawn(B, T, D, seed=1)
    assert torch.equal(around.leave(x, update), x + update)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_residual_drops_of_the_update_alone(pre_norm):
    around, x = Residual(D, pre_norm=pre_norm, dropout=0.5), torch.zeros(B, T, D)
    around.norm = torch.nn.Identity()
    left = around.leave(x + 1, x + 3)
    assert set(left.unique().tolist()) == {1.0, 7.0}  # kept updates are scaled up to 3 / 0.5
    assert torch.equal(around.eval().leave(x + 1, x + 3), x + 4)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("size", [(1, T, D), (T, D), (D,), (B, T, 1), (1, B, T, D)])
def test_residual_does_not_stretch_an_update(size):
    with pytest.raises(ValueError, match=r"update must have the shape of x, \(2, 5, \d+\), not"):
        Residual(D, pre_norm=True).leave(torch.zeros(B, T, D), torch.zeros(size))


def test_squared_relu_by_hand_and_by_name():
    x = torch.tensor([-3.0, -0.5, 0.0, 0.5, 3.0])
    assert squared_relu(x).tolist() == [0.0, 0.0, 0.0, 0.25, 9.0]
    network = FeedForward(3, 5, activation="squared_relu")
    x = torch.linspace(-2, 2, 6).view(2, 3)
    expected = network.w_2(network.w_1(x).clamp(min=0) ** 2)
    assert torch.equal(network(x), expected)
