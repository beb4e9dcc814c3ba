"""The decoder of an encoder-decoder: a stack whose layers also attend to the encoder's output.

A decoder-*only* model has no such output to attend to. Without the cross-attention a `DecoderLayer`
is an `EncoderLayer`, so it is an `Encoder` with a causal mask: see `attnbook.models.encoder`.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook.cache import KeyValueCache, by_layer
from attnbook.layers import DecoderLayer
from attnbook.models.encoder import EncoderConfig
from attnbook.models.inputs import InputEmbedding


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(EncoderConfig):
    """The sizes and choices of a `Decoder`: the fields and errors are those of `EncoderConfig`.

    Chapter: 10_cross_attention
    """


class Decoder(nn.Module):
    """Token embedding and positions, then a stack of `DecoderLayer`s over one memory.

    Args:
        config: its sizes and choices.

    Attributes:
        config, embed, norm: as in `Encoder`.
        layers: the `DecoderLayer`s, the first one first.

    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020 (the norm at the end).
    Chapter: 10_cross_attention
    """

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        c = self.config = config
        self.embed = InputEmbedding(
            c.vocab_size, c.d_model, c.max_len, positions=c.positions, dropout=c.dropout
        )
        rotate = c.rotation()
        self.layers = nn.ModuleList(
            DecoderLayer(**c.layer(), rotate=rotate) for _ in range(c.n_layers)
        )
        self.norm = c.last_norm()

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        *,
        places: Int[Tensor, "..."] | None = None,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "B T D"],
        tuple[Float[Tensor, "B H T _S"], ...] | None,
        tuple[Float[Tensor, "B H T S"], ...] | None,
    ]:
        """ids (B, T), memory (B, S, D) -> vectors (B, T, D), both weights of each layer or None.

        Args:
            ids: token ids of what the decoder has so far.
            memory: the encoder's output, the same for all layers.
            mask: for the self-attention; no causal mask is added, pass `masks.causal(T)`.
            memory_mask: for the cross-attention, such as the source's padding (B, 1, S).
            places, cache: as `Encoder.forward`; the cache keeps the memory's keys and values as
                well, so give the same memory on each call.
            need_weights: whether to return the attention weights.

        Raises:
            TypeError, ValueError: as `InputEmbedding.forward` and `DecoderLayer.forward`; a
                memory of another number of sequences, a cache of another number of layers.
        """
        x = self.embed(ids, places)  # (B, T, D)
        if len(memory) != len(ids):
            raise ValueError(
                f"memory must hold one sequence for each of ids: {len(memory)} for {len(ids)}"
            )
        weights, cross_weights, n = [], [], len(self.layers)
        caches = by_layer(cache, n), by_layer(cache, n, memory=True)
        for layer, own, of_memory in zip(self.layers, *caches, strict=True):
            x, w, cross = layer(
                x, memory, mask, memory_mask,
                cache=own, memory_cache=of_memory, need_weights=need_weights,
            )  # fmt: skip
            weights.append(w)
            cross_weights.append(cross)
        if not need_weights:
            return self.norm(x), None, None
        return self.norm(x), tuple(weights), tuple(cross_weights)
