"""GPT: the encoder's stack with a causal mask, read off as what comes next."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.cache import KeyValueCache
from attnbook.models.encoder import Encoder, EncoderConfig
from attnbook.models.inputs import mask_and_places


@dataclass(frozen=True, kw_only=True)
class GPTConfig(EncoderConfig):
    """The sizes and choices of a `GPT`: those of `EncoderConfig`, with GPT-2's as defaults.

    Args:
        pre_norm, activation, positions: as `EncoderConfig`; GPT-2 itself has
            activation="gelu_tanh" and learned positions, many later models have rotary ones.
        tie_output: whether the output layer's weight is the table of the tokens.

    Raises:
        TypeError, ValueError: as `EncoderConfig`; a tie_output that is no bool.

    Source: Radford et al. 2019 (GPT-2).
    Chapter: 14_gpt
    """

    pre_norm: bool = True
    activation: str = "gelu"
    positions: str = "learned"
    tie_output: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.flag(tie_output=self.tie_output)


class GPT(nn.Module):
    """A decoder-only model: an `Encoder` that sees only the past, and logits over the vocabulary.

    Weights start as GPT-2's: normal with spread 0.02, biases 0; the last projection of each
    sub-layer is smaller by sqrt(2 n_layers), so that the sum along the residual path does not grow
    with the number of layers.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        body: the `Encoder`.
        output: the linear layer D -> V without bias.

    Source: Radford et al. 2018 (GPT); Radford et al. 2019, section 2.3 (the first weights).
    Chapter: 14_gpt
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.body = Encoder(config)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_output:
            self.output.weight = self.body.embed.tokens.weight
        small = 0.02 / math.sqrt(2 * config.n_layers)
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                last = name.endswith(("w_o", "w_2"))
                nn.init.normal_(module.weight, std=small if last else 0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        *,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T V"], tuple[Float[Tensor, "B H T _S"], ...] | None]:
        """ids (B, T) -> logits (B, T, V): those at t say what follows ids[:, : t + 1].

        Args:
            ids: token ids.
            real: True at a real token, False at padding on either side, (B, T); all are real
                unless given. What stands at padding's own places means nothing.
            cache: of the tokens before ids, from the method `cache`; ids are added to it.
            need_weights: whether to return the attention weights (B, H, T, S) of each layer; S is
                T, and with a cache counts what it held before.

        Raises:
            TypeError: ids that are not integers, a `real` that is not boolean.
            ValueError: an id outside the vocabulary, more than max_len tokens, a `real` of
                another shape than ids, or a cache that is full or does not fit.
        """
        x, weights = self.vectors(ids, real, cache=cache, need_weights=need_weights)
        return self.output(x), weights  # (B, T, D) -> (B, T, V)

    def vectors(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        *,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], tuple[Float[Tensor, "B H T _S"], ...] | None]:
        """As `forward`, before the output layer: the vectors (B, T, D)."""
        c = self.config
        checks.token_ids("ids", ids, c.vocab_size, c.max_len)
        mask, where = mask_and_places(ids, real, cache)
        return self.body(ids, mask, places=where, cache=cache, need_weights=need_weights)

    def cache(self, B: int, max_len: int | None = None) -> KeyValueCache:
        """An empty cache for B sequences of max_len tokens, the model's longest unless given.

        Raises:
            ValueError: a size below 1, or a max_len above the model's.
        """
        c = self.config
        max_len = checks.at_most("max_len", c.max_len if max_len is None else max_len, c.max_len)
        kind = {"dtype": self.output.weight.dtype, "device": self.output.weight.device}
        return KeyValueCache(c.n_layers, B, c.n_heads, max_len, c.d_head, **kind)


class GPTSequenceClassifier(nn.Module):
    """One of n_classes for a whole sequence, read off at its last real token, which has seen it.

    Args:
        gpt: the model below; its output layer is not used.
        n_classes: number of classes C.

    Attributes:
        gpt: as given.
        classes: the linear layer D -> C without bias.

    Raises:
        ValueError: n_classes below 1.

    Source: Radford et al. 2018 (GPT), section 3.2.
    Chapter: 14_gpt
    """

    def __init__(self, gpt: GPT, n_classes: int) -> None:
        super().__init__()
        checks.positive(n_classes=n_classes)
        self.gpt = gpt
        self.classes = nn.Linear(gpt.config.d_model, n_classes, bias=False)
        nn.init.normal_(self.classes.weight, std=0.02)
        self.classes.to(gpt.output.weight)  # its dtype and device

    def forward(
        self, ids: Int[Tensor, "B T"], real: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B C"]:
        """ids (B, T) -> logits (B, C); `real` and the errors are those of `GPT.forward`.

        Raises:
            ValueError: a sequence without a real token.
        """
        x, _ = self.gpt.vectors(ids, real)  # (B, T, D)
        if real is None:
            real = torch.ones_like(ids, dtype=torch.bool)
        if not bool(real.any(dim=1).all()):
            raise ValueError("real must be True somewhere in each row: a sequence has no token")
        last = real.long().cumsum(dim=1).argmax(dim=1)  # (B,): where the last one was counted
        return self.classes(x[torch.arange(len(x), device=x.device), last])  # (B, D) -> (B, C)
