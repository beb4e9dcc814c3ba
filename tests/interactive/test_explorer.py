import html
import json
import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import torch

from attnbook.interactive.explorer import positions_explorer
from attnbook.positions import RotaryPositions, sinusoidal


def rows(figure):
    still = figure.data.partition('<div class="still">')[2].partition("<script>")[0]
    found = re.findall(r'<tr><th scope="row">(\d+)</th><td>(.*?)</td></tr>', still)
    return {int(n): float(shown.replace("−", "-")) for n, shown in found}


@pytest.mark.parametrize(("d", "base"), [(2, 10.0), (6, 10_000.0), (64, 500.0)])
def test_the_still_table_shows_the_dot_products_of_the_library(d, base):
    table = sinusoidal(40, d, base)
    shown = rows(positions_explorer(d, base, length=20))
    assert list(shown) == [0, 1, 2, 4, 8, 16]
    for n, product in shown.items():
        # Anywhere, not at the start alone.
        assert product == pytest.approx((table[17 + n] @ table[17]).item(), abs=6e-4)

    shown = rows(positions_explorer(d, base, kind="rotary", length=20))
    ones = torch.tensor([1.0, 0.0]).repeat(1, 1, 1, d // 2)
    rotate = RotaryPositions(d, base)
    for n, product in shown.items():
        q, k = rotate(ones, torch.tensor([17 + n])), rotate(ones, torch.tensor([17]))
        assert product == pytest.approx((q * k).sum().item(), abs=6e-4)


def test_the_still_picture_is_the_curve_with_its_alternative_text():
    figure = positions_explorer(6, 100.0, length=20)
    picture, alt = re.search(r'<img src="([^"]*)" width="560" alt="([^"]*)">', figure.data).groups()
    assert len(alt) >= 40
    assert "sinusoidal" in alt
    svg = ElementTree.fromstring(unquote(picture.removeprefix("data:image/svg+xml,")))
    points = svg.find("{*}polyline").get("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert len(points) == 2 * 20 - 1
    table = sinusoidal(20, 6, 100.0)
    products = table @ table[0]
    # Pixels are a linear map of the products, larger ones higher up; distance 0 in the middle.
    right = torch.tensor(heights[19:])
    slope = (right[0] - right[7]) / (products[0] - products[7])
    wanted = right[0] + slope * (products - products[0])
    torch.testing.assert_close(right, wanted, atol=0.3, rtol=0)
    assert slope < 0
    assert heights == heights[::-1]


def test_the_script_starts_from_what_is_given():
    figure = positions_explorer(8, 50.0, kind="rotary", query=3, key=5, length=32)
    start = json.loads(html.unescape(re.search(r'data-start="([^"]*)"', figure.data)[1]))
    wanted = {"d": 8, "base": 50.0, "kind": "rotary", "query": 3, "key": 5, "length": 32}
    assert start == wanted
    assert repr(figure).startswith(
        "Rotary positions, 8 numbers, base 50\ndistance  dot product\n0 "
    )


def test_a_second_run_gives_the_same_bytes_of_less_than_40_kB():
    first, second = (positions_explorer(64, length=512) for _ in range(2))
    assert first.data == second.data
    assert repr(first) == repr(second)
    assert len(first.data.encode()) < 40_000
    assert not re.search(r"\bid=", first.data)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"d_head": 7}, "d_head must be even, two coordinates a turn, not 7"),
        ({"d_head": 66}, "d_head must be at most 64, not 66"),
        ({"d_head": 0}, "d_head must be at least 1, not 0"),
        ({"base": 1.0}, "base must be above 1, not 1.0"),
        ({"base": float("inf")}, "base must be finite, not inf"),
        ({"kind": "learned"}, "kind must be one of 'sinusoidal', 'rotary', not 'learned'"),
        ({"query": 64}, "query must be below length = 64, not 64"),
        ({"key": 20, "length": 20}, "key must be below length = 20, not 20"),
        ({"key": -1}, "key must be at least 0, not -1"),
        ({"length": 1}, "length must be 2 … 512, not 1"),
        ({"length": 513}, "length must be 2 … 512, not 513"),
    ],
)
def test_refused(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        positions_explorer(**wrong)
