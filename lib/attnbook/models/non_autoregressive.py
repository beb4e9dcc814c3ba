"""A Transformer that writes all places at once: its decoder is fed with start tokens alone."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks, masks
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig


class LengthPredictor(nn.Module):
    """How long the target is, from the mean of the memory: one of the lengths 1 … max_len.

    Args:
        d_model: width D.
        max_len: the longest length.

    Raises:
        ValueError: a size below 1.

    Source: Gu et al. 2018 predict how often each source token is copied, which sums to a length;
        Lee et al. 2018 predict the length itself.
    Chapter: 09_decoder
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        checks.positive(d_model=d_model, max_len=max_len)
        self.lengths = nn.Linear(d_model, max_len)

    def forward(
        self, memory: Float[Tensor, "B S D"], source_mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B L"]:
        """memory (B, S, D) -> logits (B, max_len), the entry n - 1 for a target of n tokens.

        Args:
            memory: the encoder's output.
            source_mask: the source's real tokens, broadcasts to (B, 1, S): the mean is over these.

        Raises:
            TypeError: a mask that is not boolean.
            ValueError: shapes that do not fit.
        """
        checks.activations("memory", memory, self.lengths.weight, ndim=3)
        B, S, _ = memory.shape
        if source_mask is None:
            return self.lengths(memory.mean(dim=1))
        checks.mask(source_mask, (B, 1, S), name="source_mask")
        real = source_mask.expand(B, 1, S)[:, 0, :, None]  # (B, S, 1)
        mean = memory.masked_fill(~real, 0).sum(dim=1) / real.sum(dim=1).clamp(min=1)  # (B, D)
        return self.lengths(mean)


class NonAutoregressive(nn.Module):
    """A `Seq2Seq` whose decoder is fed with start tokens alone, without a causal mask.

    All places are written in one pass, and none knows what the others write. What tells them apart
    is the vector of their place, so that the positions must be of a kind that is added: rotary ones
    turn queries and keys, but the values, which are all alike, stay.

    Args:
        config: of the `Seq2Seq`.
        bos: the start token.

    Attributes:
        seq2seq: the two stacks.
        predictor: the `LengthPredictor`.

    Raises:
        TypeError: a bos that is no int.
        ValueError: a bos outside the target's vocabulary, or positions that are not added.

    Source: Gu et al. 2018, whose decoder gets copies of the source in place of start tokens.
    Chapter: 09_decoder
    """

    def __init__(self, config: Seq2SeqConfig, bos: int) -> None:
        super().__init__()
        checks.not_negative(bos=bos)
        if bos >= config.target_vocab_size:
            raise ValueError(f"bos must lie in 0 … {config.target_vocab_size - 1}, not {bos}")
        checks.choice("positions", config.positions, ("sinusoidal", "learned"))
        self.config, self.bos = config, bos
        self.seq2seq = Seq2Seq(config)
        self.predictor = LengthPredictor(config.d_model, config.max_len)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        lengths: Int[Tensor, " B"] | None = None,
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B L"]]:
        """source (B, S) -> the logits (B, T, V) of all places, and those of the lengths.

        Args:
            source: token ids.
            lengths: of the targets, (B,): the right ones in training; the most probable ones, by
                the predictor, unless given.
            source_mask: the source's real tokens, as `Seq2Seq.forward`.

        Returns:
            Logits (B, T, V), T the largest of the lengths: those at t are for the t-th token
            itself, and mean nothing behind a row's length. And the length logits (B, max_len).

        Raises:
            TypeError: ids or lengths that are not integers, a mask that is not boolean.
            ValueError: a source without a token, an id outside its vocabulary, a length outside
                1 … max_len, or shapes that do not fit.
        """
        memory = self.seq2seq.encode(source, source_mask)  # (B, S, D)
        if not source.numel():
            raise ValueError(f"source must have a token a row, not {checks.shape(source)}")
        length_logits = self.predictor(memory, source_mask)  # (B, max_len)
        if lengths is None:
            lengths = length_logits.argmax(dim=-1) + 1  # (B,)
        checks.ids("lengths", lengths, self.config.max_len + 1)
        lengths = lengths.long()  # torch has no minimum for some of the narrow kinds
        if lengths.shape != source.shape[:1] or int(lengths.min()) < 1:
            raise ValueError(f"lengths must be at least 1, one a source, not {lengths.tolist()}")
        T = int(lengths.max())
        starts = torch.full((len(source), T), self.bos, device=source.device)
        real = masks.padding(lengths, T)  # (B, 1, T)
        x, _, _ = self.seq2seq.decoder(starts, memory, real, source_mask)
        return self.seq2seq.output(x), length_logits  # (B, T, D) -> (B, T, V)
