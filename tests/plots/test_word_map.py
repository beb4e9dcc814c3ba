import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attnbook.plots.word_map import word_map


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


AXES = {"xlabel": "first", "ylabel": "second"}
POINTS = [[0.0, 1.0], [2.0, 3.0], [4.0, -5.0]]


@pytest.mark.parametrize("kind", [list, np.array, lambda x: torch.tensor(x, requires_grad=True)])
def test_each_word_stands_at_its_point(kind):
    fig, ax = word_map({"a": (kind(POINTS), ["x", "$y", "w"]), "b": ([[7, 8]], ["z"])}, **AXES)
    assert fig is ax.figure
    assert np.allclose(ax.lines[0].get_xydata(), POINTS)
    assert np.allclose(ax.lines[1].get_xydata(), [[7, 8]])
    assert {t.get_text(): tuple(t.xy) for t in ax.texts} == {
        "x": (0, 1),
        "$y": (2, 3),
        "w": (4, -5),
        "z": (7, 8),
    }
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("first", "second")
    assert not any(t.get_parse_math() for t in ax.texts)  # a dollar is no formula


def test_groups_differ_by_more_than_colour():
    _, ax = word_map({name: ([[i, i]], [name]) for i, name in enumerate("abc")}, **AXES)
    for what in ("get_marker", "get_color"):
        assert len({getattr(line, what)() for line in ax.lines}) == 3
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "c"]


def test_a_word_is_not_written_over_an_earlier_one():
    points = [[0, 0], [0.001, 0], [5, 5]]
    _, ax = word_map({"a": (points, ["first", "second", "far"])}, **AXES)
    assert {t.get_text() for t in ax.texts if t.get_visible()} == {"first", "far"}
    assert len(ax.lines[0].get_xdata()) == 3


def test_both_axes_have_one_scale_and_can_be_given():
    _, given = plt.subplots()
    _, ax = word_map({"a": (POINTS, "xyz")}, **AXES, ax=given)
    assert ax is given
    assert ax.get_aspect() == 1


def test_what_does_not_fit_is_refused(plain):
    with pytest.raises(ValueError, match=r"points of a must have the shape \(2, 2\), not \(3, 2\)"):
        word_map({"a": (POINTS, "xy")}, **AXES)
    with pytest.raises(ValueError, match=r"shape \(1, 2\), not \(1, 3\)"):
        word_map({"a": ([[1, 2, 3]], "x")}, **AXES)
    with pytest.raises(ValueError, match="at least one group"):
        word_map({}, **AXES)
