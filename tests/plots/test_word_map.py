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


def test_a_word_covers_no_point_and_no_other_word():
    crowd = np.random.default_rng(3).normal(size=(40, 2))
    words = [f"word{i}" for i in range(40)]
    fig, ax = word_map({"a": (crowd[:17], words[:17]), "b": (crowd[17:], words[17:])}, **AXES)
    boxes = [t.get_window_extent() for t in ax.texts if t.get_visible()]
    assert 20 < len(boxes) < 40  # some are left out, and not more than must be
    assert sum(len(line.get_xdata()) for line in ax.lines) == 40  # their points are drawn
    assert not any(box.count_overlaps(boxes[:i]) for i, box in enumerate(boxes))
    assert min(box.x0 for box in boxes) >= ax.bbox.x0  # none over the axis
    reach = 1.9 * fig.dpi / 72  # of a marker, in pixels
    for box in boxes:
        x, y = ax.transData.transform(crowd).T
        inside = (x > box.x0 - reach) & (x < box.x1 + reach)
        assert not (inside & (y > box.y0 - reach) & (y < box.y1 + reach)).any()


def test_a_word_gives_way_to_the_other_side():
    points, words = [[0, 0], [3, 0], [3.1, 0], [6, 6]], ["zero", "first", "second", "far"]
    _, ax = word_map({"a": (points, words)}, **AXES)
    assert [t.get_visible() for t in ax.texts] == [True] * 4
    assert [t.get_ha() for t in ax.texts] == ["left", "right", "left", "left"]


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
