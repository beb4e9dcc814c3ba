"""The task of BERT's pre-training: its vocabulary, its batches, its losses and scores."""

import json
from itertools import islice, pairwise

import pytest
import torch

from attnbook import blank_filling as task
from attnbook.data import sotu
from attnbook.models.bert import Bert, BertConfig
from attnbook.models.bert_heads import BertPretraining
from attnbook.objectives.labels import IGNORE, mean_nll
from attnbook.training import evaluate

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
DOCUMENTS = [
    ["We met here.", "It was cold and it rained all day.", "Nobody spoke.", "Then we left."],
    ["Taxes are high.", "They will fall.", "The debt is paid."],
    ["Peace holds on every border of the country.", "Trade grows."],
]
TOKENIZER = task.load_tokenizer()
MASK = TOKENIZER.vocab["[MASK]"]


def batches(n, **choices):
    return list(islice(task.PairBatches(DOCUMENTS, TOKENIZER, **{"rows": 5, **choices}), n))


def small(pooler=True):
    torch.manual_seed(0)
    sizes = {"vocab_size": task.VOCAB_SIZE, "max_len": 64, "d_model": 12, "n_heads": 3}
    return BertPretraining(Bert(BertConfig(**sizes, d_ff=20, n_layers=2, pooler=pooler))).eval()


def test_the_vocabulary_is_in_order():
    learned = task.learn_vocabulary(["the theme of them all", "the other"], 40)
    assert learned[:5] == SPECIAL
    assert learned[5:] == sorted(learned[5:])
    assert {"the", "##r"} <= set(learned)
    kept = json.loads(task.VOCABULARY.read_text(encoding="utf-8"))
    assert kept[:5] == SPECIAL
    assert kept[5:] == sorted(set(kept[5:]))
    assert sorted(TOKENIZER.special_ids) == list(range(task.N_SPECIAL))
    assert TOKENIZER.vocab_size == len(kept) == task.VOCAB_SIZE


@pytest.mark.slow
def test_the_vocabulary_is_that_of_the_training_speeches():
    train, _, _ = sotu.split(sotu.load())
    kept = json.loads(task.VOCABULARY.read_text(encoding="utf-8"))
    assert task.learn_vocabulary([speech.text for speech in train]) == kept


@pytest.mark.slow
def test_the_documents_are_the_sides_of_the_split():
    sides = sotu.split(sotu.load())
    for documents, side in zip(task.load_documents(), sides, strict=True):
        assert len(documents) == len(side)
        assert documents[2] == sotu.split_sentences(side[2].text)


def test_batches_hold_the_pairs():
    (batch, rest) = batches(2)
    assert len(batch.ids) + len(rest.ids) == 6  # 3 + 2 + 1 pairs, in two batches
    follows = {(a, b) for d in DOCUMENTS for a, b in pairwise(d)}
    readable = {TOKENIZER.decode(TOKENIZER([s])["input_ids"][0]): s for d in DOCUMENTS for s in d}
    found = []
    for b in (batch, rest):
        ids = task.true_ids(b)
        for row, real, segments, is_next in zip(ids, b.real, b.segments, b.is_next, strict=True):
            first, second = row[real & (segments == 0)], row[real & (segments == 1)]
            assert first[0] == TOKENIZER.vocab["[CLS]"]
            assert first[-1] == second[-1] == TOKENIZER.vocab["[SEP]"]
            assert (row[~real] == TOKENIZER.pad_id).all()
            pair = readable[TOKENIZER.decode(first)], readable[TOKENIZER.decode(second)]
            assert (pair in follows) == bool(is_next)
            found.append(pair[0])
    assert len(set(found)) == 6
    assert sum(int(b.is_next.sum()) for b in (batch, rest)) == 3


def test_batches_begin_again_and_are_drawn_anew():
    made = task.PairBatches(DOCUMENTS, TOKENIZER, rows=5, seed=3)
    first, again = list(islice(made, 6)), list(islice(made, 6))
    for a, b in zip(first, again, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))

    def epoch(i):
        rows = first[2 * i].ids.tolist() + first[2 * i + 1].ids.tolist()
        return sorted(rows)

    assert epoch(0) != epoch(1)
    assert batches(1, seed=4)[0].ids.tolist() != first[0].ids.tolist()


