"""The heads of BERT: shapes, what each looks at, the first loss, and what is tied."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F

from attnbook.models.bert import Bert, BertConfig, mean_pool
from attnbook.models.bert_heads import (
    POOLS,
    BertPretraining,
    BertQuestionAnswerer,
    BertSequenceClassifier,
    BertTokenClassifier,
)
from attnbook.objectives.labels import IGNORE, mean_nll

B, H, T, D, D_FF, N, V, MAX, P, C = 2, 3, 5, 12, 11, 4, 17, 9, 2, 6
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "vocab_size": V, "max_len": MAX}


def bert(**changes):
    torch.manual_seed(1)
    return Bert(BertConfig(**SIZES | changes))


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def with_random_biases(model):
    """At the start biases are 0, norms 1: what they do would not be seen."""
    for p in model.parameters():
        if p.ndim == 1:
            torch.nn.init.normal_(p)
    return model


REAL = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]) == 1
SEGMENTS = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 1, 1, 0]])


# --- pre-training


def test_pretraining_by_hand():
    model, ids = with_random_biases(BertPretraining(bert())), drawn(B, T)
    x, _ = model.bert(ids, REAL, SEGMENTS)
    tokens, follows = model(ids, REAL, SEGMENTS)
    head = model.masked
    h = F.gelu(x @ head.transform.weight.T + head.transform.bias)
    h = (h - h.mean(-1, keepdim=True)) / h.var(-1, correction=0, keepdim=True).sqrt()
    h = h * head.norm.weight + head.norm.bias
    close(tokens, h @ model.bert.embed.tokens.weight.T + head.output.bias)
    two = model.next_sentence
    close(follows, model.bert.pool(x) @ two.weight.T + two.bias)
    assert follows.shape == (B, 2)


@pytest.mark.parametrize("d_model", [24, 96])
def test_the_first_losses_are_near_those_of_a_guess(d_model):
    vocab = 400
    model = BertPretraining(bert(vocab_size=vocab, d_model=d_model, n_layers=2))
    ids, answer = drawn(32, MAX, high=vocab), drawn(32, MAX, high=vocab, seed=1)
    tokens, follows = model(ids)
    assert abs(mean_nll(tokens, answer).item() - math.log(vocab)) < 0.05
    assert abs(mean_nll(tokens, ids).item() - math.log(vocab)) < 0.1  # nor does it copy
    assert abs(mean_nll(follows, drawn(32, high=2)).item() - math.log(2)) < 0.02


def test_the_output_is_the_table_of_tokens():
    for model in (BertPretraining(bert()), copy.deepcopy(BertPretraining(bert()))):
        assert model.masked.output.weight is model.bert.embed.tokens.weight
        names = dict(model.named_parameters())
        assert "masked.output.bias" in names
        assert "masked.output.weight" not in names
    table = model.bert.embed.tokens.weight
    assert table.std().item() == pytest.approx(0.02, rel=0.1)  # not drawn a second time, wider


def test_without_a_pooler_nothing_is_said_of_the_next_sentence():
    model = BertPretraining(bert(pooler=False))
    tokens, follows = model(drawn(B, T))
    assert tokens.shape == (B, T, V)
    assert follows is model.next_sentence is None


def test_the_head_takes_the_choices_of_the_config():
    head = BertPretraining(bert(activation="relu", norm_eps=0.3)).masked
    assert head.norm.eps == 0.3
    assert head.activation is F.relu


# --- fine-tuning


@pytest.mark.parametrize("pool", POOLS)
def test_a_sequence_is_classified_by_the_vector_asked_for(pool):
    model = with_random_biases(BertSequenceClassifier(bert(), C, pool=pool))
    ids = drawn(B, T)
    x, _ = model.bert(ids, REAL, SEGMENTS)
    whole = {"pooler": model.bert.pool(x), "cls": x[:, 0], "mean": mean_pool(x, REAL)}[pool]
    close(model(ids, REAL, SEGMENTS), whole @ model.classes.weight.T + model.classes.bias)


@pytest.mark.parametrize("pool", POOLS)
def test_padding_changes_no_class_of_a_sequence(pool):
    model, ids = BertSequenceClassifier(bert(), C, pool=pool), drawn(B, T)
    other = torch.where(REAL, ids, (ids + 1) % V)
    close(model(ids, REAL), model(other, REAL))
    close(model(ids, REAL)[:1], model(ids[:1, :3]))


def test_each_token_has_its_class():
    model, ids = with_random_biases(BertTokenClassifier(bert(), C)), drawn(B, T)
    x, _ = model.bert(ids, REAL, SEGMENTS)
    logits = model(ids, REAL, SEGMENTS)
    close(logits, x @ model.classes.weight.T + model.classes.bias)
    mean_nll(logits, torch.where(REAL, 1, IGNORE)).backward()
    assert all(p.grad.any() for p in model.bert.layers.parameters())


def test_an_answer_starts_and_ends_at_a_real_token():
    model, ids = with_random_biases(BertQuestionAnswerer(bert())), drawn(B, T)
    x, _ = model.bert(ids, REAL, SEGMENTS)
    for logits, row in zip(model(ids, REAL, SEGMENTS), range(2), strict=True):
        wanted = x @ model.ends.weight[row] + model.ends.bias[row]
        close(logits[REAL], wanted[REAL])
        share = logits.softmax(dim=-1)
        assert not share[~REAL].any()
        assert share.isfinite().all()
    free = model(ids)[0]  # all are real
    assert free.isfinite().all()
    assert (free > -100).all()


@pytest.mark.parametrize(
    ("make", "guess"),
    [
        (lambda b: BertSequenceClassifier(b, C), C),
        (lambda b: BertTokenClassifier(b, C), C),
        (lambda b: BertQuestionAnswerer(b), MAX),
    ],
)
def test_the_first_loss_of_each_head_is_near_that_of_a_guess(make, guess):
    output = make(bert())(drawn(64, MAX))
    logits = output[0] if isinstance(output, tuple) else output
    assert (
        abs(mean_nll(logits, drawn(*logits.shape[:-1], high=guess)).item() - math.log(guess)) < 0.05
    )


def test_the_heads_start_as_bert_does():
    body = bert(d_model=96)
    for model in (
        BertPretraining(body),
        BertSequenceClassifier(body, 50),
        BertTokenClassifier(body, 50),
        BertQuestionAnswerer(body),
    ):
        for layer in (m for m in model.modules() if isinstance(m, torch.nn.Linear)):
            assert layer.weight.std().item() == pytest.approx(0.02, rel=0.2)
            assert not layer.bias.any()


def test_dropout_before_the_last_layer_as_in_the_config():
    for model in (
        BertSequenceClassifier(bert(dropout=0.3), C),
        BertTokenClassifier(bert(dropout=0.3), C),
    ):
        assert model.dropout.p == 0.3


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_choices(self):
        with pytest.raises(ValueError, match="pool must be one of 'pooler', 'cls', 'mean', not 'm"):
            BertSequenceClassifier(bert(), C, pool="max")
        with pytest.raises(ValueError, match="pool must be 'cls' or 'mean' for a Bert without"):
            BertSequenceClassifier(bert(pooler=False), C)
        for make in (BertSequenceClassifier, BertTokenClassifier):
            with pytest.raises(ValueError, match="n_classes must be at least 1, not 0"):
                make(bert(), 0)

    def test_what_the_body_refuses(self):
        for model in (
            BertPretraining(bert()),
            BertSequenceClassifier(bert(), C),
            BertTokenClassifier(bert(), C),
            BertQuestionAnswerer(bert()),
        ):
            with pytest.raises(ValueError, match="ids must lie in 0 … 16"):
                model(torch.full((B, T), V))
            with pytest.raises(TypeError, match="real must be boolean"):
                model(drawn(B, T), torch.ones(B, T))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_new_head_has_the_dtype_of_the_model_below(dtype):
    model, ids = bert().to(dtype), drawn(B, T)
    assert [x.dtype for x in BertPretraining(model)(ids)] == [dtype, dtype]
    assert BertSequenceClassifier(model, C)(ids).dtype == dtype
    assert BertTokenClassifier(model, C)(ids).dtype == dtype
    assert [x.dtype for x in BertQuestionAnswerer(model)(ids)] == [dtype, dtype]
