"""The parts of a layer: the feed-forward network, and the residual path around a sub-layer."""

from functools import partial

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attnbook import checks


def squared_relu(x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
    """max(x, 0) squared, each number by itself.

    Source: So et al. 2021 (Primer).
    Chapter: 14_gpt
    """
    return F.relu(x).square()


# By name, so that a configuration can go into a JSON file. GPT-2 computes GELU by a tanh.
ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "squared_relu": squared_relu,
}


class FeedForward(nn.Module):
    """The same two-layer network at every position: w_2(activation(w_1(x))).

    Args:
        d_model: width D of input and output.
        d_ff: width in between; the paper takes 4 D.
        dropout: share dropped in training between the two.
        activation: "relu" as in the paper, "gelu", "gelu_tanh" (GELU's approximation in GPT-2) or
            "squared_relu".

    Raises:
        ValueError: a size below 1, a dropout outside [0, 1), or an activation of no such name.

    Source: Vaswani et al. 2017, equation 2; Hendrycks and Gimpel 2016 (GELU).
    Chapter: 08_encoder
    """

    def __init__(
        self, d_model: int, d_ff: int, *, dropout: float = 0.0, activation: str = "relu"
    ) -> None:
        super().__init__()
        checks.positive(d_model=d_model, d_ff=d_ff)
        checks.probability(dropout=dropout)
        checks.choice("activation", activation, ACTIVATIONS)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """x (…, D) -> (…, D), each position by itself."""
        checks.activations("x", x, self.w_1.weight)
        return self.w_2(self.dropout(self.activation(self.w_1(x))))  # (…, D) -> (…, d_ff) -> (…, D)


class Residual(nn.Module):
    """The path around a sub-layer, and the place of the layer norm.

    Use: `update = sublayer(around.enter(x)); x = around.leave(x, update)`.

    Args:
        d_model: width D.
        pre_norm: norm on the way into the sub-layer (True) or after the sum (False).
        dropout: share of the update dropped in training.
        norm_eps: what the layer norm adds to the variance, so that it never divides by 0.

    Source: He et al. 2016 (residual); Ba et al. 2016 (layer norm); Xiong et al. 2020 (pre-norm).
    Chapter: 08_encoder
    """

    def __init__(
        self, d_model: int, *, pre_norm: bool, dropout: float = 0.0, norm_eps: float = 1e-5
    ) -> None:
        super().__init__()
        checks.positive(d_model=d_model)
        checks.probability(dropout=dropout)
        checks.rate(norm_eps=norm_eps)
        self.norm = nn.LayerNorm(d_model, eps=norm_eps)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def enter(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """What the sub-layer gets to see of x."""
        checks.activations("x", x, self.norm.weight)
        return self.norm(x) if self.pre_norm else x

    def leave(
        self, x: Float[Tensor, "*batch D"], update: Float[Tensor, "*batch D"]
    ) -> Float[Tensor, "*batch D"]:
        """x with the sub-layer's update added.

        Raises:
            ValueError: an update of another shape, which would be stretched to that of x.
        """
        checks.same_shape("update", update, "x", x)
        x = x + self.dropout(update)
        return x if self.pre_norm else self.norm(x)
