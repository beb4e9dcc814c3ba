"""BERT: the encoder's stack over tokens that also know which of two sentences they belong to.

The heads, which turn its vectors into answers, are in `attnbook.models.bert_heads`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.embeddings import TokenEmbedding
from attnbook.models.stack import EncoderStack, StackConfig
from attnbook.positions import LearnedPositions, places


@dataclass(frozen=True, kw_only=True)
class BertConfig(StackConfig):
    """The sizes and choices of a `Bert`: those of `StackConfig`, with BERT's as defaults.

    Args:
        vocab_size: number of tokens V.
        max_len: the longest sequence that is taken, in tokens.
        n_segments: number of parts that an input can have: two sentences.
        activation, norm_eps: as `StackConfig`.
        pooler: whether there is a layer for the vector of the whole sequence, see `Bert.pool`.

    Raises:
        TypeError, ValueError: as `StackConfig`; a size that is no int of at least 1, or a pooler
            that is no bool.

    Source: Devlin et al. 2019, section 3.
    Chapter: 12_bert_pretraining
    """

    vocab_size: int
    max_len: int
    n_segments: int = 2
    activation: str = "gelu"
    norm_eps: float = 1e-12
    pooler: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(
            vocab_size=self.vocab_size, max_len=self.max_len, n_segments=self.n_segments
        )
        checks.flag(pooler=self.pooler)


class BertEmbedding(nn.Module):
    """What goes into BERT: the vectors of token, place and segment, summed and normed.

    Args:
        config: the sizes and choices of the `Bert`.

    Attributes:
        tokens, segments: the `TokenEmbedding`s.
        positions: the `LearnedPositions`.
        norm: the layer norm over the sum.

    Source: Devlin et al. 2019, figure 2.
    Chapter: 12_bert_pretraining
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = LearnedPositions(config.d_model, config.max_len)
        self.segments = TokenEmbedding(config.n_segments, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.max_len = config.max_len

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "..."] | None = None,
        places: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """ids (B, T) -> vectors (B, T, D).

        Args:
            ids: token ids.
            segments: the part of each token, 0 … n_segments - 1, (B, T); all 0 unless given.
            places: of the tokens, (T,) or (B, T); 0 … T - 1 unless given.

        Raises:
            TypeError: ids, segments or places that are not integers.
            ValueError: an id outside the vocabulary, more than max_len tokens, a segment or place
                outside its range, or shapes that do not fit.
        """
        checks.token_ids("ids", ids, self.tokens.num_embeddings, self.max_len)
        if segments is None:
            segments = torch.zeros_like(ids)
        checks.ids("segments", segments, self.segments.num_embeddings)
        checks.same_shape("segments", segments, "ids", ids)
        x = self.tokens(ids) + self.segments(segments)  # (B, T, D)
        return self.dropout(self.norm(self.positions(x, places)))


class Bert(EncoderStack):
    """BERT without a head: one vector a token, in the light of the whole input, left and right.

    Weights start as BERT's: normal with spread 0.02, biases 0. Dropout falls on the embeddings, on
    the attention weights and on both updates of a layer, not inside the feed-forward network.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        embed: the `BertEmbedding`; its table is `embed.tokens.weight`.
        layers, norm: those of `EncoderStack`.
        pooler: the linear layer of `pool`, or None.

    Source: Devlin et al. 2019; the first weights and the places of dropout as in its code.
    Chapter: 12_bert_pretraining
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.config = config
        self.embed = BertEmbedding(config)
        self.pooler = nn.Linear(config.d_model, config.d_model) if config.pooler else None
        for layer in self.layers:
            layer.feed_forward.dropout = nn.Identity()
        initialise(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        real: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "..."] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T D"], tuple[Float[Tensor, "B H T T"], ...] | None]:
        """ids (B, T) -> vectors (B, T, D), and the weights (B, H, T, T) of each layer or None.

        Args:
            ids: token ids, with [CLS] first and [SEP] behind each part where the vocabulary has
                them.
            real: True at a real token, False at padding on either side, (B, T), such as the
                tokenizer's `attention_mask`; all are real unless given. What stands at padding's
                own places means nothing.
            segments: the part of each token, (B, T), such as the tokenizer's `token_type_ids`. A
                pair of sentences needs them; without them all is the first part.
            need_weights: whether to return the attention weights.

        Raises:
            TypeError: a `real` that is not boolean; as `BertEmbedding.forward`.
            ValueError: a `real` of another shape than ids; as `BertEmbedding.forward`.
        """
        if real is None:
            return super().forward(self.embed(ids, segments), need_weights=need_weights)
        checks.boolean("real", real)
        checks.same_shape("real", real, "ids", ids)
        # Counted over the real tokens, so that padding on the left changes nothing.
        x = self.embed(ids, segments, places(real))  # (B, T, D)
        return super().forward(x, real[:, None], need_weights=need_weights)  # mask (B, 1, T)

    def pool(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        """The vector of the whole sequence: the first token's, through a linear layer and a tanh.

        Args:
            x: the vectors that `forward` gives. The first token must be real: padding stands
                behind.

        Raises:
            ValueError: a Bert without a pooler, or vectors of another shape.
        """
        if self.pooler is None:
            raise ValueError("this Bert has no pooler: its config says pooler=False")
        checks.activations("x", x, self.pooler.weight, ndim=3)
        return self.pooler(x[:, 0]).tanh()  # (B, T, D) -> (B, D)


def mean_pool(
    x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None = None
) -> Float[Tensor, "B D"]:
    """The mean of the vectors of the real tokens: a vector of the whole sequence, (B, D).

    Args:
        x: the vectors (B, T, D).
        real: True at a real token, (B, T); all are real unless given. A row without any gives
            zeros.

    Raises:
        TypeError: a `real` that is not boolean.
        ValueError: an x without 3 axes, a `real` that does not fit it.

    Source: Reimers and Gurevych 2019, section 3.
    Chapter: 13_bert_finetuning
    """
    checks.floating(x=x)
    checks.last_size("x", x, x.shape[-1] if x.ndim else 0, ndim=3)
    if real is None:
        return x.mean(dim=1)
    checks.boolean("real", real)
    if real.shape != x.shape[:2]:
        raise ValueError(
            f"real must have the shape (B, T) of x (B, T, D), but theirs are {checks.shape(real)} "
            f"and {checks.shape(x)}"
        )
    total = x.masked_fill(~real[..., None], 0.0).sum(dim=1)  # (B, T, D) -> (B, D)
    return total / real.sum(dim=1, keepdim=True).clamp(min=1)


def initialise(module: nn.Module) -> None:
    """Draw the linear layers in `module` as BERT starts: normal with spread 0.02, biases 0.

    torch's own start is wider the narrower the layer is. The embeddings have their spread of 0.02
    anyway.

    Source: the code of Devlin et al. 2019, which also cuts the normal off at 0.04.
    Chapter: 12_bert_pretraining
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.02)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
