"""The Transformer of the paper: an encoder reads the source, a decoder writes the target."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.cache import KeyValueCache
from attnbook.models.decoder import Decoder, DecoderConfig
from attnbook.models.encoder import Encoder, EncoderConfig
from attnbook.models.inputs import mask_and_places
from attnbook.positions import places


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """The sizes and choices of a `Seq2Seq`.

    Args:
        source_vocab_size, target_vocab_size: number of tokens on either side.
        d_model, n_heads, d_ff, n_layers, max_len, dropout, pre_norm, activation, norm_eps,
            positions: of the encoder and of the decoder alike; see `EncoderConfig`.
        share_embeddings: whether source and target have one table, and so one vocabulary.
        tie_output: whether the output layer's weight is the table of the target's tokens.

    Raises:
        TypeError, ValueError: as `EncoderConfig`; a shared table of two sizes.

    Source: Vaswani et al. 2017, section 3.4, shares all three.
    Chapter: 10_cross_attention
    """

    source_vocab_size: int
    target_vocab_size: int
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    max_len: int
    dropout: float = 0.0
    pre_norm: bool = False
    activation: str = "relu"
    norm_eps: float = 1e-5
    positions: str = "sinusoidal"
    share_embeddings: bool = False
    tie_output: bool = True

    def __post_init__(self) -> None:
        checks.positive(
            source_vocab_size=self.source_vocab_size, target_vocab_size=self.target_vocab_size
        )
        checks.flag(share_embeddings=self.share_embeddings, tie_output=self.tie_output)
        if self.share_embeddings and self.source_vocab_size != self.target_vocab_size:
            raise ValueError(
                "share_embeddings needs one vocabulary, but source_vocab_size is "
                f"{self.source_vocab_size} and target_vocab_size {self.target_vocab_size}"
            )
        EncoderConfig(vocab_size=self.source_vocab_size, **self.stack())  # checks the others

    def stack(self) -> dict[str, int | float | bool | str]:
        """What encoder and decoder have in common, as the fields of their configs."""
        names = ("d_model", "n_heads", "d_ff", "n_layers", "max_len")
        names += ("dropout", "pre_norm", "activation", "norm_eps", "positions")
        return {name: getattr(self, name) for name in names}


class Seq2Seq(nn.Module):
    """Encoder, decoder, and the layer from the decoder's vectors to logits over the vocabulary.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        encoder, decoder: the two stacks.
        output: the linear layer D -> V without bias.

    Source: Vaswani et al. 2017, figure 1; Press and Wolf 2017 (the tied output).
    Chapter: 10_cross_attention
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        stack = config.stack()
        self.encoder = Encoder(EncoderConfig(vocab_size=config.source_vocab_size, **stack))
        self.decoder = Decoder(DecoderConfig(vocab_size=config.target_vocab_size, **stack))
        self.output = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        if config.share_embeddings:
            self.decoder.embed.tokens = self.encoder.embed.tokens
        if config.tie_output:
            self.output.weight = self.decoder.embed.tokens.weight

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        source_mask: Bool[Tensor, "..."] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "B T V"],
        tuple[Float[Tensor, "B H T T"], ...] | None,
        tuple[Float[Tensor, "B H T S"], ...] | None,
    ]:
        """Teacher forcing: the logits at t say what follows target[:, t], given target[:, : t + 1].

        Args:
            source: token ids (B, S).
            target: token ids (B, T), the start token first: the right answers, one place early.
                Padding stands behind the real tokens, where they cannot see it.
            source_mask: the source's real tokens, `masks.padding` or `masks.real_tokens`:
                broadcasts to (B, 1, S).
            need_weights: whether to return the decoder's attention weights (those of the encoder
                are `encoder`'s own to give).

        Returns:
            The logits (B, T, V), and of each layer of the decoder the weights of the
            self-attention (B, H, T, T) and of the cross-attention (B, H, T, S), or None.

        Raises:
            TypeError: ids that are not integers, a mask that is not boolean.
            ValueError: an id outside its vocabulary, more than max_len tokens, or shapes that do
                not fit.
        """
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, source_mask, need_weights=need_weights)

    def encode(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B S D"]:
        """The source (B, S) -> the memory (B, S, D), from which `decode` takes what it needs."""
        c = self.config
        checks.token_ids("source", source, c.source_vocab_size, c.max_len)
        if source_mask is None:
            return self.encoder(source)[0]
        B, S = source.shape
        checks.mask(source_mask, (B, 1, S), name="source_mask")
        # Counted over the real tokens, so that padding on the left changes nothing either.
        real = source_mask.expand(B, 1, S)[:, 0]  # (B, S)
        return self.encoder(source, source_mask, places=places(real))[0]

    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        source_mask: Bool[Tensor, "..."] | None = None,
        *,
        real: Bool[Tensor, "..."] | None = None,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "B T V"],
        tuple[Float[Tensor, "B H T _S"], ...] | None,
        tuple[Float[Tensor, "B H T S"], ...] | None,
    ]:
        """The second half of `forward`, with the memory from `encode`.

        Args:
            target, source_mask, need_weights: as `forward`.
            memory: from `encode`; the same on each call with one cache.
            real: True at a real token of the target, False at padding, (B, T), for targets with
                padding on the left; all are real unless given.
            cache: of the tokens before target, from the method `cache`; target is added to it.

        Raises:
            TypeError, ValueError: as `forward`; a cache that is full or does not fit.
        """
        c = self.config
        checks.token_ids("target", target, c.target_vocab_size, c.max_len)
        # In training and in use alike: what is written cannot hang on what is not yet there.
        mask, where = mask_and_places(target, real, cache)
        x, weights, cross_weights = self.decoder(
            target, memory, mask, source_mask, places=where, cache=cache, need_weights=need_weights
        )
        return self.output(x), weights, cross_weights  # (B, T, D) -> (B, T, V)

    def cache(self, memory: Float[Tensor, "B S D"], max_len: int | None = None) -> KeyValueCache:
        """An empty cache for `decode` with this memory; max_len is the model's unless given.

        Raises:
            ValueError: a max_len below 1 or above the model's.
        """
        c, (B, S, _) = self.decoder.config, memory.shape
        max_len = checks.at_most("max_len", c.max_len if max_len is None else max_len, c.max_len)
        kind = {"memory_len": S, "dtype": memory.dtype, "device": memory.device}
        return KeyValueCache(c.n_layers, B, c.n_heads, max_len, c.d_head, **kind)
