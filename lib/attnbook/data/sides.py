"""On which side of a split a document lies: a hash of its name says so, so that it never moves."""

import hashlib

_TRAIN, _VALID = 0.8, 0.9  # a name's hash lies in [0, 1); below the first it is for training


def side(salted: str) -> int:
    """0 for training, 1 for validation, 2 for testing: about 80, 10 and 10 % of all names.

    The first 32 bits of the SHA-256 of `salted`, a salt and the name of a document, are read as
    a fraction between 0 and 1.
    """
    place = int.from_bytes(hashlib.sha256(salted.encode()).digest()[:4], "big") / 2**32
    return (place >= _TRAIN) + (place >= _VALID)
