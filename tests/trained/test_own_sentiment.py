"""The comparison of our own checkpoint: which rate is taken, and what is kept."""

import pytest

from attnbook import trained
from attnbook.trained import own_sentiment


def test_it_knows_its_starts_and_sizes():
    with pytest.raises(ValueError, match="'own', 'own sizes, random', not 'other'"):
        own_sentiment.fine_tuned("other", 100, 1e-3)
    with pytest.raises(KeyError, match="200"):
        own_sentiment.fine_tuned("own", 200, 1e-3)


def test_the_rate_is_chosen_by_the_validation_side_and_the_test_side_is_kept(monkeypatch):
    asked = []

    def made_up(start, n, lr):
        asked.append((start, n, lr))
        best = {"own": 1e-3, "own sizes, random": 3e-3}[start]
        return 1 - abs(lr - best), n / 1e5 + lr  # on the test side the largest rate is best

    monkeypatch.setattr(own_sentiment, "fine_tuned", made_up)
    kept = own_sentiment.RECIPE.run()
    assert kept["rates"] == {"own": 1e-3, "own sizes, random": 3e-3}
    wanted = [("own", n, n / 1e5 + 1e-3) for n in (100, 400, 1600, 8000)]
    wanted += [("own sizes, random", n, n / 1e5 + 3e-3) for n in (100, 400, 1600, 8000)]
    assert [tuple(row.values()) for row in kept["rows"]] == wanted
    assert {n for _, n, lr in asked if lr == 3e-4} == {400}


def test_a_kept_row_computed_again():
    kept = trained.about(own_sentiment.RECIPE)["results"]
    (row,) = [r for r in kept["rows"] if (r["start"], r["labels"]) == ("own", 100)]
    _, accuracy = own_sentiment.fine_tuned("own", 100, kept["rates"]["own"])
    assert accuracy == pytest.approx(row["accuracy"], abs=0.02)
