"""GPT: the causal mask, padding on either side, the first weights, the head for classes."""

import copy
import dataclasses
import json
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import masks
from attnbook.models.gpt import GPT, GPTConfig, GPTSequenceClassifier
from attnbook.models.inputs import POSITIONS

B, H, T, D, D_FF, N, V, C, MAX = 2, 3, 5, 12, 11, 4, 17, 7, 9
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "max_len": MAX}
few = settings(max_examples=10)  # each builds whole models
CHOICES = {"pre_norm": st.booleans(), "positions": st.sampled_from(POSITIONS)}


def gpt(**changes):
    torch.manual_seed(1)
    return GPT(GPTConfig(**{"vocab_size": V, **SIZES, **changes}))


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def rough(model):
    """With weights so large that no difference is lost in rounding."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" not in name:
                p.normal_(std=0.4, generator=torch.Generator().manual_seed(p.numel()))
    return model


@few
@given(now=st.integers(0, T - 1), training=st.booleans(), **CHOICES)
def test_the_future_cannot_change_the_past(now, training, **choices):
    model = rough(gpt(n_layers=2, **choices)).train(training)
    ids, changed = drawn(B, T), drawn(B, T)
    changed[:, now + 1 :] = (changed[:, now + 1 :] + 1) % V
    close(model(changed)[0][:, : now + 1], model(ids)[0][:, : now + 1])
    changed[:, now] = (changed[:, now] + 1) % V
    assert not torch.allclose(model(changed)[0][:, now], model(ids)[0][:, now], atol=1e-3)


@few
@given(lengths=st.lists(st.integers(1, T), min_size=B, max_size=B), left=st.booleans(), **CHOICES)
def test_padding_is_inert_on_either_side(lengths, left, **choices):
    model = rough(gpt(n_layers=2, **choices))
    real = masks.padding(torch.tensor(lengths), T)[:, 0]
    real = real.flip(1) if left else real
    ids = drawn(B, T)
    logits, classes = model(ids, real)[0], GPTSequenceClassifier(model, C)
    scores = classes(ids, real)
    for b in range(B):
        alone = ids[b, real[b]][None]
        close(logits[b, real[b]], model(alone)[0][0])
        close(scores[b], classes(alone)[0])


def test_it_is_the_encoder_with_a_causal_mask():
    model, ids = gpt(), drawn(B, T)
    x, weights = model.body(ids, masks.causal(T), need_weights=True)
    logits, ours = model(ids, need_weights=True)
    close(logits, x @ model.body.embed.tokens.weight.T)
    close(model.vectors(ids)[0], x)
    assert model(ids)[1] is None
    assert len(ours) == N
    for w, other in zip(ours, weights, strict=True):
        assert torch.equal(w, other)
        assert torch.equal(w > 0, masks.causal(T).expand(B, H, T, T))


def test_the_class_is_read_at_the_last_real_token():
    model, ids = rough(gpt()), drawn(B, T)
    classes = GPTSequenceClassifier(model, C)
    assert classes.classes.bias is None
    gap = torch.tensor([[1, 0, 1, 0, 0], [0, 1, 1, 0, 1]]).bool()
    x = model.vectors(ids, gap)[0]
    close(classes(ids, gap), classes.classes(torch.stack([x[0, 2], x[1, 4]])))
    close(classes(ids), classes.classes(model.vectors(ids)[0][:, -1]))


def test_all_is_done_on_the_device_of_the_model():
    for positions in POSITIONS:
        model, ids = GPTSequenceClassifier(rough(gpt(positions=positions)), C), drawn(B, T)
        for real in (None, torch.arange(T) < torch.tensor([[3], [5]])):
            wanted = model(ids, real)
            with torch.device("meta"):  # where all goes that is made without a device
                assert torch.equal(model(ids, real), wanted)


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_first_loss_is_near_that_of_a_guess(tie, pre_norm, positions):
    vocab = 400
    model = gpt(
        vocab_size=vocab, d_model=96, tie_output=tie, pre_norm=pre_norm, positions=positions
    )
    ids, answer = drawn(32, MAX, high=vocab), drawn(32, MAX, high=vocab, seed=1)
    loss = F.cross_entropy(model(ids)[0].flatten(0, 1), answer.flatten())
    assert abs(loss.item() - math.log(vocab)) < 0.3


@pytest.mark.parametrize("tie", [True, False])
def test_the_first_weights_are_as_in_gpt2(tie):
    model = gpt(d_model=96, d_ff=192, n_layers=8, vocab_size=300, tie_output=tie)
    small = 0.02 / 4  # sqrt(2 * 8)
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            assert not p.any()
        elif "norm" in name:
            assert (p == 1).all()
        else:
            wanted = small if name.endswith(("w_o.weight", "w_2.weight")) else 0.02
            assert p.std().item() == pytest.approx(wanted, rel=0.1), name


@pytest.mark.parametrize("tie", [True, False])
def test_the_tied_table(tie):
    model = gpt(tie_output=tie)
    for twin in (model, copy.deepcopy(model)):
        assert (twin.output.weight is twin.body.embed.tokens.weight) == tie
        assert twin.output.bias is None


def test_defaults_and_config_to_json_and_back():
    config = gpt().config
    assert (config.pre_norm, config.activation, config.positions) == (True, "gelu", "learned")
    assert config.tie_output
    assert isinstance(gpt().body.norm, torch.nn.LayerNorm)
    config = gpt(tie_output=False, activation="gelu_tanh", norm_eps=0.3).config
    assert GPTConfig(**json.loads(json.dumps(dataclasses.asdict(config)))) == config


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_config(self):
        with pytest.raises(TypeError, match="tie_output must be True or False, not 1"):
            gpt(tie_output=1)
        with pytest.raises(ValueError, match=r"positions must be one of .*'none', not 'alibi'"):
            gpt(positions="alibi")
        with pytest.raises(ValueError, match="n_classes must be at least 1, not 0"):
            GPTSequenceClassifier(gpt(), 0)

    def test_ids_and_real(self):
        model = gpt(positions="rotary")
        with pytest.raises(ValueError, match="ids must lie in 0 … 16, but 17"):
            model(torch.full((B, T), V))
        with pytest.raises(ValueError, match="ids must have at most max_len = 9 tokens"):
            model(drawn(B, MAX + 1))
        with pytest.raises(ValueError, match=r"real must have the shape of ids, \(2, 5\), not"):
            model(drawn(B, T), torch.ones(B, 1, T).bool())
        with pytest.raises(TypeError, match="real must be boolean"):
            model(drawn(B, T), torch.ones(B, T))
        real = torch.tensor([[True] * T, [False] * T])
        with pytest.raises(ValueError, match="real must be True somewhere in each row"):
            GPTSequenceClassifier(model, C)(drawn(B, T), real)


def test_a_new_head_has_the_dtype_of_the_model_below():
    model = gpt().to(torch.float64)
    assert GPTSequenceClassifier(model, C)(drawn(B, T)).dtype == torch.float64


def test_the_device_meta_gives_shapes():
    model, ids = gpt().to("meta"), torch.zeros(B, T, dtype=torch.long, device="meta")
    logits, _ = model(ids, torch.ones(B, T, dtype=torch.bool, device="meta"))
    assert logits.shape == (B, T, V)
    assert logits.is_meta
