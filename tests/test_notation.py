"""The worked numbers of book/notation.md are right, in both layouts."""

import re

import numpy as np
import torch
import torch.nn.functional as F

from toc import ROOT


def matrices() -> list[np.ndarray]:
    """Every bmatrix of the page, in order."""
    page = (ROOT / "book/notation.md").read_text(encoding="utf-8")
    return [
        np.array([[float(x) for x in row.split("&")] for row in body.split(r"\\")])
        for body in re.findall(r"\\begin\{bmatrix\}(.*?)\\end\{bmatrix\}", page, re.DOTALL)
    ]


def test_both_layouts_show_what_torch_computes():
    q, k, v, scores, weights, output, *columns = matrices()
    assert (q.shape, k.shape, v.shape) == ((2, 4), (3, 4), (3, 2))
    expected = F.scaled_dot_product_attention(*(torch.tensor(m)[None] for m in (q, k, v)))[0]
    exact = torch.tensor(q @ k.T / 2).softmax(-1).numpy()
    np.testing.assert_array_equal(scores, q @ k.T / 2)
    np.testing.assert_allclose(weights, exact, atol=5e-4, rtol=0)
    np.testing.assert_allclose(output, expected.numpy(), atol=5e-4, rtol=0)
    assert len(columns) == 3
    for column, row in zip(columns, (scores, weights, output), strict=True):
        np.testing.assert_array_equal(column, row.T)
    page = (ROOT / "book/notation.md").read_text(encoding="utf-8")
    for a, b in output:
        assert f"({a:.3f}, {b:.3f})" in page
