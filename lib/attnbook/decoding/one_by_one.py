"""One token after the other: the most probable one, or one that is drawn."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from attnbook import checks
from attnbook.decoding.filters import token_probabilities
from attnbook.decoding.steps import Step


def greedy(
    step: Step,
    prompt: Int[Tensor, "B T"],
    *,
    max_new: int,
    eos: int | None = None,
    pad: int | None = None,
) -> Int[Tensor, "B n"]:
    """The most probable token, again and again.

    Args:
        step: the model, such as `GPTStep(model)`.
        prompt: what the text begins with, (B, T).
        max_new: the largest number of tokens to write.
        eos: the end-of-sequence token, which ends a row; without, each has max_new tokens.
        pad: what fills a row behind its eos; the eos itself unless given.

    Returns:
        The new tokens (B, n), without the prompt and with the eos. n is max_new, or less where
        all rows have ended before.

    Raises:
        TypeError, ValueError: as `Step.start`.

    Chapter: 09_decoder
    """
    return _written(step, prompt, lambda logits: logits.argmax(dim=-1), max_new, eos, pad)


def sample(
    step: Step,
    prompt: Int[Tensor, "B T"],
    *,
    max_new: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    pad: int | None = None,
) -> Int[Tensor, "B n"]:
    """A token drawn from the model's distribution, again and again.

    Args:
        step, prompt, max_new, eos, pad: as `greedy`.
        generator: the source of the draws: the same seed gives the same text.
        temperature, top_k, top_p: as `token_probabilities`.

    Returns:
        As `greedy`.

    Raises:
        TypeError, ValueError: as `greedy` and `token_probabilities`; a generator that is none.

    Chapter: 09_decoder
    """
    checks.generator(generator)
    shape = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    token_probabilities(torch.zeros(1), **shape)  # refuses what it cannot use before any work

    def draw(logits: Tensor) -> Tensor:
        p = token_probabilities(logits, **shape).to(generator.device)  # (B, V)
        return torch.multinomial(p, 1, generator=generator)[:, 0].to(logits.device)  # (B,)

    return _written(step, prompt, draw, max_new, eos, pad)


def _written(
    step: Step,
    prompt: Tensor,
    choose: Callable[[Tensor], Tensor],
    max_new: int,
    eos: int | None,
    pad: int | None,
) -> Tensor:
    pad = step.start(prompt, max_new, eos=eos, pad=pad)
    ids, ended = prompt.long(), torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    for _ in range(max_new):
        token = choose(step(ids)).masked_fill(ended, pad)  # (B,)
        ids = torch.cat([ids, token[:, None]], dim=1)
        ended = ended | (token == eos)
        if ended.all():
            break
    return ids[:, prompt.shape[1] :]
