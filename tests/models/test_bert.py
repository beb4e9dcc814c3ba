"""Bert: what goes in, what padding and segments do, how it starts, and its pooled vectors."""

import copy
import dataclasses
import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.models.bert import Bert, BertConfig, mean_pool

B, H, T, D, D_FF, N, V, MAX, P = 2, 3, 5, 12, 11, 4, 17, 9, 3
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "vocab_size": V, "max_len": MAX}
few = settings(max_examples=10)


def bert(**changes):
    torch.manual_seed(1)
    return Bert(BertConfig(**SIZES | {"n_segments": P} | changes))


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def reals(*rows):
    return torch.tensor(rows) == 1


# --- what goes in


def test_token_place_and_segment_are_summed_then_normed():
    embed = bert().embed
    ids, segments = drawn(B, T), drawn(B, T, high=P, seed=1)
    wanted = torch.empty(B, T, D)
    for b in range(B):
        for t in range(T):
            x = embed.tokens.weight[ids[b, t]] + embed.segments.weight[segments[b, t]]
            x = x + embed.positions.table[t]
            wanted[b, t] = (x - x.mean()) / (x.var(correction=0) + 1e-12).sqrt()
    close(embed(ids, segments), wanted)
    close(embed(ids), embed(ids, torch.zeros_like(ids)))


def test_the_model_is_the_embedding_and_then_the_layers():
    model, ids, segments = bert(), drawn(B, T), drawn(B, T, high=P)
    x = model.embed(ids, segments)
    for layer in model.layers:
        x, _ = layer(x)
    assert torch.equal(model(ids, None, segments)[0], x)
    assert isinstance(model.norm, nn.Identity)  # the last layer ends in a norm


def test_segments_matter_and_so_does_the_order():
    model, ids = bert(), drawn(B, T)
    plain = model(ids)[0]
    segments = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    assert not torch.allclose(model(ids, None, segments)[0], plain, atol=1e-3)
    assert not torch.allclose(model(ids.flip(1))[0], plain.flip(1), atol=1e-3)


def test_every_token_sees_both_sides():
    model, ids = bert(), drawn(B, T)
    for t in range(T):
        other = ids.clone()
        other[:, t] = (other[:, t] + 1) % V
        changed = (model(other)[0] - model(ids)[0]).abs().amax(dim=-1)  # (B, T)
        assert (changed > 1e-4).all()


# --- padding


@few
@given(st.lists(st.integers(0, T), min_size=B, max_size=B))
def test_padding_is_inert(lengths):
    model, ids, segments = bert(), drawn(B, T), drawn(B, T, high=P)
    real = torch.arange(T) < torch.tensor(lengths)[:, None]
    other, parts = torch.where(real, ids, (ids + 1) % V), torch.where(real, segments, 0)
    one, two = model(ids, real, segments)[0], model(other, real, parts)[0]
    close(*(torch.where(real[..., None], x, 0) for x in (one, two)))
    close(mean_pool(one, real), mean_pool(two, real))
    for b, n in enumerate(lengths):
        if n:
            close(one[b, :n], model(ids[b : b + 1, :n], None, segments[b : b + 1, :n])[0][0])


def test_padding_on_the_left_is_inert_too():
    model, ids = bert(), drawn(B, T)
    real = reals([0, 0, 1, 1, 1], [0, 1, 1, 1, 1])
    output, _ = model(ids, real)
    close(output[0, 2:], model(ids[:1, 2:])[0][0])
    close(output[1, 1:], model(ids[1:, 1:])[0][0])


def test_the_weights_on_request_and_none_on_padding():
    model, ids = bert(), drawn(B, T)
    real = reals([1, 1, 1, 0, 0], [1, 1, 1, 1, 1])
    output, weights = model(ids, real, need_weights=True)
    close(output, model(ids, real)[0])
    assert model(ids, real)[1] is None
    assert len(weights) == N
    for w in weights:
        assert torch.equal(w > 0, real[:, None, None].expand(B, H, T, T))


# --- pooled vectors


def test_the_pooled_vector_is_of_the_first_token():
    model, x = bert(), torch.randn(B, T, D)
    wanted = torch.tanh(x[:, 0] @ model.pooler.weight.T + model.pooler.bias)
    close(model.pool(x), wanted)
    assert bert(pooler=False).pooler is None


def test_the_mean_is_over_real_tokens_wherever_they_stand():
    x = torch.randn(3, T, D)
    real = reals([1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0])
    x[~real] = torch.nan  # what stands at padding is never touched
    close(mean_pool(x, real), torch.stack([x[0, :2].mean(0), x[1, 2:].mean(0), torch.zeros(D)]))
    x = torch.randn(3, T, D)
    close(mean_pool(x), x.mean(1))
    close(mean_pool(x, reals([1] * T).expand(3, T)), x.mean(1))


