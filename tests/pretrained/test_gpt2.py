"""Names and shapes between Hugging Face's GPT-2 and ours: both ways, and clear refusals."""

import dataclasses

import pytest
import torch
from safetensors.torch import load_file, save_file

from attnbook.models.gpt import GPT, GPTConfig, GPTSequenceClassifier
from attnbook.pretrained.gpt2 import config_from_hf, from_hf, to_hf

D, H, D_FF, N, V, MAX, C = 15, 5, 11, 2, 17, 9, 6
HF = {
    "model_type": "gpt2",
    "n_embd": D,
    "n_head": H,
    "n_layer": N,
    "n_inner": D_FF,
    "vocab_size": V,
    "n_positions": MAX,
}
CONFIG = GPTConfig(
    d_model=D, n_heads=H, d_ff=D_FF, n_layers=N, vocab_size=V, max_len=MAX, dropout=0.1,
    activation="gelu_tanh",
)  # fmt: skip
KINDS = {GPT: lambda g: g, GPTSequenceClassifier: lambda g: GPTSequenceClassifier(g, C)}
kinds = pytest.mark.parametrize("kind", KINDS)


def model_of(kind, **changes):
    model = KINDS[kind](GPT(dataclasses.replace(CONFIG, **changes)))
    for p in model.parameters():
        torch.nn.init.normal_(p)
    return model.eval()


def test_the_configuration_by_name():
    assert config_from_hf(HF) == CONFIG
    more = {
        "activation_function": "relu",
        "layer_norm_epsilon": 0.25,
        "resid_pdrop": 0.3,
        "embd_pdrop": 0.3,
        "attn_pdrop": 0.3,
        "tie_word_embeddings": False,
        "n_inner": None,
        "n_ctx": 99,
    }
    wanted = dataclasses.replace(
        CONFIG, activation="relu", norm_eps=0.25, dropout=0.3, tie_output=False, d_ff=4 * D
    )
    assert config_from_hf(HF | more) == wanted


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"model_type": "bert"}, "of a 'gpt2' model, not of 'bert'"),
        ({"scale_attn_weights": False}, "scale_attn_weights must be True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "inverse_layer_idx must be False"),
        ({"add_cross_attention": True}, "add_cross_attention must be False"),
        ({"activation_function": "silu"}, "activation must be one of"),
        ({"embd_pdrop": 0.2}, r"must all be one, not resid_pdrop 0\.1, embd_pdrop 0\.2, attn_pdro"),
    ],
)
def test_a_configuration_that_our_model_does_not_have(change, match):
    with pytest.raises(ValueError, match=match):
        config_from_hf(HF | change)


@kinds
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_there_and_back_through_a_file_to_the_bit(kind, dtype, tmp_path):
    model = model_of(kind).to(dtype)
    save_file(to_hf(model), tmp_path / "m.safetensors")
    there = load_file(tmp_path / "m.safetensors")
    before = torch.get_rng_state()
    again = from_hf(there, CONFIG, kind)
    assert torch.equal(torch.get_rng_state(), before)
    assert type(again) is kind
    assert not again.training
    one, two = model.state_dict(), again.state_dict()
    assert one.keys() == two.keys()
    for name, x in one.items():
        assert x.dtype == two[name].dtype == dtype
        assert torch.equal(x, two[name])
    back = to_hf(again)
    assert back.keys() == there.keys()
    assert all(torch.equal(x, back[name]) for name, x in there.items())


def test_the_layout_by_hand():
    model = model_of(GPT)
    there, layer = to_hf(model), model.body.layers[1]
    fused = there["transformer.h.1.attn.c_attn.weight"]
    assert fused.shape == (D, 3 * D)
    for i, w in enumerate((layer.attention.w_q, layer.attention.w_k, layer.attention.w_v)):
        assert torch.equal(fused[:, i * D : (i + 1) * D], w.weight.T)
        bias = there["transformer.h.1.attn.c_attn.bias"][i * D : (i + 1) * D]
        assert torch.equal(bias, w.bias)
    assert torch.equal(there["transformer.h.1.mlp.c_fc.weight"], layer.feed_forward.w_1.weight.T)


