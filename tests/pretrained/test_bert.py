"""Names and shapes between Hugging Face's BERT and ours: both ways, and clear refusals."""

import dataclasses

import pytest
import torch
from safetensors.torch import load_file, save_file

from attnbook.models.bert import Bert, BertConfig
from attnbook.models.bert_heads import (
    BertPretraining,
    BertQuestionAnswerer,
    BertSequenceClassifier,
    BertTokenClassifier,
)
from attnbook.pretrained.bert import config_from_hf, from_hf, to_hf

D, H, D_FF, N, V, MAX, P, C = 15, 5, 11, 2, 17, 9, 3, 6
HF = {
    "model_type": "bert",
    "hidden_size": D,
    "num_attention_heads": H,
    "intermediate_size": D_FF,
    "num_hidden_layers": N,
    "vocab_size": V,
    "max_position_embeddings": MAX,
    "type_vocab_size": P,
}
CONFIG = BertConfig(
    d_model=D, n_heads=H, d_ff=D_FF, n_layers=N, vocab_size=V, max_len=MAX, n_segments=P,
    dropout=0.1,
)  # fmt: skip
KINDS = {
    Bert: lambda b: b,
    BertPretraining: BertPretraining,
    BertSequenceClassifier: lambda b: BertSequenceClassifier(b, C),
    BertTokenClassifier: lambda b: BertTokenClassifier(b, C),
    BertQuestionAnswerer: BertQuestionAnswerer,
}
kinds = pytest.mark.parametrize("kind", KINDS)
TABLE = "bert.embeddings.word_embeddings.weight"


def model_of(kind, **changes):
    model = KINDS[kind](Bert(dataclasses.replace(CONFIG, **changes)))
    for p in model.parameters():
        torch.nn.init.normal_(p)
    return model.eval()


# --- the configuration


def test_the_configuration_by_name():
    assert config_from_hf(HF) == CONFIG
    more = {
        "hidden_act": "gelu_new",
        "layer_norm_eps": 0.25,
        "hidden_dropout_prob": 0.3,
        "attention_probs_dropout_prob": 0.3,
        "classifier_dropout": 0.3,
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "directionality": "bidi",
    }
    wanted = dataclasses.replace(
        CONFIG, activation="gelu_tanh", norm_eps=0.25, dropout=0.3, pooler=False
    )
    assert config_from_hf(HF | more, pooler=False) == wanted
    without = {k: v for k, v in HF.items() if k not in ("type_vocab_size", "model_type")}
    assert config_from_hf(without) == dataclasses.replace(CONFIG, n_segments=2)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"model_type": "roberta"}, "of a 'bert' model, not of 'roberta'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
        ({"is_decoder": True}, "is_decoder must be False"),
        ({"add_cross_attention": True}, "add_cross_attention must be False"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings must be True"),
        ({"hidden_act": "silu"}, "activation must be one of 'relu', 'gelu', .* not 'silu'"),
        (
            {"hidden_dropout_prob": 0.2},
            r"all be one, not hidden_dropout_prob 0\.2, attention_probs_dropout_prob 0\.1",
        ),
        ({"classifier_dropout": 0.5}, "classifier_dropout 0.5"),
        ({"num_attention_heads": 4}, "n_heads must divide d_model"),
    ],
)
def test_a_configuration_that_our_model_does_not_have(change, match):
    with pytest.raises(ValueError, match=match):
        config_from_hf(HF | change)


def test_a_configuration_without_its_sizes():
    with pytest.raises(ValueError, match="hf must have hidden_size, vocab_size: missing"):
        config_from_hf({k: v for k, v in HF.items() if k not in ("hidden_size", "vocab_size")})


# --- both ways


@kinds
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_there_and_back_through_a_file_to_the_bit(kind, dtype, tmp_path):
    model = model_of(kind).to(dtype)
    save_file(to_hf(model), tmp_path / "m.safetensors")
    there = load_file(tmp_path / "m.safetensors")
    again = from_hf(there, CONFIG, kind)
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


def test_what_comes_back_shares_no_memory_with_the_model():
    model = model_of(BertPretraining)
    there = to_hf(model)
    before = {name: x.clone() for name, x in there.items()}
    assert not any(x.requires_grad for x in there.values())
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1)
    assert all(torch.equal(x, before[name]) for name, x in there.items())
    again = from_hf(there, CONFIG, BertPretraining)
    there[TABLE].zero_()
    assert again.bert.embed.tokens.weight.any()


def test_the_tied_output_stays_tied():
    model = from_hf(to_hf(model_of(BertPretraining)), CONFIG, BertPretraining)
    assert model.masked.output.weight is model.bert.embed.tokens.weight


@pytest.mark.parametrize(
    "left_out",
    [
        ["cls.predictions.decoder.weight", "cls.predictions.decoder.bias"],
        ["cls.predictions.decoder.weight", "cls.predictions.bias"],
        [TABLE],
    ],
)
def test_of_tied_weights_one_is_enough(left_out):
    there = to_hf(model_of(BertPretraining))
    given = {name: x for name, x in there.items() if name not in left_out}
    back = to_hf(from_hf(given, CONFIG, BertPretraining))
    assert back.keys() == there.keys()
    assert all(torch.equal(x, back[name]) for name, x in there.items())
    assert len(given) == len(there) - len(left_out)  # what was given is left as it was