def test_rows_are_cut():
    assert max(b.ids.shape[1] for b in batches(2)) > 9
    assert max(b.ids.shape[1] for b in batches(2, max_len=9)) == 9
    with pytest.raises(ValueError, match="rows"):
        task.PairBatches(DOCUMENTS, TOKENIZER, rows=0)


def test_the_share_that_is_asked_for():
    def asked(**choices):
        (batch,) = batches(1, rows=6, **choices)  # all pairs
        ordinary = task.true_ids(batch) > MASK
        return (batch.labels != IGNORE).sum() / ordinary.sum()

    assert max(TOKENIZER.special_ids) == MASK
    assert asked() == pytest.approx(0.15, abs=0.04)  # rows are short: whole tokens
    assert asked(share=0.4) == pytest.approx(0.4, abs=0.04)
    with pytest.raises(ValueError, match="share"):
        batches(1, share=1.5)


def test_hide_all():
    kept = replaced = 0
    for batch in (batches(1, seed=seed)[0] for seed in range(20)):
        asked = batch.labels != IGNORE
        hidden = task.hide_all(batch, MASK)
        assert (hidden.ids[asked] == MASK).all()
        assert torch.equal(hidden.ids[~asked], batch.ids[~asked])
        assert torch.equal(hidden.labels, batch.labels)
        visible = asked & (batch.ids != MASK)
        kept += int((visible & (batch.ids == batch.labels)).sum())
        replaced += int((visible & (batch.ids != batch.labels)).sum())
    assert min(kept, replaced) > 0  # both were there to be hidden


@pytest.mark.parametrize("pooler", [True, False])
def test_the_loss_is_that_of_the_whole_model(pooler):
    batch, model = batches(1)[0], small(pooler)
    logits, follows = model(batch.ids, batch.real, batch.segments)
    expected = mean_nll(logits, batch.labels)
    if pooler:
        expected = expected + mean_nll(follows, batch.is_next)
    assert torch.allclose(task.blank_loss(model, batch), expected, atol=1e-5)


def test_scores_are_those_of_the_whole_model():
    model = small()
    filled = followed = blanks = pairs = 0
    for batch in batches(4):
        logits, follows = model(batch.ids, batch.real, batch.segments)
        best = logits.argmax(dim=-1)
        # One label in each row as the model has it, so that something is right.
        labels = batch.labels.clone()
        for row in range(len(labels)):
            place = (labels[row] != IGNORE).nonzero()[0, 0]
            labels[row, place] = best[row, place]
        batch = batch._replace(labels=labels)
        right, n = task.filled_right(model, batch)
        filled, blanks = filled + int(right), blanks + int(n)
        assert n == (labels != IGNORE).sum()
        assert right == (best == labels).sum() >= len(labels)
        right, n = task.follows_right(model, batch)
        assert right == (follows.argmax(dim=-1) == batch.is_next).sum()
        followed, pairs = followed + int(right), pairs + int(n)
    assert (blanks > filled, pairs) == (True, 12)
    share = evaluate(model, batches(4), task.follows_right, device="cpu")
    assert share == pytest.approx(followed / pairs)


def test_no_head_for_the_next_sentence():
    with pytest.raises(ValueError, match="head for the next sentence"):
        task.follows_right(small(pooler=False), batches(1)[0])


@pytest.mark.slow
def test_held_out_holds_the_test_speeches():
    _, _, documents = task.load_documents()
    readable = {TOKENIZER.decode(TOKENIZER([s])["input_ids"][0]) for d in documents for s in d}
    checked = 0
    for batch in task.held_out(4, rows=7, seed=2):
        assert batch.ids.shape[0] == 7
        assert (batch.ids[batch.labels != IGNORE] == MASK).all()
        ids = task.true_ids(batch)
        short = ~batch.real[:, -1]  # rows that were not cut
        for row, real, segments in zip(
            ids[short], batch.real[short], batch.segments[short], strict=True
        ):
            assert TOKENIZER.decode(row[real & (segments == 0)]) in readable
            checked += 1
    assert checked >= 7
