"""The side of a name is what the book says, and never moves."""

import hashlib

import pytest

from attnbook.data.sides import side


def test_about_eight_of_ten_names_are_for_training():
    counts = [0, 0, 0]
    for i in range(10_000):
        counts[side(f"any:{i}")] += 1
    assert abs(counts[0] - 8000) < 120  # three standard deviations
    assert abs(counts[1] - 1000) < 90
    assert abs(counts[2] - 1000) < 90


@pytest.mark.parametrize("name", ["176:FC-001", "176:FC-012", "176:FC-R004", "28:1981-Carter"])
def test_the_hash_is_the_one_that_the_book_describes(name):
    place = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 2**32
    assert side(name) == (0 if place < 0.8 else 1 if place < 0.9 else 2)


def test_the_sides_of_four_names():
    names = ("176:FC-001", "176:FC-012", "176:FC-R004", "28:1981-Carter")
    assert [side(name) for name in names] == [0, 1, 2, 2]
