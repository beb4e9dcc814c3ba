import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attnbook.plots.pictures import WIDTH, pictures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


IMAGES = np.arange(5 * 4 * 6).reshape(5, 4, 6) / 120


@pytest.mark.parametrize("kind", [np.array, lambda x: torch.tensor(x, requires_grad=True)])
def test_each_image_in_its_place(kind):
    fig, axes = pictures(kind(IMAGES), columns=3, titles=list("ab$de"), lowest=-1.0, highest=2.0)
    assert len(axes) == 5
    assert len(fig.axes) == 6  # two rows of three, the last one empty
    assert fig.get_size_inches()[0] == WIDTH
    for ax, image, title in zip(axes, IMAGES, "ab$de", strict=True):
        (drawn,) = ax.images
        assert np.allclose(drawn.get_array(), image)
        assert drawn.get_clim() == (-1, 2)  # one scale for all
        assert ax.get_title() == title
        assert not ax.title.get_parse_math()
        assert not ax.axison
    assert not fig.axes[5].images


def test_the_borders_of_patches_lie_between_pixels():
    _, (one, two, *_) = pictures(IMAGES, columns=5, cut=[2, 1, 2, 2, 2])
    down, across = one.collections
    assert [line[0, 0] for line in down.get_segments()] == [-0.5, 1.5, 3.5, 5.5]
    assert [line[0, 1] for line in across.get_segments()] == [-0.5, 1.5, 3.5]
    assert len(two.collections[0].get_segments()) == 7
    assert not pictures(IMAGES, columns=5)[1][0].collections


def test_shares_cover_the_image_and_are_stronger_where_there_is_more():
    shares = np.array([[[0.0, 0.1, 0.4], [0.2, 0, 0]]] * 4 + [np.zeros((2, 3))])
    _, axes = pictures(IMAGES, columns=5, shares=torch.tensor(shares))
    over = axes[0].images[1]
    assert over.get_extent() == [-0.5, 5.5, 3.5, -0.5] == axes[0].images[0].get_extent()
    opacity = over.get_array()[..., 3]
    assert np.allclose(opacity, 0.85 * shares[0] / 0.4)
    assert not axes[4].images[1].get_array()[..., 3].any()  # nothing, not NaN


def test_marks_and_the_bar():
    marks = [(0, 5), (1, 4), (2, 3), (3, 2), (3, 1)]
    fig, axes = pictures(IMAGES, columns=5, marks=marks, label="likeness")
    assert [tuple(ax.lines[0].get_xydata()[0]) for ax in axes] == [(c, r) for r, c in marks]
    assert fig.axes[-1].get_xlabel() == "likeness"


def test_bad_input():
    for wrong, message in (
        ({"titles": ["a"]}, "titles must be one for each of 5 images, not 1"),
        ({"cut": [2, 3]}, "cut must be one for each of 5 images, not 2"),
        ({"marks": [(0, 0)] * 6}, "marks must be one for each of 5 images, not 6"),
        ({"shares": np.ones((4, 2, 2))}, "shares must be one for each of 5 images, not 4"),
        ({"columns": 0}, "columns must be at least 1, not 0"),
    ):
        with pytest.raises(ValueError, match=message):
            pictures(IMAGES, **{"columns": 5, **wrong})
    with pytest.raises(ValueError, match=r"\(n, height, width\), not \(4, 6\)"):
        pictures(IMAGES[0], columns=1)