def test_the_output_tied_or_not():
    there = to_hf(model_of(GPT))
    assert torch.equal(there["lm_head.weight"], there["transformer.wte.weight"])
    for left_out in ("lm_head.weight", "transformer.wte.weight"):
        model = from_hf({k: x for k, x in there.items() if k != left_out}, CONFIG)
        assert model.output.weight is model.body.embed.tokens.weight
        assert torch.equal(model.output.weight, there["lm_head.weight"])
    there["lm_head.weight"] = there["lm_head.weight"] + 1
    with pytest.raises(ValueError, match=r"lm_head.weight and .* are tied here, but their values"):
        from_hf(there, CONFIG)
    free = from_hf(there, dataclasses.replace(CONFIG, tie_output=False))
    assert torch.equal(free.output.weight, there["lm_head.weight"])
    assert torch.equal(free.body.embed.tokens.weight, there["transformer.wte.weight"])


def test_a_file_of_the_first_release():
    """No "transformer." in front, no output layer, and the causal masks among the weights."""
    there = to_hf(model_of(GPT))
    old = {k.removeprefix("transformer."): x for k, x in there.items() if k != "lm_head.weight"}
    for i in range(N):
        old[f"h.{i}.attn.bias"] = torch.ones(1, 1, MAX, MAX)
        old[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    back = to_hf(from_hf(old, CONFIG))
    assert back.keys() == there.keys()
    assert all(torch.equal(x, back[name]) for name, x in there.items())


def test_the_classifier_s_own_output_is_the_table():
    model = from_hf(to_hf(model_of(GPTSequenceClassifier)), CONFIG, GPTSequenceClassifier)
    assert model.gpt.output.weight is model.gpt.body.embed.tokens.weight
    assert model.classes.weight.shape == (C, D)


@kinds
def test_each_missing_key_is_named(kind):
    there = to_hf(model_of(kind))
    for name in there:
        if kind is GPT and name in ("lm_head.weight", "transformer.wte.weight"):
            continue  # each has the value of the other
        with pytest.raises(ValueError, match=f"missing: {name}$".replace(".", r"\.")):
            from_hf({k: x for k, x in there.items() if k != name}, CONFIG, kind)


def test_what_does_not_fit_is_named():
    there = to_hf(model_of(GPT))
    with pytest.raises(ValueError, match=r"unexpected: extra$"):
        from_hf(there | {"extra": torch.zeros(3)}, CONFIG)
    with pytest.raises(ValueError, match=r"unexpected: score\.weight$"):
        from_hf(there | {"score.weight": torch.zeros(3, D)}, CONFIG)
    name = "transformer.h.0.mlp.c_fc.weight"
    with pytest.raises(ValueError, match=rf"{name} must have the shape \(15, 11\) .* not \(11, 15"):
        from_hf(there | {name: there[name].T}, CONFIG)
    with pytest.raises(TypeError, match=rf"one floating-point dtype, .*{name} torch\.float16"):
        from_hf(there | {name: there[name].half()}, CONFIG)


@pytest.mark.usefixtures("plain")
def test_other_kinds_and_choices():
    there = to_hf(model_of(GPT))
    with pytest.raises(TypeError, match="kind must be GPT or GPTSequenceClassifier, not <class"):
        from_hf(there, CONFIG, torch.nn.Linear)
    with pytest.raises(TypeError, match="model must be GPT or GPTSequenceClassifier, not Linear"):
        to_hf(torch.nn.Linear(2, 3))
    for change, match in (
        ({"positions": "sinusoidal"}, "positions must be 'learned' as GPT-2's are, not 'sinus"),
        ({"pre_norm": False}, "pre_norm must be True"),
    ):
        config = dataclasses.replace(CONFIG, **change)
        for call in (lambda c=config: from_hf(there, c), lambda c=config: to_hf(GPT(c))):
            with pytest.raises(ValueError, match=match):
                call()
    with pytest.raises(ValueError, match="tie_output must be True"):
        to_hf(model_of(GPTSequenceClassifier, tie_output=False))
