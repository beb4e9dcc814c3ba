"""The policy gradient: what to follow where the score of a text has no gradient."""

from jaxtyping import Float, Int
from torch import Tensor

from attnbook import checks
from attnbook.objectives.labels import IGNORE


def policy_gradient_loss(
    logits: Float[Tensor, "B T V"],
    drawn: Int[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
) -> Float[Tensor, ""]:
    """A loss whose gradient is, on average over draws, that of the mean score with a minus.

    Each text was drawn from the model itself. Its log-probability is multiplied by its advantage:
    its score less a baseline. Texts that are better than the baseline become more probable, others
    less. The baseline must not depend on the draw; then it changes the mean of the gradient not
    at all, and its variance much. The loss itself says nothing of how good the texts are.

    Args:
        logits: of the drawn texts, read again: shape (B, T, V).
        drawn: their tokens, the end token among them, `IGNORE` behind it; shape (B, T).
        advantages: of each text, shape (B,); no gradient flows into them.

    Returns:
        The mean over the texts, a tensor of one number.

    Raises:
        TypeError: tensors of another kind.
        ValueError: shapes that do not fit, no text, or a token that is none.

    Source: Williams 1992 (REINFORCE); Ranzato et al. 2016 (for texts); Rennie et al. 2017 (the
        score of the most probable text as the baseline).
    Chapter: 11_training
    """
    checks.floating(logits=logits, advantages=advantages)
    checks.integers("drawn", drawn)
    if drawn.ndim != 2 or logits.shape[:-1] != drawn.shape or advantages.shape != drawn.shape[:1]:
        raise ValueError(
            "logits, drawn and advantages must have the shapes (B, T, V), (B, T) and (B,), not "
            f"{checks.shape(logits)}, {checks.shape(drawn)} and {checks.shape(advantages)}"
        )
    if not drawn.numel():
        raise ValueError("drawn must hold a text: a mean of none is NaN")
    real = drawn != IGNORE
    checks.ids("drawn", drawn[real], logits.shape[-1])
    tokens = drawn.long().masked_fill(~real, 0)[..., None]  # (B, T, 1)
    log_p = logits.log_softmax(dim=-1).gather(-1, tokens)[..., 0]  # (B, T)
    log_p = log_p.masked_fill(~real, 0.0).sum(dim=1)  # (B,): of each whole text
    return -(advantages.detach() * log_p).mean()
