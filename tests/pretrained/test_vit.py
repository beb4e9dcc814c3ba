"""Configurations as released, and what is refused. The weights are held in tests/reference."""

import dataclasses

import pytest
import torch

from attnbook.models.vit import ViT, ViTConfig
from attnbook.pretrained.vit import config_from_hf, from_hf, to_hf

SMALL = ViTConfig(
    d_model=15, n_heads=5, d_ff=11, n_layers=2, image_size=(6, 8), patch_size=(3, 2), n_channels=2
)
BASE = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12, "patch_size": (16, 16)}


def test_the_configuration_of_a_released_classifier():
    given = {  # as google/vit-base-patch16-224 has it, with three classes
        "architectures": ["ViTForImageClassification"], "attention_probs_dropout_prob": 0.0,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "hidden_size": 768,
        "id2label": {"0": "tench", "1": "goldfish", "2": "great white shark"}, "image_size": 224,
        "intermediate_size": 3072, "layer_norm_eps": 1e-12, "model_type": "vit",
        "num_attention_heads": 12, "num_channels": 3, "num_hidden_layers": 12, "patch_size": 16,
        "qkv_bias": True,
    }  # fmt: skip
    wanted = ViTConfig(image_size=(224, 224), n_classes=3, **BASE)
    assert config_from_hf(given) == wanted
    assert config_from_hf({"architectures": given["architectures"], "num_labels": 3}) == wanted


def test_what_is_not_said_has_their_default():
    assert config_from_hf({}) == ViTConfig(image_size=224, **BASE)
    assert config_from_hf({"architectures": ["ViTModel"]}).pooler
    assert config_from_hf({"architectures": ["ViTForImageClassification"]}).n_classes == 2


def test_each_value_arrives():
    given = {
        "hidden_size": 15, "num_attention_heads": 5, "intermediate_size": 11, "image_size": [6, 8],
        "num_hidden_layers": 2, "patch_size": [3, 2], "num_channels": 2, "qkv_bias": False,
        "layer_norm_eps": 0.1, "hidden_act": "gelu_new", "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": 0.2, "pooler_act": "relu",
    }  # fmt: skip
    assert config_from_hf(given) == dataclasses.replace(
        SMALL, qkv_bias=False, norm_eps=0.1, activation="gelu_tanh", dropout=0.2
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hidden_act": "selu"}, "hidden_act of relu, gelu, .* not 'selu'"),
        ({"hidden_dropout_prob": 0.1}, r"is 0\.1 and attention_probs_dropout_prob 0\.0"),
        ({"attention_probs_dropout_prob": 0.1}, r"is 0\.0 and attention_probs_dropout_prob 0\.1"),
        ({"pooler_output_size": 5}, "a pooler of 768 numbers with tanh, not of 5 with tanh"),
        ({"pooler_act": "relu"}, "a pooler of 768 numbers with tanh, not of 768 with relu"),
    ],
)
def test_a_choice_that_vit_does_not_have(wrong, message):
    with pytest.raises(ValueError, match=message):
        config_from_hf({"architectures": ["ViTModel"], **wrong})


def test_weights_that_do_not_fit():
    state = to_hf(ViT(SMALL))
    with pytest.raises(ValueError, match=r"but it lacks pooler\.dense\.bias, pooler\.dense\.wei"):
        from_hf(state, dataclasses.replace(SMALL, pooler=True))
    with pytest.raises(ValueError, match=r"but it has classifier\.bias$"):
        from_hf(state | {"classifier.bias": torch.zeros(4)}, SMALL)
    with pytest.raises(ValueError, match=r"lacks layers\.2\..* and has x"):
        from_hf(state | {"x": torch.zeros(4)}, dataclasses.replace(SMALL, n_layers=3))
    name = "embeddings.position_embeddings"
    for bad, given in ((torch.zeros(1, 3, 15), r"\(1, 3"), (torch.zeros(2, 9, 15), r"\(2, 9")):
        with pytest.raises(ValueError, match=rf"{name} of the shape \(1, 9, 15\), not {given}, 15"):
            from_hf(state | {name: bad}, SMALL)
    with pytest.raises(ValueError, match=r"mlp\.fc1\.weight of the shape \(11, 15\), not \(15, 11"):
        from_hf(state | {"layers.1.mlp.fc1.weight": torch.zeros(15, 11)}, SMALL)


def test_models_that_theirs_cannot_be():
    for wrong in ({"positions": "none"}, {"pre_norm": False}):
        config = dataclasses.replace(SMALL, **wrong)
        with pytest.raises(ValueError, match="has learned positions and pre_norm True, not"):
            to_hf(ViT(config))
        with pytest.raises(ValueError, match="has learned positions and pre_norm True, not"):
            from_hf({}, config)
    with pytest.raises(ValueError, match="a pooler or classes, not a pooler and 4 classes"):
        to_hf(ViT(dataclasses.replace(SMALL, pooler=True, n_classes=4)))


@pytest.mark.usefixtures("plain")
def test_weights_of_two_dtypes_or_none():
    weights = to_hf(ViT(SMALL))
    one = "embeddings.cls_token"
    for x in (weights[one].half(), weights[one].long(), weights[one].tolist()):
        with pytest.raises(TypeError, match=one):
            from_hf({**weights, one: x}, SMALL)
    with pytest.raises(TypeError, match="one floating-point dtype"):
        from_hf({name: x.long() for name, x in weights.items()}, SMALL)
    for x in (torch.tensor(1.0), torch.zeros(0, 1, 15)):
        with pytest.raises(ValueError, match=rf"{one} of the shape \(1, 1, 15\)"):
            from_hf({**weights, one: x}, SMALL)


def test_reading_weights_draws_no_random_numbers():
    weights, state = to_hf(ViT(SMALL)), torch.get_rng_state()
    from_hf(weights, SMALL)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_configuration_of_another_model():
    with pytest.raises(ValueError, match="a 'vit' model, not of 'bert'"):
        config_from_hf({"model_type": "bert", "hidden_size": 15})