# --- how it is built


def test_it_starts_as_bert_does():
    model = bert(d_model=96, d_ff=200, vocab_size=400, max_len=70, n_segments=50)
    for name, p in model.named_parameters():
        if "norm" in name:
            assert (p == (0 if name.endswith("bias") else 1)).all()
        elif name.endswith("bias"):
            assert not p.any()
        else:
            assert p.std().item() == pytest.approx(0.02, rel=0.05), name
            assert abs(p.mean().item()) < 0.001


def test_no_two_layers_start_alike():
    starts = [torch.cat([p.flatten() for p in x.parameters()]) for x in bert(d_ff=99).layers]
    for i, one in enumerate(starts):
        for two in starts[:i]:
            assert (one != two).float().mean() > 0.9


def test_dropout_is_where_bert_has_it():
    model = bert(dropout=0.25)
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.25}
    assert model.embed.dropout.p == 0.25
    for layer in model.layers:
        assert layer.attention.dropout == 0.25
        assert isinstance(layer.feed_forward.dropout, nn.Identity)
    ids = drawn(B, T)
    assert not torch.equal(model(ids)[0], model(ids)[0])
    assert torch.equal(model.eval()(ids)[0], model(ids)[0])


def test_each_norm_takes_the_epsilon_of_the_config():
    for model, eps in ((bert(), 1e-12), (bert(norm_eps=0.3), 0.3)):
        norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm)]
        assert len(norms) == 2 * N + 1
        assert {norm.eps for norm in norms} == {eps}
        assert {layer.feed_forward.activation for layer in model.layers} == {nn.functional.gelu}


def test_every_parameter_gets_a_gradient():
    model = bert(n_segments=2)
    ids = torch.arange(B * MAX).view(B, MAX) % V
    x, _ = model(ids, None, drawn(B, MAX, high=2))
    (model.pool(x).square().sum() + (x * torch.randn(B, MAX, D)).sum()).backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_state_dict_and_deepcopy():
    model, other, ids = bert(), bert(), drawn(B, T)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(1)
    other.load_state_dict(model.state_dict())
    for twin in (other, copy.deepcopy(model)):
        assert torch.equal(twin(ids)[0], model(ids)[0])


def test_config_to_json_and_back():
    config = bert(dropout=0.25, pooler=False).config
    assert BertConfig(**json.loads(json.dumps(dataclasses.asdict(config)))) == config
    assert bert().config != config


# --- bad input


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_config(self):
        for name in (*SIZES, "n_segments"):
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                bert(**{name: 0})
        with pytest.raises(TypeError, match="pooler must be True or False, not 1"):
            bert(pooler=1)

    def test_ids_and_segments(self):
        model, ids = bert(), drawn(B, T)
        with pytest.raises(ValueError, match="ids must lie in 0 … 16, but 17 is among them"):
            model(torch.full((B, T), V))
        with pytest.raises(ValueError, match="ids must have at most max_len = 9 tokens"):
            model(drawn(B, MAX + 1))
        with pytest.raises(ValueError, match="segments must lie in 0 … 2, but 3 is among them"):
            model(ids, None, torch.full((B, T), P))
        with pytest.raises(ValueError, match=r"segments must have the shape of ids, \(2, 5\), not"):
            model(ids, None, torch.zeros(T).long())
        with pytest.raises(TypeError, match="segments must hold integers"):
            model(ids, None, torch.zeros(B, T))

    def test_real(self):
        model, ids = bert(), drawn(B, T)
        with pytest.raises(TypeError, match="real must be boolean, not torch"):
            model(ids, torch.ones(B, T).long())
        with pytest.raises(ValueError, match=r"real must have the shape of ids, \(2, 5\), not"):
            model(ids, torch.ones(B, 1, T).bool())
        with pytest.raises(TypeError, match="real must be boolean"):
            mean_pool(torch.zeros(B, T, D), torch.ones(B, T))
        with pytest.raises(ValueError, match=r"but theirs are \(2, 4\) and \(2, 5, 12\)"):
            mean_pool(torch.zeros(B, T, D), torch.ones(B, 4).bool())

    def test_pool(self):
        with pytest.raises(ValueError, match="this Bert has no pooler"):
            bert(pooler=False).pool(torch.zeros(B, T, D))
        with pytest.raises(ValueError, match="last axis of x must be 12"):
            bert().pool(torch.zeros(B, T, 7))


@pytest.mark.usefixtures("plain")
def test_the_mean_needs_three_axes():
    for shape in ((3, 5), (2, 3, 4, 5)):
        with pytest.raises(ValueError, match="x must have 3 axes"):
            mean_pool(torch.ones(shape))
