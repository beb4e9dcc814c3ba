"""The weights of Hugging Face's ViTs in the book's `ViT`, and back. Nothing is downloaded here.

The names are those of `transformers` 5, in memory: `ViTForImageClassification.state_dict()`. The
files of released models, and `transformers` 4, have older ones, which `from_hf` takes too.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnbook.models.vit import ViT, ViTConfig
from attnbook.pretrained import states

_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
# Their names and ours, of whole modules and of two tensors, which have one axis more there.
_LAYER = {
    "layernorm_before": "around_attention.norm",
    "attention.q_proj": "attention.w_q",
    "attention.k_proj": "attention.w_k",
    "attention.v_proj": "attention.w_v",
    "attention.o_proj": "attention.w_o",
    "layernorm_after": "around_feed_forward.norm",
    "mlp.fc1": "feed_forward.w_1",
    "mlp.fc2": "feed_forward.w_2",
}
_BODY = {
    "embeddings.patch_embeddings.projection": "embed",
    "layernorm": "norm",
    "pooler.dense": "pooler",
}
_BATCHED = {
    "embeddings.cls_token": "class_token",
    "embeddings.position_embeddings": "positions.table",
}
_OLD = (  # in this order: the first that fits
    (r"^encoder\.layer\.", "layers."),
    (r"\.attention\.attention\.query\.", ".attention.q_proj."),
    (r"\.attention\.attention\.key\.", ".attention.k_proj."),
    (r"\.attention\.attention\.value\.", ".attention.v_proj."),
    (r"\.attention\.output\.dense\.", ".attention.o_proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"\.output\.dense\.", ".mlp.fc2."),
)


def config_from_hf(hf_config: Mapping[str, Any]) -> ViTConfig:
    """The `ViTConfig` of a model's `config.json`, or of `model.config.to_dict()`.

    `architectures` says what stands at the end: "ViTForImageClassification" gives n_classes,
    "ViTModel" a pooler. Neither is there where it says nothing: `dataclasses.replace` adds it.

    Args:
        hf_config: the configuration as a dictionary. What it lacks has the value that
            `transformers` gives it.

    Raises:
        ValueError: the configuration of another model, a choice that `ViT` does not have, such as
            another activation, or two shares of dropout.

    Source: `ViTConfig` of `transformers`.
    Chapter: 16_vit
    """
    c = dict(hf_config)
    states.check_config(c, "vit", needed=(), fixed={})
    dropout = c.get("hidden_dropout_prob", 0.0)
    of_weights = c.get("attention_probs_dropout_prob", 0.0)
    if dropout != of_weights:
        raise ValueError(
            "hf_config must have one share of dropout, but hidden_dropout_prob is "
            f"{dropout} and attention_probs_dropout_prob {of_weights}"
        )
    if (activation := c.get("hidden_act", "gelu")) not in _ACTIVATIONS:
        raise ValueError(
            f"hf_config must have a hidden_act of {', '.join(_ACTIVATIONS)}, not {activation!r}"
        )
    d_model = c.get("hidden_size", 768)
    pooler = "ViTModel" in (c.get("architectures") or ())
    pooled = (c.get("pooler_output_size") or d_model, c.get("pooler_act", "tanh"))
    if pooler and pooled != (d_model, "tanh"):
        raise ValueError(
            f"hf_config must have a pooler of {d_model} numbers with tanh, not of {pooled[0]} "
            f"with {pooled[1]}"
        )
    classifies = "ViTForImageClassification" in (c.get("architectures") or ())
    n_labels = len(c["id2label"]) if c.get("id2label") else c.get("num_labels", 2)
    return ViTConfig(
        image_size=c.get("image_size", 224),
        patch_size=c.get("patch_size", 16),
        n_channels=c.get("num_channels", 3),
        n_classes=n_labels if classifies else None,
        d_model=d_model,
        n_heads=c.get("num_attention_heads", 12),
        d_ff=c.get("intermediate_size", 3072),
        n_layers=c.get("num_hidden_layers", 12),
        dropout=float(dropout),
        activation=_ACTIVATIONS[activation],
        norm_eps=c.get("layer_norm_eps", 1e-12),
        pooler=pooler,
        qkv_bias=c.get("qkv_bias", True),
    )


def from_hf(state_dict: Mapping[str, Tensor], config: ViTConfig) -> ViT:
    """A `ViT` with the weights of a `ViTModel` or `ViTForImageClassification`.

    Args:
        state_dict: theirs, by the new names or the old; it is copied.
        config: from `config_from_hf`.

    Returns:
        The model, in the weights' dtype and in `eval()` mode.

    Raises:
        TypeError: weights of more than one dtype, or of none that is floating-point.
        ValueError: weights that the configuration has no place for, or that it lacks; positions
            that are not learned, or pre_norm False.

    Chapter: 16_vit
    """
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn for nothing
        model = ViT(config)
    theirs = {_new(name): tensor for name, tensor in state_dict.items()}
    names = _names(model)
    if lost := sorted(theirs.keys() ^ names.keys()):
        sides = [
            f"{what} {', '.join(found)}"
            for what, keys in (("lacks", names.keys()), ("has", theirs.keys()))
            if (found := [name for name in lost if name in keys][:4])
        ]
        raise ValueError(f"state_dict must be that of {config}, but it {' and '.join(sides)}")
    states.check_dtype(theirs)
    ours = {}
    for name, (own, batched) in names.items():
        wanted = (1,) * batched + tuple(model.get_parameter(own).shape)
        if tuple(theirs[name].shape) != wanted:
            raise ValueError(
                f"state_dict must have {name} of the shape {wanted}, "
                f"not {tuple(theirs[name].shape)}"
            )
        ours[own] = theirs[name][0] if batched else theirs[name]
    return states.loaded(model, ours)


def to_hf(model: ViT) -> dict[str, Tensor]:
    """The weights of a `ViT` by the names of `ViTModel`, or of `ViTForImageClassification`.

    Args:
        model: a ViT; with n_classes it makes the weights of `ViTForImageClassification`.

    Returns:
        A state_dict for `load_state_dict` in `transformers` 5; its tensors are copies.

    Raises:
        ValueError: what theirs cannot be: positions that are not learned, pre_norm False, or
            n_classes on top of a pooler.

    Chapter: 16_vit
    """
    ours = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    classifies = model.config.n_classes is not None
    return {
        f"vit.{name}" if classifies and not name.startswith("classifier.") else name: (
            ours[own][None] if batched else ours[own]
        )
        for name, (own, batched) in _names(model).items()
    }


def _names(model: ViT) -> dict[str, tuple[str, bool]]:
    """For each of their names (without "vit.") ours, and whether theirs has an axis in front."""
    c = model.config
    if c.positions != "learned" or not c.pre_norm:
        raise ValueError(
            f"Hugging Face's ViT has learned positions and pre_norm True, not {c.positions!r} and "
            f"{c.pre_norm}"
        )
    if c.pooler and c.n_classes is not None:
        raise ValueError(
            f"Hugging Face's ViT has a pooler or classes, not a pooler and {c.n_classes} classes"
        )
    present = dict(model.named_modules())
    modules = {**_BODY, "classifier": "output"}
    for i in range(c.n_layers):
        modules |= {f"layers.{i}.{one}": f"layers.{i}.{two}" for one, two in _LAYER.items()}
    names = {theirs: (ours, True) for theirs, ours in _BATCHED.items()}
    for theirs, ours in modules.items():
        if (module := present.get(ours)) is not None:
            for end, _ in module.named_parameters():
                names[f"{theirs}.{end}"] = (f"{ours}.{end}", False)
    return names


def _new(name: str) -> str:
    """The name of `transformers` 5 for one of 4 or 5, without "vit." in front."""
    name = name.removeprefix("vit.")
    for old, new in _OLD:
        name = re.sub(old, new, name)
    return name
