"""Few labels: the choice, and logistic regression against scikit-learn's."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from attnbook.few_labels import choose_few, linear_probe

LABELS = torch.tensor([2, 0, 1, 1, 2, 0, 0, 2, 1, 2, 1])


def test_so_many_of_each_class_and_those_of_fewer_are_among_them():
    few, more = (choose_few(LABELS, n, seed=4) for n in (1, 3))
    assert LABELS[few].tolist() == [0, 1, 2]
    assert LABELS[more].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len(set(more.tolist())) == 9
    assert set(few.tolist()) < set(more.tolist())


def test_the_seed_decides():
    draws = [tuple(choose_few(LABELS, 1, seed=seed).tolist()) for seed in (*range(20), 0)]
    assert draws[0] == draws[-1]
    assert len(set(draws)) > 5


@pytest.mark.parametrize("n", [0, 4])
def test_more_than_a_class_has_is_refused(n):
    with pytest.raises(ValueError, match="n must be"):
        choose_few(LABELS, n, seed=0)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
def test_it_is_logistic_regression(penalty):
    torch.manual_seed(17)
    y, test_y = torch.arange(40) % 4, torch.arange(300) % 4
    centres = torch.randn(4, 5)
    x, test_x = centres[y] + torch.randn(40, 5) + 1, centres[test_y] + torch.randn(300, 5) + 1
    theirs = LogisticRegression(C=1 / penalty, max_iter=1000).fit(x, y).score(test_x, test_y)
    ours = linear_probe((x, y), (test_x, test_y), penalty=penalty)
    assert ours == pytest.approx(theirs, abs=0.004)  # one of 300 on the border
    others = [p for p in (0.1, 1.0, 30.0) if p != penalty]
    assert any(linear_probe((x, y), (test_x, test_y), penalty=p) != ours for p in others)


def test_what_does_not_fit_is_refused(plain):
    good = (torch.rand(4, 3), torch.arange(4) % 2)
    with pytest.raises(ValueError, match="test must be vectors"):
        linear_probe(good, (torch.rand(4, 2), good[1]))
    with pytest.raises(ValueError, match="train must be vectors"):
        linear_probe((good[0], good[1][:3]), good)
    with pytest.raises(ValueError, match="penalty"):
        linear_probe(good, good, penalty=0.0)
    with pytest.raises(TypeError, match="train"):
        linear_probe((good[0].long(), good[1]), good)
