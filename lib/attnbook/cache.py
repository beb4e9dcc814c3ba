"""The key-value cache: what a decoder has read is not read again.

The keys and values of a token depend on the tokens before it alone. A decoder that writes one token
at a time can therefore keep them, and let only the new tokens through its layers.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnbook import checks


class AttentionCache:
    """The keys and values that one attention has met, in memory that is set aside at the start.

    Args:
        B: number of sequences.
        n_heads: number of heads H.
        max_len: number of places L that there is room for.
        d_head: width of a head.
        dtype, device: of the keys and values.

    Attributes:
        length: number of places that are filled.
        keys, values: (B, H, L, d_head), of which the first `length` places mean something.

    Raises:
        ValueError: a size below 1.

    Chapter: 09_decoder
    """

    def __init__(
        self,
        B: int,
        n_heads: int,
        max_len: int,
        d_head: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        checks.positive(B=B, n_heads=n_heads, max_len=max_len, d_head=d_head)
        self.max_len, self.length = max_len, 0
        self.keys = torch.zeros(B, n_heads, max_len, d_head, dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)

    def extend(
        self, key: Float[Tensor, "B H T d"], value: Float[Tensor, "B H T d"]
    ) -> tuple[Float[Tensor, "B H _S d"], Float[Tensor, "B H _S d"]]:
        """Store T new keys and values behind the old ones -> all so far, (B, H, S, d_head).

        Raises:
            TypeError: another dtype or device than the cache's.
            ValueError: no room for T more, or keys of other sizes than the cache was made for.
            RuntimeError: keys that want a gradient, which none could reach through the cache.
        """
        checks.floating(key=key, value=value, cache=self.keys)
        B, H, _, d = self.keys.shape
        for name, x in (("key", key), ("value", value)):
            if x.ndim != 4 or (*x.shape[:2], x.shape[3]) != (B, H, d):
                raise ValueError(
                    f"{name} must fit the cache, (B, n_heads, T, d_head) = ({B}, {H}, T, {d}), "
                    f"but its shape is {checks.shape(x)}"
                )
            if x.requires_grad:
                raise RuntimeError("a cache keeps no gradients: run the model in torch.no_grad()")
        checks.same_shape("value", value, "key", key)
        old, self.length = self.length, self.length + self.room(key.shape[2])
        self.keys[:, :, old : self.length] = key
        self.values[:, :, old : self.length] = value
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def room(self, T: int) -> int:
        """T, if there is room for so many more places.

        Raises:
            ValueError: there is not.
        """
        if self.length + T > self.max_len:
            raise ValueError(
                f"the cache has max_len = {self.max_len} places, of which {self.length} are "
                f"filled: {T} more do not fit"
            )
        return T

    def select(self, rows: Int[Tensor, " R"]) -> None:
        """Keep the sequences `rows`, in that order; one may be taken more than once, or not."""
        rows = rows.long()  # torch reads an index of bytes as a mask
        self.keys, self.values = self.keys[rows], self.values[rows]


class KeyValueCache:
    """The caches of all layers of a decoder, and which of the places are padding.

    `GPT.cache` and `Seq2Seq.cache` make one that fits the model. A model that is called with it
    takes the new tokens alone, and their places go on from where the cache ends.

    Args:
        n_layers: number of layers.
        B, n_heads, max_len, d_head, dtype, device: of each layer's `AttentionCache`.
        memory_len: places S of the encoder's output, for a decoder with cross-attention. Its keys
            and values are stored at the first call, and never computed again.

    Attributes:
        layers: the `AttentionCache` of each layer's self-attention.
        memory_layers: those of the cross-attentions; none unless memory_len is given.
        real: True at a real token, (B, max_len).
        padded: whether any padding was noted: without, `real` is True throughout.

    Raises:
        ValueError: a size below 1.

    Source: Shazeer 2019, section 2.4 (incremental decoding, which keeps keys and values).
    Chapter: 09_decoder
    """

    def __init__(
        self,
        n_layers: int,
        B: int,
        n_heads: int,
        max_len: int,
        d_head: int,
        *,
        memory_len: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        checks.positive(n_layers=n_layers)
        if memory_len is not None:
            checks.positive(memory_len=memory_len)

        def layers(length: int) -> list[AttentionCache]:
            return [
                AttentionCache(B, n_heads, length, d_head, dtype=dtype, device=device)
                for _ in range(n_layers)
            ]

        self.layers = layers(max_len)
        self.memory_layers = [] if memory_len is None else layers(memory_len)
        self.real = torch.ones(B, max_len, dtype=torch.bool, device=device)
        self.padded = False

    @property
    def length(self) -> int:
        """The number of places that are filled."""
        return self.layers[-1].length

    @property
    def max_len(self) -> int:
        """The number of places that there is room for."""
        return self.layers[-1].max_len

    def expect(
        self, ids: Int[Tensor, "B T"], real: Bool[Tensor, "B T"] | None = None
    ) -> Bool[Tensor, "B _S"] | None:
        """Note which of T new tokens are real -> the same for all places so far, (B, S).

        The layers fill the T places afterwards.

        Args:
            ids: the new tokens.
            real: True at a real token; all are real unless given.

        Returns:
            True at a real token, (B, S); None where no padding was ever noted.

        Raises:
            TypeError: `real` is not boolean.
            ValueError: no room for T more, another number of sequences than the cache's, or a
                `real` of another shape than ids.
        """
        if ids.ndim != 2 or len(ids) != len(self.real):
            raise ValueError(
                f"the cache was made for {len(self.real)} sequences, but ids has the shape "
                f"{checks.shape(ids)}"
            )
        end = self.length + self.layers[-1].room(ids.shape[1])
        if real is not None:
            checks.boolean("real", real)
            checks.same_shape("real", real, "ids", ids)
            self.real[:, self.length : end] = real
            self.padded = True
        return self.real[:, :end] if self.padded else None

    def select(self, rows: Int[Tensor, " R"]) -> None:
        """Keep the sequences `rows` in all layers, in that order: a beam goes on from its parent.

        Raises:
            TypeError: rows that are not integers.
            ValueError: a row outside 0 … B - 1.
        """
        checks.ids("rows", rows, len(self.real))
        rows = rows.long()  # torch reads an index of bytes as a mask
        self.real = self.real[rows]
        for layer in (*self.layers, *self.memory_layers):
            layer.select(rows)


def by_layer(
    cache: KeyValueCache | None, n_layers: int, *, memory: bool = False
) -> list[AttentionCache] | list[None]:
    """One `AttentionCache` a layer, of the self-attentions or (memory) of the cross-attentions.

    Without a cache it is one None a layer.

    Raises:
        ValueError: a cache of another number of layers.

    Chapter: 09_decoder
    """
    if cache is None:
        return [None] * n_layers
    layers = cache.memory_layers if memory else cache.layers
    if len(layers) != n_layers:
        what = "memory_layers (give memory_len)" if memory else "layers"
        raise ValueError(f"cache must have {n_layers} {what}, not {len(layers)}")
    return layers
