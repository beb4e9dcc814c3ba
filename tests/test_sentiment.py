"""Sentences become batches, and answers are counted."""

import math

import pytest
import torch
from torch import nn

from attnbook import sentiment
from attnbook.data.movies import Snippet
from attnbook.models.bert import Bert, BertConfig
from attnbook.tokenization.subwords import wordpiece_tokenizer
from attnbook.trained import sentiment as experiment
from attnbook.trained import small_batches

WORDS = ["a", "good", "bad", "film", "very"]
SNIPPETS = [
    Snippet("very good film", 2.0),
    Snippet("bad", -1.5),
    Snippet("a bad film", -0.6),
    Snippet("good", 0.7),
    Snippet("a very very bad film", -3.0),
]


@pytest.fixture
def tokenizer():
    return wordpiece_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])


def test_each_sentence_is_in_one_batch_with_its_label(tokenizer):
    batches = sentiment.review_batches(SNIPPETS, tokenizer, rows=2, seed=1)
    read = {
        tokenizer.decode(ids[real]): int(label)
        for batch in batches
        for ids, real, label in zip(*batch, strict=True)
    }
    assert read == {s.text: int(s.score > 0) for s in SNIPPETS}
    assert sorted(len(batch.labels) for batch in batches) == [1, 2, 2]
    # Of like length: the two single words are together, without padding.
    (short,) = [batch for batch in batches if batch.ids.shape[1] == 3]
    assert short.real.all()
    assert len(short.labels) == 2


def test_the_order_follows_from_the_seed(tokenizer):
    def order(seed):
        batches = sentiment.review_batches(SNIPPETS, tokenizer, rows=1, seed=seed)
        return [tokenizer.decode(batch.ids[0]) for batch in batches]

    assert order(3) == order(3)
    assert len({tuple(order(seed)) for seed in range(5)}) > 1


def test_nothing_to_read(tokenizer):
    with pytest.raises(ValueError, match="at least one"):
        sentiment.review_batches([], tokenizer)
    with pytest.raises(ValueError, match="rows"):
        sentiment.review_batches(SNIPPETS, tokenizer, rows=0)


def test_drawn_without_putting_back_and_the_same_again():
    drawn = sentiment.draw_snippets(SNIPPETS, 3, seed=2)
    assert drawn == sentiment.draw_snippets(SNIPPETS, 3, seed=2)
    assert len(set(drawn)) == 3
    every = sentiment.draw_snippets(SNIPPETS, 5, seed=2)
    assert sorted(every, key=str) == sorted(SNIPPETS, key=str)
    with pytest.raises(ValueError, match="at most the 5"):
        sentiment.draw_snippets(SNIPPETS, 6, seed=0)


class Fixed(nn.Module):
    """Says "positive" with odds of 3 to 1 where the first real word has an even id."""

    def forward(self, ids, real):
        assert real[:, 1].all()
        even = ids[:, 1] % 2 == 0
        return torch.where(even[:, None], torch.tensor([0, math.log(3)]), torch.tensor([0.0, 0]))


def test_loss_and_score_by_hand():
    ids = torch.tensor([[2, 6, 3], [2, 8, 3], [2, 5, 3], [2, 8, 3]])
    batch = sentiment.Reviews(ids, ids > 0, torch.tensor([1, 0, 0, 1]))
    # Right with 3/4, wrong with 1/4 left for the right answer, undecided with 1/2.
    expected = -(2 * math.log(0.75) + math.log(0.25) + math.log(0.5)) / 4
    assert sentiment.review_loss(Fixed(), batch).item() == pytest.approx(expected, abs=1e-6)
    right, n = sentiment.right_reviews(Fixed(), batch)
    assert (int(right), n) == (3, 4)  # the least likely answers would give 2


def test_fine_tuning_learns_what_a_word_says(tokenizer):
    torch.manual_seed(0)
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 1, "max_len": 9, "dropout": 0.0}
    bert = Bert(BertConfig(vocab_size=len(WORDS) + 5, **sizes))
    model = sentiment.fine_tune(bert, SNIPPETS, tokenizer, epochs=60, lr=0.02, seed=3)
    assert model.bert is bert
    assert sentiment.share_right(model, SNIPPETS, tokenizer) == 1
    twisted = [Snippet(SNIPPETS[0].text, -1.0), *SNIPPETS[1:]]
    assert sentiment.share_right(model, twisted, tokenizer) == pytest.approx(0.8)


def test_the_experiment_knows_its_starts():
    with pytest.raises(ValueError, match="pretrained, random"):
        experiment.fine_tuned("middle", 100, 1, 0)


def test_the_experiment_keeps_a_row_a_run(monkeypatch):
    monkeypatch.setattr(experiment, "fine_tuned", lambda start, n, epochs, seed: n / 1e5)
    rows = experiment.RECIPE.run()["rows"]
    assert [(r["start"], r["labels"], r["epochs"], r["seed"]) for r in rows] == list(
        experiment.RUNS
    )
    assert [r["accuracy"] for r in rows] == [run[1] / 1e5 for run in experiment.RUNS]


def test_small_batches_take_more_steps(tokenizer, monkeypatch):
    steps = []
    monkeypatch.setattr(sentiment, "train", lambda *_, **settings: steps.append(settings["steps"]))
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 1, "max_len": 9}
    bert = Bert(BertConfig(vocab_size=len(WORDS) + 5, **sizes))
    for rows in ({}, {"rows": 2}, {"rows": 1}):
        sentiment.fine_tune(bert, SNIPPETS, tokenizer, epochs=3, lr=0.1, seed=0, **rows)
    assert steps == [3, 3 * math.ceil(len(SNIPPETS) / 2), 3 * len(SNIPPETS)]


def test_the_experiment_with_small_batches_keeps_each_size_over_the_seeds(monkeypatch):
    def made_up(start, n, epochs, seed, *, rows):
        assert (start, epochs, rows) == ("pretrained", 4, 16)
        return n + seed

    monkeypatch.setattr(small_batches, "fine_tuned", made_up)
    assert small_batches.RECIPE.run()["accuracy"] == {
        "400": [400, 401, 402],
        "800": [800, 801, 802],
    }
