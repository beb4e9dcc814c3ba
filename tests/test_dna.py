"""DNA becomes words, and a model of text becomes one of DNA with frozen layers."""

import pytest
import torch
from torch import nn

from attnbook import dna, runtime
from attnbook.data.promoter import Promoter
from attnbook.models.bert import Bert, BertConfig
from attnbook.trained import dna as experiment
from attnbook.training import train


def promoter(letters, bin_):
    return Promoter(letters, tuple(int(i == bin_) for i in range(10)))


@pytest.fixture
def text():
    runtime.seed(1)
    return Bert(BertConfig(vocab_size=11, max_len=7, d_model=12, n_heads=3, d_ff=20, n_layers=3))


def test_words_of_three_letters():
    assert dna.dna_words("AAAAACTTT").tolist() == [0, 1, 2, 64]
    assert len(set(dna.WORD_IDS.values())) == 64
    for letters in ("AC", "ACGT", "ACN", ""):
        with pytest.raises(ValueError, match="in threes"):
            dna.dna_words(letters)


def test_batches_keep_the_order():
    promoters = [promoter("AAAACG", 4), promoter("TTTGGG", 5), promoter("CCCAAA", 9)]
    (ids, labels), (last, last_label) = dna.promoter_batches(promoters, rows=2)
    assert (ids.shape, last.shape) == ((2, 3), (1, 3))
    assert labels.tolist() + last_label.tolist() == [0, 1, 1]
    assert ids[1].tolist() == dna.dna_words("TTTGGG").tolist()
    with pytest.raises(ValueError, match="of one length"):
        dna.promoter_batches([*promoters, promoter("AAA", 1)])


@pytest.mark.parametrize("layers", dna.LAYERS)
def test_where_the_layers_come_from(text, layers):
    model = dna.dna_reader(text, n_layers=2, length=5, layers=layers)
    assert len(model.bert.layers) == 2
    assert len(text.layers) == 3
    for mine, theirs in zip(model.bert.layers, text.layers, strict=False):
        pairs = (
            (mine.attention.w_q.weight, theirs.attention.w_q.weight),
            (mine.feed_forward.w_2.weight, theirs.feed_forward.w_2.weight),
        )
        for a, b in pairs:
            assert torch.equal(a, b) == (layers == "text")
            same_numbers = torch.equal(a.flatten().sort().values, b.flatten().sort().values)
            assert same_numbers == (layers != "random")
    with pytest.raises(ValueError, match="at most the 3"):
        dna.dna_reader(text, n_layers=4, length=5, layers=layers)


def test_only_norms_input_and_head_learn(text):
    model = dna.dna_reader(text, n_layers=2, length=3, layers="text")
    before = {name: x.clone() for name, x in model.named_parameters()}
    batch = dna.promoter_batches([promoter("AAAACG", 4), promoter("TTTGGG", 5)])
    train(model, batch, dna.dna_loss, steps=2, lr=0.01, device="cpu")
    changed = {name for name, x in model.named_parameters() if not torch.equal(x, before[name])}
    assert not [n for n in changed if "layers" in n and "norm" not in n]
    norms = {n for n in before if "layers" in n and "norm" in n}
    assert norms
    assert norms <= changed
    assert {"bert.embed.tokens.weight", "bert.embed.positions.table", "classes.weight"} <= changed


def test_right_answers_are_counted():
    class Odd(nn.Module):
        def forward(self, ids):
            odd = ids[:, 1] % 2
            return torch.stack((1 - odd, odd), dim=1).float()

    batch = torch.tensor([[0, 3], [0, 4], [0, 5]]), torch.tensor([1, 1, 0])
    right, n = dna.right_promoters(Odd(), batch)
    assert (int(right), n) == (1, 3)


def test_the_experiment_pairs_its_seeds(monkeypatch):
    monkeypatch.setattr(experiment, "fine_tuned", lambda layers, seed: seed + 0.5)
    rows = experiment.RECIPE.run()["rows"]
    assert [(r["layers"], r["seed"]) for r in rows] == [
        (layers, seed) for seed in (0, 1, 2) for layers in dna.LAYERS
    ]


def test_the_experiment_knows_its_layers():
    with pytest.raises(ValueError, match="'text', 'shuffled', 'random'"):
        experiment.fine_tuned("noise", 0)
