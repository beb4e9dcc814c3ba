"""One step of decoding: the ids so far in, the logits of the next token out.

What the search has to know of a model is here alone, so that `greedy`, `sample` and `beam_search`
run on a `GPT` and on a `Seq2Seq` alike. The cache is inside: a step reads what is new.
"""

from abc import ABC, abstractmethod

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.cache import KeyValueCache
from attnbook.decoding.mode import evaluating
from attnbook.models.gpt import GPT
from attnbook.models.seq2seq import Seq2Seq


class Step(ABC):
    """A model that is asked for the next token, over and over: `start`, then call by call.

    Args:
        model: the model, used in eval mode without gradients.
        vocab_size, max_len: of the model's output and of its longest text.
        real: True at a real token of the prompt, False at the padding on its left, (B, T).
        cached: whether to keep keys and values; without, each call reads all ids again.

    Chapter: 09_decoder
    """

    def __init__(
        self,
        model: nn.Module,
        vocab_size: int,
        max_len: int,
        real: Bool[Tensor, "..."] | None,
        cached: bool,
    ) -> None:
        checks.flag(cached=cached)
        self.model, self.vocab_size, self.max_len = model, vocab_size, max_len
        self.prompt_real, self.cached = real, cached
        self.real: Tensor | None = None
        self.cache: KeyValueCache | None = None

    def start(
        self,
        prompt: Int[Tensor, "B T"],
        max_new: int,
        *,
        eos: int | None = None,
        pad: int | None = None,
    ) -> int:
        """Make ready for `max_new` tokens behind the prompt -> what fills a row behind its end.

        That is the pad, and the eos where there is no pad.

        Raises:
            TypeError: a prompt that is not of integers, a max_new, eos or pad that is no int, a
                `real` that is not boolean.
            ValueError: an empty prompt, more than max_len tokens in all, an id, eos or pad outside
                the vocabulary, a pad without an eos, a `real` of another shape or without a token
                at the end of each row.
        """
        checks.token_ids("prompt", prompt, self.vocab_size, self.max_len)
        checks.positive(max_new=max_new)
        B, T = prompt.shape
        if not prompt.numel():
            raise ValueError(f"prompt must have a token a row, but its shape is ({B}, {T})")
        if T + max_new > self.max_len:
            raise ValueError(
                f"max_new must be at most max_len - T = {self.max_len} - {T}, not {max_new}"
            )
        if self.prompt_real is not None:
            checks.boolean("real", self.prompt_real)
            checks.same_shape("real", self.prompt_real, "prompt", prompt)
            if not bool(self.prompt_real[:, -1].all()):
                raise ValueError("real must be True at the end of each row: pad on the left")
        for name, token in (("eos", eos), ("pad", pad)):
            if token is not None:
                checks.not_negative(**{name: token})
                if token >= self.vocab_size:
                    raise ValueError(f"{name} must lie in 0 … {self.vocab_size - 1}, not {token}")
        if eos is None and pad is not None:
            raise ValueError("pad fills what is behind an eos: give eos, or no pad")
        self.real = self.prompt_real
        with evaluating(self.model):
            self._prepare(B, T + max_new)
        return next((token for token in (pad, eos) if token is not None), 0)

    def __call__(
        self, ids: Int[Tensor, "B T"], rows: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B V"]:
        """The prompt and what was written so far (B, T) -> the logits (B, V) of what comes next.

        Args:
            ids: all of it, the same as at the last call but for the new tokens at the end.
            rows: which row of the last call each row goes on from, where that has changed.

        Raises:
            FloatingPointError: logits with a NaN among them.
        """
        if rows is not None:
            self._select(rows)
        past = 0 if self.cache is None else self.cache.length
        real = self.real
        if real is not None:  # what is written is real
            real = F.pad(real, (0, ids.shape[1] - real.shape[1]), value=True)[:, past:]
        with evaluating(self.model):
            logits = self._logits(ids[:, past:], real)[:, -1]  # (B, T, V) -> (B, V)
        if logits.isnan().any():  # the largest of them would be a token that means nothing
            raise FloatingPointError(f"the model's logits of token {ids.shape[1]} hold NaN")
        return logits

    @abstractmethod
    def _prepare(self, B: int, length: int) -> None:
        """Set aside what B texts of `length` tokens need."""

    @abstractmethod
    def _logits(self, ids: Tensor, real: Tensor | None) -> Tensor:
        """New ids (B, T) -> logits (B, T, V)."""

    def _select(self, rows: Tensor) -> None:
        self.real = None if self.real is None else self.real[rows]
        if self.cache is not None:
            self.cache.select(rows)


class GPTStep(Step):
    """A `Step` of a `GPT`.

    Args:
        model: the GPT.
        real: True at a real token of the prompt, for prompts of different lengths; see
            `attnbook.decoding.rows.left_padded`.
        cached: as `Step`.

    Chapter: 09_decoder
    """

    def __init__(
        self, model: GPT, real: Bool[Tensor, "..."] | None = None, *, cached: bool = True
    ) -> None:
        super().__init__(model, model.config.vocab_size, model.config.max_len, real, cached)

    def _prepare(self, B: int, length: int) -> None:
        self.cache = self.model.cache(B, length) if self.cached else None

    def _logits(self, ids: Tensor, real: Tensor | None) -> Tensor:
        return self.model(ids, real, cache=self.cache)[0]


class Seq2SeqStep(Step):
    """A `Step` of a `Seq2Seq`: what to write about `source`, which is read once.

    Args:
        model: the Seq2Seq.
        source: token ids (B, S), one source a prompt.
        source_mask: as `Seq2Seq.forward`.
        real, cached: as `GPTStep`.

    Chapter: 10_cross_attention
    """

    def __init__(
        self,
        model: Seq2Seq,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "..."] | None = None,
        *,
        real: Bool[Tensor, "..."] | None = None,
        cached: bool = True,
    ) -> None:
        super().__init__(model, model.config.target_vocab_size, model.config.max_len, real, cached)
        self.source, self.source_mask = source, source_mask

    def _prepare(self, B: int, length: int) -> None:
        if len(self.source) != B:
            raise ValueError(f"source must have one row a prompt: {len(self.source)} for {B}")
        self.memory = self.model.encode(self.source, self.source_mask)  # (B, S, D)
        self.mask = self.source_mask
        if self.mask is not None:
            self.mask = self.mask.expand(B, 1, -1)  # one mask may stand for all sources
        self.cache = self.model.cache(self.memory, length) if self.cached else None

    def _logits(self, ids: Tensor, real: Tensor | None) -> Tensor:
        return self.model.decode(ids, self.memory, self.mask, real=real, cache=self.cache)[0]

    def _select(self, rows: Tensor) -> None:
        super()._select(rows)
        self.memory = self.memory[rows]
        self.mask = None if self.mask is None else self.mask[rows]