def test_the_body_of_a_model_with_a_head():
    for kind in KINDS:
        model = model_of(kind)
        body = from_hf(to_hf(model), CONFIG)
        assert type(body) is Bert
        wanted = model if kind is Bert else model.bert
        assert all(torch.equal(x, body.state_dict()[k]) for k, x in wanted.state_dict().items())


def test_what_is_of_no_known_head_is_not_left_out():
    there = to_hf(model_of(BertTokenClassifier)) | {"lm_head.weight": torch.zeros(V, D)}
    with pytest.raises(ValueError, match=r"unexpected: lm_head\.weight$"):
        from_hf(there, CONFIG)


def test_without_a_pooler():
    config = dataclasses.replace(CONFIG, pooler=False)
    for kind in (BertPretraining, BertTokenClassifier, BertQuestionAnswerer):
        there = to_hf(model_of(kind, pooler=False))
        assert not any("pooler" in name or "seq_relationship" in name for name in there)
        assert type(from_hf(there, config, kind)) is kind


def test_the_names_of_bert_s_first_release():
    there = to_hf(model_of(BertPretraining))
    old = {
        k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("Norm.bias", "Norm.beta"): x
        for k, x in there.items()
    }
    old["bert.embeddings.position_ids"] = torch.arange(MAX)[None]
    assert sum("gamma" in name for name in old) == 2 * N + 2
    back = to_hf(from_hf(old, CONFIG, BertPretraining))
    assert all(torch.equal(x, back[name]) for name, x in there.items())
    body = {k.removeprefix("bert."): x for k, x in old.items() if k.startswith("bert.")}
    assert "embeddings.position_ids" in body
    from_hf(body, CONFIG)


def test_loading_draws_nothing():
    there = to_hf(model_of(Bert))
    before = torch.get_rng_state()
    from_hf(there, CONFIG)
    assert torch.equal(torch.get_rng_state(), before)


# --- refusals


@kinds
def test_each_missing_key_is_named(kind):
    there = to_hf(model_of(kind))
    for name in list(there):
        if kind is BertPretraining and (
            "decoder" in name or name in (TABLE, "cls.predictions.bias")
        ):
            continue  # another name has the same value
        with pytest.raises(ValueError, match=rf"missing: {name}$".replace(".", r"\.")):
            from_hf({k: x for k, x in there.items() if k != name}, CONFIG, kind)


@kinds
def test_an_unexpected_key_is_named(kind):
    there = to_hf(model_of(kind)) | {"bert.extra": torch.zeros(3)}
    with pytest.raises(ValueError, match=r"unexpected: (bert\.)?extra|missing: .*; unexpected"):
        from_hf(there, CONFIG, kind)


def test_many_keys_are_counted():
    with pytest.raises(ValueError, match=r"missing: enc.* and 33 more; unexpected: wte\.weight$"):
        from_hf({"wte.weight": torch.zeros(V, D)}, CONFIG)
    with pytest.raises(ValueError, match=r"missing: pooler\.dense\.weight, pooler\.dense\.bias$"):
        from_hf(to_hf(model_of(Bert, pooler=False)), CONFIG)
    with pytest.raises(ValueError, match=r"unexpected: encoder\.layer\.2\."):
        from_hf(to_hf(model_of(Bert, n_layers=3)), CONFIG)


def test_a_shape_that_does_not_fit_is_named():
    there = to_hf(model_of(Bert))
    name = "encoder.layer.1.intermediate.dense.weight"
    with pytest.raises(ValueError, match=rf"{name} must have the shape \(11, 15\) .* not \(15, 11"):
        from_hf(there | {name: there[name].T}, CONFIG)


@pytest.mark.parametrize("name", ["cls.predictions.decoder.weight", "cls.predictions.decoder.bias"])
def test_tied_weights_that_differ(name):
    there = to_hf(model_of(BertPretraining))
    there[name] = there[name] + 1
    with pytest.raises(ValueError, match=f"{name} and .* are tied here, but their values differ"):
        from_hf(there, CONFIG, BertPretraining)


def test_weights_of_two_dtypes_or_of_integers():
    there = to_hf(model_of(Bert))
    name = "pooler.dense.bias"
    for dtype in (torch.float16, torch.int8):
        with pytest.raises(TypeError, match=rf"one floating-point dtype, .*{name} {dtype}"):
            from_hf(there | {name: there[name].to(dtype)}, CONFIG)


@pytest.mark.usefixtures("plain")
def test_other_kinds_and_choices():
    there = to_hf(model_of(Bert))
    with pytest.raises(TypeError, match=r"kind must be one of Bert, .*, not <class 'torch"):
        from_hf(there, CONFIG, torch.nn.Linear)
    with pytest.raises(TypeError, match=r"model must be one of Bert, .*, not Linear"):
        to_hf(torch.nn.Linear(2, 3))
    with pytest.raises(ValueError, match=r"pool must be 'pooler' .* not 'mean'"):
        to_hf(BertSequenceClassifier(model_of(Bert), C, pool="mean"))
    pre = dataclasses.replace(CONFIG, pre_norm=True)
    for call in (lambda: from_hf(there, pre), lambda: to_hf(Bert(pre))):
        with pytest.raises(ValueError, match="pre_norm must be False"):
            call()
