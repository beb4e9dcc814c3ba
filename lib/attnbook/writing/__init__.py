"""The next character of Shakespeare: the task of the chapter on GPT.

Chapter 14 explains it. What the chapter and the longer trainings share is here, so that their
numbers compare: the same characters, windows and score. `attnbook.writing.settings` holds the two
trainings that are compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.data import shakespeare
from attnbook.objectives.labels import mean_nll, summed_nll
from attnbook.objectives.next_token import next_tokens
from attnbook.tokenization.characters import character_tokenizer
from attnbook.tokenization.tokenizer import Tokenizer

VOCAB_SIZE = 88  # the characters of the training works, and four special tokens


@dataclass(frozen=True)
class Writing:
    """The task: each side as one long row of character ids.

    Args:
        tokenizer: of the characters of the training works.
        train, valid, test: the ids of all works of that side, one after the other.

    Chapter: 14_gpt
    """

    tokenizer: Tokenizer
    train: Int[Tensor, " N"]
    valid: Int[Tensor, " M"]
    test: Int[Tensor, " K"]

    @property
    def bos(self) -> int:
        """The id that stands in front of every window."""
        return self.tokenizer.vocab["[BOS]"]


def load() -> Writing:
    """The task on `shakespeare`, whole works on one side.

    Chapter: 14_gpt
    """
    sides = shakespeare.split(shakespeare.load())
    texts = ["\n\n".join(work.text for work in side) for side in sides]
    tokenizer = character_tokenizer(texts[:1])
    ids = (tokenizer([text], add_special_tokens=False)["input_ids"][0] for text in texts)
    return Writing(tokenizer, *ids)


class RandomWindows:
    """Batches of windows from random places of a text: `bos`, then T characters in a row.

    Each time it is gone through, the same `steps` batches come, so that a training can be resumed.

    Args:
        ids: the text, (N,).
        bos: what stands in front of each window.
        B, T: windows a batch, characters a window.
        steps: number of batches.
        seed: of the places.

    Raises:
        ValueError: a size below 1, or a text of fewer than T characters.

    Chapter: 14_gpt
    """

    def __init__(
        self, ids: Int[Tensor, " N"], bos: int, *, B: int, T: int, steps: int, seed: int
    ) -> None:
        checks.positive(B=B, T=T, steps=steps)
        if len(ids) < T:
            raise ValueError(f"ids must hold at least T = {T} characters, not {len(ids)}")
        self.ids, self.bos, self.B, self.T, self.steps, self.seed = ids, bos, B, T, steps, seed

    def __iter__(self) -> Iterator[Int[Tensor, "B L"]]:
        draws = torch.Generator().manual_seed(self.seed)
        for _ in range(self.steps):
            first = torch.randint(len(self.ids) - self.T + 1, (self.B, 1), generator=draws)
            window = self.ids[first + torch.arange(self.T)]  # (B, T)
            yield with_bos(window, self.bos)


def with_bos(ids: Int[Tensor, "B T"], bos: int) -> Int[Tensor, "B L"]:
    """The start token in front of each row, (B, T) -> (B, T + 1).

    Chapter: 14_gpt
    """
    return torch.cat([ids.new_full((len(ids), 1), bos), ids], dim=1)


def whole_text(ids: Int[Tensor, " N"], bos: int, *, B: int, T: int) -> list[Int[Tensor, "B L"]]:
    """The whole text in windows, one after the other: each character is asked for once.

    The first character of a window has `bos` alone before it. What is left at the end is a shorter
    window of its own.

    Raises:
        ValueError: a size below 1, or a text without a character.

    Chapter: 14_gpt
    """
    checks.positive(B=B, T=T, N=len(ids))
    n = len(ids) // T
    batches = list(ids[: n * T].view(n, T).split(B)) if n else []
    rest = ids[n * T :]
    return [with_bos(rows, bos) for rows in [*batches, *([rest[None]] if len(rest) else [])]]


def character_loss(model: nn.Module, ids: Int[Tensor, "B L"]) -> Float[Tensor, ""]:
    """The mean cross-entropy of the next characters, for `train`.

    Chapter: 14_gpt
    """
    inputs, labels = next_tokens(ids)  # (B, T + 1) -> (B, T) each
    return mean_nll(model(inputs)[0], labels)


def character_nll(model: nn.Module, ids: Int[Tensor, "B L"]) -> tuple[Tensor, Tensor]:
    """The same as a sum and a count, for `evaluate`.

    Chapter: 14_gpt
    """
    inputs, labels = next_tokens(ids)
    return summed_nll(model(inputs)[0], labels)
