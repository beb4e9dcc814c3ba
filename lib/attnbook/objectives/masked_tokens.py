"""Masked tokens: some tokens are hidden, and the model is asked for them from both sides."""

from collections.abc import Collection

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnbook import checks
from attnbook.objectives.chosen import choose
from attnbook.objectives.labels import IGNORE

_MASK, _RANDOM = 0.8, 0.1  # shares of the chosen tokens; the rest stays as it is


def mask_tokens(
    ids: Int[Tensor, "B L"],
    real: Bool[Tensor, "B L"] | None = None,
    *,
    mask_id: int,
    special_ids: Collection[int],
    vocab_size: int,
    share: float = 0.15,
    generator: torch.Generator,
) -> tuple[Int[Tensor, "B L"], Int[Tensor, "B L"]]:
    """Choose 15 % of the tokens, ask for them, and hide most of them.

    Of the chosen tokens, 80 % become the mask token, 10 % a random token and 10 % stay as they
    are, each by its own draw: since any token may be a wrong one, the model needs a good vector of
    every place. The loss, `mean_nll(logits, labels)`, is over the chosen alone. Draw anew for each
    epoch, so that other tokens are hidden.

    Args:
        ids: token ids, shape (B, L); left as they are.
        real: True at a real token, False at padding. Needed unless the id of padding is special.
        mask_id: the token that hides; always special.
        special_ids: tokens that are neither chosen nor put in at random, such as [CLS], [SEP],
            [PAD] and [UNK].
        vocab_size: number of tokens V. A random token is any of them that is not special, and so
            once in a while the right one.
        share: how many of the real, non-special tokens are chosen, 0 < share < 1; rounded, and at
            least one in each row that has any.
        generator: where the draws come from; see `choose`.

    Returns:
        inputs: the ids with the chosen ones replaced, shape (B, L).
        labels: the ids of the chosen tokens, `IGNORE` everywhere else, shape (B, L).

    Raises:
        TypeError: ids that are not integers, a `real` that is not boolean, no generator.
        ValueError: shapes that do not fit, an id outside 0 … V - 1, a share outside its range, or
            a vocabulary of special tokens alone.

    Source: Devlin et al. 2019 (BERT), section 3.1; drawn anew: Liu et al. 2019, section 4.1.
    Chapter: 12_bert_pretraining
    """
    checks.positive(vocab_size=vocab_size)
    checks.ids("ids", ids, vocab_size)
    special = torch.tensor(sorted({mask_id, *special_ids}), device=ids.device)
    checks.ids("mask_id and special_ids", special, vocab_size)
    ids = ids.long()
    eligible = ~torch.isin(ids, special)  # (B, L)
    if real is not None:
        checks.boolean("real", real)
        checks.same_shape("real", real, "ids", ids)
        eligible = eligible & real
    chosen = choose(eligible, share, generator=generator)  # (B, L)

    fate = torch.rand(ids.shape, generator=generator, device=generator.device).to(ids.device)
    inputs = ids.masked_fill(chosen & (fate < _MASK), mask_id)
    randomised = chosen & (fate >= _MASK) & (fate < _MASK + _RANDOM)
    inputs = torch.where(randomised, _random_tokens(ids, special, vocab_size, generator), inputs)
    return inputs, ids.masked_fill(~chosen, IGNORE)


def _random_tokens(
    ids: Tensor, special: Tensor, vocab_size: int, generator: torch.Generator
) -> Tensor:
    """A token that is not special for each entry of ids."""
    ordinary = torch.ones(vocab_size, dtype=torch.bool, device=ids.device)
    ordinary[special] = False
    (ordinary,) = ordinary.nonzero(as_tuple=True)  # (V,) flags -> (V - number of special,) ids
    if not len(ordinary):
        raise ValueError(f"special_ids must leave a token, but all {vocab_size} are special")
    drawn = torch.randint(
        len(ordinary), ids.shape, generator=generator, device=generator.device
    )  # (B, L)
    return ordinary[drawn.to(ids.device)]
