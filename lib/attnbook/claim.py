"""Claims: what the prose says was measured, asserted where it was measured."""

from typing import Any


class ClaimError(AssertionError):
    """A claim that did not hold when it was checked."""


def claim(statement: str, holds: Any) -> None:
    """Print the statement if it holds; stop the chapter if it does not.

    The printed line has no number that was measured, so that it is the same on every machine: the
    statement gives the bound that is asserted, at least half of the margin that was measured.

    Args:
        statement: what is claimed, as a sentence.
        holds: its truth: a bool, or a NumPy or torch scalar of that kind.

    Raises:
        ClaimError: it does not hold.
        TypeError: `holds` is not a truth value (a number would always be one).

    Chapter: 04_self_attention
    """
    truth = holds.item() if hasattr(holds, "item") and getattr(holds, "ndim", 1) == 0 else holds
    if not isinstance(truth, bool):
        raise TypeError(f"holds must be True or False, not {holds!r} ({type(holds).__name__})")
    if not truth:
        raise ClaimError(f"does not hold: {statement}")
    print(f"✓ {statement}")
