"""Beam search: several texts grow side by side, and the most probable whole text wins."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnbook import checks
from attnbook.decoding.steps import Step


def beam_search(
    step: Step,
    prompt: Int[Tensor, "B T"],
    *,
    max_new: int,
    beams: int,
    alpha: float = 1.0,
    eos: int | None = None,
    pad: int | None = None,
) -> tuple[Int[Tensor, "B K n"], Float[Tensor, "B K"]]:
    """The K = `beams` best texts that a search along K beams finds for each prompt.

    Each step looks at all continuations of the beams. One that ends in eos and is among the K best
    is finished; the K best that do not end go on. The search of a row is over when it has K
    finished texts, or at max_new tokens, where what is still growing counts as finished.

    A text of n tokens (its eos counts) has the score log p / n**alpha: the sum of the logarithms of
    its tokens' probabilities, over its length to the power of alpha. With alpha = 0 short texts
    win, whose products have few factors; alpha = 1 is the mean over the tokens. (Wu et al. divide
    by ((5 + n) / 6)**alpha instead, which tells short lengths apart less.)

    Args:
        step, prompt, max_new, eos, pad: as `attnbook.decoding.one_by_one.greedy`.
        beams: number K of beams and of texts. 1 is greedy.
        alpha: strength of the length normalisation, at least 0.

    Returns:
        The new tokens (B, K, n), the best text of each prompt first, each with its eos and then
        pad; and the scores (B, K). Where there are fewer than K texts the rest has the score -inf.

    Raises:
        TypeError, ValueError: as `Step.start`; beams below 1, a negative alpha.

    Source: Wu et al. 2016, section 7 (length normalisation, stopping); Graves 2012 (beam search).
    Chapter: 09_decoder
    """
    checks.positive(beams=beams)
    checks.factor(alpha=alpha)
    pad = step.start(prompt, max_new, eos=eos, pad=pad)
    B, T = prompt.shape
    first = torch.arange(B, device=prompt.device)[:, None]  # (B, 1): the rows of a sequence start
    ids, log_p, rows = prompt.long(), prompt.new_zeros(B, 1).double(), None
    texts = torch.full((B, beams, max_new), pad, device=prompt.device)
    scores = torch.full((B, beams), -math.inf, device=prompt.device).double()

    for n in range(1, max_new + 1):
        width = log_p.shape[1]  # beams that grow: 1 at first, at most K
        logits = step(ids, rows).double()  # (B * width, V)
        V = logits.shape[-1]
        grown = log_p[..., None] + logits.log_softmax(dim=-1).view(B, width, V)
        grown = grown.flatten(1)  # (B, width * V)

        # What ends here, if it is good enough, and if its row is still looking.
        best, chosen = grown.topk(min(beams, width * V), dim=1)
        ends = torch.full_like(chosen, n == max_new, dtype=torch.bool)
        ends = ends if eos is None else ends | (chosen % V == eos)
        ends = ends & (scores == -math.inf).any(dim=1, keepdim=True)
        new = _continued(ids, chosen, width, V)[..., T:]  # (B, <= K, n)
        new = torch.cat([new, new.new_full((*new.shape[:2], max_new - n), pad)], dim=2)
        texts = torch.cat([texts, new], dim=1)  # (B, <= 2 K, max_new)
        scores = torch.cat([scores, (best / n**alpha).masked_fill(~ends, -math.inf)], dim=1)
        scores, order = scores.topk(beams, dim=1)
        texts = texts.take_along_dim(order[..., None], dim=1)  # (B, K, max_new)
        if n == max_new or bool((scores > -math.inf).all()):
            break

        # What goes on.
        if eos is not None:
            grown = grown.view(B, width, V)
            grown[..., eos] = -math.inf
            grown = grown.flatten(1)
        log_p, chosen = grown.topk(min(beams, width * (V - (eos is not None))), dim=1)
        if not chosen.numel():
            break
        ids = _continued(ids, chosen, width, V).flatten(0, 1)  # (B * width, T + n)
        rows = (first * width + chosen // V).flatten()
    return texts[..., :n].masked_fill((scores == -math.inf)[..., None], pad), scores


def _continued(ids: Tensor, chosen: Tensor, width: int, V: int) -> Tensor:
    """The parents of the chosen (B, K) of width * V continuations, each with its new token."""
    parents = ids.unflatten(0, (-1, width)).take_along_dim((chosen // V)[..., None], dim=1)
    return torch.cat([parents, (chosen % V)[..., None]], dim=2)  # (B, K, T + n)
