"""Encoder, Decoder and Seq2Seq: what holds for each stack, whatever its choices."""

import copy
import dataclasses
import functools
import json
import math
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import masks
from attnbook.models.decoder import Decoder, DecoderConfig
from attnbook.models.encoder import Encoder, EncoderConfig
from attnbook.models.inputs import POSITIONS
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.positions import places

B, H, T, S, D, D_FF, N, V, V_SOURCE, MAX = 2, 3, 5, 7, 12, 11, 4, 17, 13, 9
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "max_len": MAX}
few = settings(max_examples=10)  # each builds whole models
CHOICES = {"pre_norm": st.booleans(), "positions": st.sampled_from(POSITIONS)}


def encoder(**changes):
    torch.manual_seed(1)
    return Encoder(EncoderConfig(**{"vocab_size": V, **SIZES, **changes}))


def decoder(**changes):
    torch.manual_seed(1)
    return Decoder(DecoderConfig(**{"vocab_size": V, **SIZES, **changes}))


def seq2seq(**changes):
    torch.manual_seed(1)
    sizes = {"source_vocab_size": V_SOURCE, "target_vocab_size": V, **SIZES}
    return Seq2Seq(Seq2SeqConfig(**sizes | changes))


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def memory_of(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


@functools.cache
def runs(**changes):
    """Each stack as a function of target ids and a mask for them."""
    one, two = encoder(n_layers=2, **changes), decoder(n_layers=2, **changes)
    memory = memory_of(B, S, D)
    return [lambda ids, mask: one(ids, mask)[0], lambda ids, mask: two(ids, memory, mask)[0]]


# --- properties


@few
@given(now=st.integers(0, T - 1), training=st.booleans(), **CHOICES)
def test_the_future_cannot_change_the_past(now, training, **choices):
    ids, changed = drawn(B, T), drawn(B, T)
    changed[:, now + 1 :] = (changed[:, now + 1 :] + 1) % V
    for run in runs(**choices):
        past = run(ids, masks.causal(T))[:, : now + 1]
        close(run(changed, masks.causal(T))[:, : now + 1], past)
        if now + 1 < T:  # without the mask it can
            assert not torch.allclose(run(changed, None)[:, 0], run(ids, None)[:, 0], atol=1e-5)
    model, source = seq2seq(n_layers=2, **choices).train(training), drawn(B, S, high=V_SOURCE)
    close(model(source, changed)[0][:, : now + 1], model(source, ids)[0][:, : now + 1])


@few
@given(st.lists(st.integers(0, T), min_size=B, max_size=B), *CHOICES.values())
def test_padding_is_inert(lengths, pre_norm, positions):
    mask = masks.padding(torch.tensor(lengths), T)
    ids = drawn(B, T)
    other = torch.where(mask[:, 0], ids, (ids + 1) % V)
    for run in runs(pre_norm=pre_norm, positions=positions):
        close(*(torch.where(mask[:, 0, :, None], run(x, mask), 0) for x in (ids, other)))


@few
@given(st.integers(1, S), st.booleans(), *CHOICES.values())
def test_padding_of_the_source_is_inert_on_either_side(length, left, pre_norm, positions):
    model = seq2seq(n_layers=2, pre_norm=pre_norm, positions=positions)
    target, source = drawn(B, T), drawn(B, length, high=V_SOURCE)
    rest = drawn(B, S - length, high=V_SOURCE, seed=3)
    padded = torch.cat([rest, source] if left else [source, rest], dim=1)
    mask = masks.padding(torch.full((B,), length), S)
    mask = mask.flip(2) if left else mask
    close(model(padded, target, mask)[0], model(source, target)[0])
    close(model(padded, target, mask[:1])[0], model(source, target)[0])  # one mask for all


@pytest.mark.parametrize("positions", POSITIONS)
def test_left_padding_is_inert_with_the_places_of_the_tokens(positions):
    model, ids = encoder(positions=positions), drawn(B, T)
    real = torch.tensor([0, 0, 1, 1, 1]).bool().expand(B, T)
    output, _ = model(ids, real[:, None] & masks.causal(T), places=places(real))
    close(output[:, 2:], model(ids[:, 2:], masks.causal(3))[0])


def test_a_causal_mask_makes_a_decoder_only_model():
    # A decoder whose cross-attention adds nothing is the encoder with the same weights.
    one, two = encoder(pre_norm=True), decoder(pre_norm=True)
    two.embed, two.norm = one.embed, one.norm
    for ours, theirs in zip(one.layers, two.layers, strict=True):
        theirs.self_attention, theirs.around_self = ours.attention, ours.around_attention
        theirs.feed_forward = ours.feed_forward
        theirs.around_feed_forward = ours.around_feed_forward
        torch.nn.init.zeros_(theirs.cross_attention.w_o.weight)
        torch.nn.init.zeros_(theirs.cross_attention.w_o.bias)
    ids = drawn(B, T)
    close(one(ids, masks.causal(T))[0], two(ids, memory_of(B, S, D), masks.causal(T))[0])


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_order_matters_but_for_no_positions(positions):
    for run in runs(positions=positions):
        ids = drawn(B, T)
        same = torch.allclose(run(ids.flip(1), None), run(ids, None).flip(1), atol=1e-5)
        assert same == (positions == "none")


# --- how it is built


def test_no_two_layers_start_alike():
    for model in (encoder(), decoder()):
        assert len(model.layers) == N
        starts = [torch.cat([p.flatten() for p in layer.parameters()]) for layer in model.layers]
        for i, one in enumerate(starts):
            for two in starts[:i]:
                assert (one != two).float().mean() > 0.9


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_first_loss_is_near_that_of_a_guess(share, tie, pre_norm, positions):
    vocab, d_model = 400, 96
    model = seq2seq(
        source_vocab_size=vocab, target_vocab_size=vocab, share_embeddings=share, tie_output=tie,
        pre_norm=pre_norm, positions=positions, d_model=d_model, n_layers=2,
    )  # fmt: skip
    source, target, answer = (drawn(32, MAX, high=vocab, seed=i) for i in range(3))
    loss = F.cross_entropy(model(source, target)[0].flatten(0, 1), answer.flatten())
    assert abs(loss.item() - math.log(vocab)) < 0.3


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("tie", [True, False])
def test_which_tables_are_one(share, tie):
    model = seq2seq(source_vocab_size=V, share_embeddings=share, tie_output=tie)
    for twin in (model, copy.deepcopy(model)):
        table = twin.decoder.embed.tokens.weight
        assert (twin.encoder.embed.tokens.weight is table) == share
        assert (twin.output.weight is table) == tie
        assert twin.output.bias is None


def test_without_tying_an_output_of_its_own_size():
    model = seq2seq()
    assert model.encoder.embed.tokens.weight.shape == (V_SOURCE, D)
    assert model(drawn(B, S, high=V_SOURCE), drawn(B, T))[0].shape == (B, T, V)


def test_settings_reach_every_layer():
    for model in (encoder, decoder):
        stack = model(dropout=0.25, pre_norm=True, positions="rotary")
        assert stack.embed.dropout.p == 0.25
        assert isinstance(stack.norm, torch.nn.LayerNorm)
        for layer in stack.layers:
            assert layer.feed_forward.w_1.out_features == D_FF
            attention = getattr(layer, "attention", getattr(layer, "self_attention", None))
            assert attention.rotate.d_head == D // H
            shares = {m.p for m in layer.modules() if isinstance(m, torch.nn.Dropout)}
            assert shares == {attention.dropout} == {0.25}
            assert all(m.pre_norm for m in layer.modules() if hasattr(m, "pre_norm"))
        assert isinstance(model().norm, torch.nn.Identity)  # post-norm ends in a norm anyway


def test_seq2seq_is_its_parts_one_after_the_other():
    model = seq2seq()
    source, target = drawn(B, S, high=V_SOURCE), drawn(B, T)
    mask = masks.padding(torch.tensor([4, 7]), S)
    memory, _ = model.encoder(source, mask)
    x, _, _ = model.decoder(target, memory, masks.causal(T), mask)
    logits, weights, cross_weights = model(source, target, mask)
    close(logits, x @ model.decoder.embed.tokens.weight.T)
    assert weights is cross_weights is None


def test_the_weights_on_request():
    ids, mask = drawn(B, T), masks.causal(T)
    output, weights = encoder()(ids, mask, need_weights=True)
    close(output, encoder()(ids, mask)[0])
    assert encoder()(ids, mask)[1] is None
    assert len(weights) == N
    for w in weights:
        assert torch.equal(w > 0, mask.expand(B, H, T, T))
    assert not torch.allclose(weights[0], weights[1])

    source_mask = masks.padding(torch.tensor([4, 7]), S)
    _, weights, cross = seq2seq()(drawn(B, S, high=V_SOURCE), ids, source_mask, need_weights=True)
    assert len(weights) == len(cross) == N
    for w, c in zip(weights, cross, strict=True):
        assert torch.equal(w > 0, mask.expand(B, H, T, T))
        assert torch.equal(c > 0, source_mask[:, None].expand(B, H, T, S))


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("share", [True, False])
def test_state_dict_and_deepcopy(share, positions):
    sizes = {"source_vocab_size": V, "share_embeddings": share, "positions": positions}
    model, other = seq2seq(**sizes), seq2seq(**sizes)
    source, target = drawn(B, S), drawn(B, T)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(1)
    other.load_state_dict(model.state_dict())
    for twin in (other, copy.deepcopy(model)):
        assert torch.equal(twin(source, target)[0], model(source, target)[0])


def test_every_parameter_gets_a_gradient():
    model = seq2seq(positions="learned", pre_norm=True, tie_output=False)
    logits, _, _ = model(drawn(B, MAX, high=V_SOURCE), drawn(B, MAX))
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


@pytest.mark.parametrize("make", [encoder, decoder, seq2seq])
def test_config_to_json_and_back(make):
    config = make(dropout=0.25, pre_norm=True, positions="rotary").config
    again = type(config)(**json.loads(json.dumps(dataclasses.asdict(config))))
    assert again == config
    assert make().config != config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 3
    with pytest.raises(TypeError, match="positional"):
        type(config)(V)


# --- bad input


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("make", [encoder, decoder, seq2seq])
    def test_config(self, make):
        for name in SIZES:
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                make(**{name: 0})
        with pytest.raises(ValueError, match="n_heads must divide d_model, but 5 does not divide"):
            make(n_heads=5)
        with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, not 1"):
            make(dropout=1)
        with pytest.raises(TypeError, match="pre_norm must be True or False, not 'no'"):
            make(pre_norm="no")
        with pytest.raises(ValueError, match=r"positions must be one of .*'none', not 'alibi'"):
            make(positions="alibi")
        with pytest.raises(ValueError, match=r"must be even for rotary positions, not 12 / 4 = 3"):
            make(positions="rotary", n_heads=4)

    def test_vocabularies(self):
        with pytest.raises(ValueError, match="vocab_size must be at least 1, not 0"):
            encoder(vocab_size=0)
        for name in ("source_vocab_size", "target_vocab_size"):
            with pytest.raises(ValueError, match=f"^{name} must be at least 1, not 0"):
                seq2seq(**{name: 0})
        with pytest.raises(ValueError, match=r"source_vocab_size is 13 and target_vocab_size 17"):
            seq2seq(share_embeddings=True)
        for name in ("share_embeddings", "tie_output"):
            with pytest.raises(TypeError, match=f"{name} must be True or False, not 1"):
                seq2seq(**{name: 1})

    @pytest.mark.parametrize("positions", POSITIONS)
    def test_ids(self, positions):
        source, target, memory = drawn(B, S, high=V_SOURCE), drawn(B, T), memory_of(B, S, D)
        model = seq2seq(positions=positions)
        for name, high, run in (
            ("ids", V, encoder(positions=positions)),
            ("ids", V, lambda ids: decoder(positions=positions)(ids, memory)),
            ("source", V_SOURCE, lambda ids: model(ids, target)),
            ("target", V, lambda ids: model(source, ids)),
        ):
            with pytest.raises(ValueError, match=f"{name} must lie in 0 … {high - 1}, but {high}"):
                run(torch.full((B, T), high))
            with pytest.raises(ValueError, match=f"{name} must have at most max_len = 9 tokens"):
                run(drawn(B, MAX + 1, high=high))
            with pytest.raises(ValueError, match=rf"{name} must have 2 axes \(B, T\), but its"):
                run(drawn(T, high=high))
            with pytest.raises(TypeError, match=f"{name} must hold integers, not"):
                run(torch.zeros(B, T))

    def test_memory(self):
        with pytest.raises(ValueError, match=r"memory must hold one sequence .* ids: 3 for 2"):
            decoder()(drawn(B, T), memory_of(3, S, D))
        with pytest.raises(ValueError, match=r"last axis of memory must be 12.*\(2, 7, 6\)"):
            decoder()(drawn(B, T), memory_of(B, S, 6))

    def test_source_mask(self):
        model, source, target = seq2seq(), drawn(B, S, high=V_SOURCE), drawn(B, T)
        with pytest.raises(ValueError, match=r"source_mask must broadcast to \(2, 1, 7\).*\(7, 7"):
            model(source, target, masks.causal(S))
        with pytest.raises(TypeError, match="source_mask must be boolean"):
            model(source, target, torch.ones(B, 1, S))


@pytest.mark.parametrize("make", [encoder, decoder, lambda **c: seq2seq(**c).encoder])
def test_each_layer_takes_the_choices_of_the_config(make):
    model = make(pre_norm=True, activation="gelu", norm_eps=0.3, dropout=0.2)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert len(norms) > 2 * N
    assert {norm.eps for norm in norms} == {0.3}
    for layer in model.layers:
        assert layer.feed_forward.activation is F.gelu
        assert layer.feed_forward.dropout.p == 0.2


@pytest.mark.parametrize("wrong", [{"activation": "swish"}, {"norm_eps": 0.0}, {"norm_eps": -1.0}])
def test_a_config_refuses_an_activation_or_norm_eps_that_is_none(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        encoder(**wrong)


COMPILED = """
import torch
from attnbook import masks
from attnbook.models.encoder import Encoder, EncoderConfig
ids, counted = torch.randint(17, (2, 5)), torch.arange(5).expand(2, 5)
sizes = dict(vocab_size=17, d_model=12, n_heads=3, d_ff=11, n_layers=2, max_len=9)
for positions in %r:
    model, mask = Encoder(EncoderConfig(**sizes, positions=positions)), masks.causal(5)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    found = compiled(ids, mask, places=counted)[0]
    torch.testing.assert_close(found, model(ids, mask)[0], atol=1e-5, rtol=0)
    torch.compiler.reset()
print("as one graph")
"""


def test_a_stack_compiles_as_one_graph():
    # In a process of its own: the checker of annotations, which the tests put in, cannot be traced.
    command = [sys.executable, "-c", COMPILED % (POSITIONS,)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "as one graph\n", done.stderr
