"""GPT-2's weights from Hugging Face's names to this book's, and back.

There a linear layer's weight is stored as inputs x outputs, the other way round than torch's, and
the projections to queries, keys and values are one layer, side by side. Nothing is computed.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attnbook.models.gpt import GPT, GPTConfig, GPTSequenceClassifier
from attnbook.pretrained import states

M = TypeVar("M", bound=nn.Module)

_NAMES = (
    ("body.embed.tokens.", "transformer.wte."),
    ("body.embed.positions.table", "transformer.wpe.weight"),
    ("body.layers.", "transformer.h."),
    ("body.norm.", "transformer.ln_f."),
    (".around_attention.norm.", ".ln_1."),
    (".attention.w_q.", ".attn.c_attn."),
    (".attention.w_k.", ".attn.c_attn."),
    (".attention.w_v.", ".attn.c_attn."),
    (".attention.w_o.", ".attn.c_proj."),
    (".around_feed_forward.norm.", ".ln_2."),
    (".feed_forward.w_1.", ".mlp.c_fc."),
    (".feed_forward.w_2.", ".mlp.c_proj."),
    ("output.", "lm_head."),
    ("classes.", "score."),
)
_TWINS = (("lm_head.weight", "transformer.wte.weight"),)
_HEAD_KEYS = ("lm_head.", "score.")
_KINDS = (GPT, GPTSequenceClassifier)
_UNUSED = "gpt.output.weight"  # of the classifier: tied to the table, and not in their file


def config_from_hf(hf: Mapping[str, Any]) -> GPTConfig:
    """The sizes and choices of a GPT-2, from what its config.json holds.

    Args:
        hf: Hugging Face's configuration as a dictionary.

    Raises:
        ValueError: the configuration of another model, without one of the sizes, or with a choice
            that this book's model does not have.

    Source: Radford et al. 2019.
    Chapter: 14_gpt
    """
    sizes = {
        "d_model": "n_embd",
        "n_heads": "n_head",
        "n_layers": "n_layer",
        "vocab_size": "vocab_size",
        "max_len": "n_positions",
    }
    fixed = {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
    }
    states.check_config(hf, "gpt2", needed=sizes.values(), fixed=fixed)
    return GPTConfig(
        **{ours: hf[theirs] for ours, theirs in sizes.items()},
        d_ff=hf.get("n_inner") or 4 * hf["n_embd"],
        activation=states.activation(hf.get("activation_function", "gelu_new")),
        norm_eps=hf.get("layer_norm_epsilon", 1e-5),
        dropout=states.dropout(hf, "resid_pdrop", "embd_pdrop", "attn_pdrop"),
        tie_output=hf.get("tie_word_embeddings", True),
    )


def from_hf(state_dict: Mapping[str, Tensor], config: GPTConfig, kind: type[M] = GPT) -> M:
    """A model with Hugging Face's weights, in `eval()` mode and in their dtype.

    Args:
        state_dict: the tensors by Hugging Face's names, with or without "transformer." in front.
        config: of the same sizes, such as `config_from_hf` gives.
        kind: the class of the model: `GPT` (from GPT2LMHeadModel or GPT2Model), or
            `GPTSequenceClassifier` (from GPT2ForSequenceClassification).

    Raises:
        TypeError: another kind, or weights of more than one dtype.
        ValueError: a key that is missing or unexpected, a shape that does not fit the config, or
            tied weights that differ.

    Source: Radford et al. 2019.
    Chapter: 14_gpt
    """
    if kind not in _KINDS:
        raise TypeError(f"kind must be GPT or GPTSequenceClassifier, not {kind!r}")
    _check_config(config, kind)
    given = _weights(state_dict)
    if kind is GPT and config.tie_output:
        states.complete_twins(given, _TWINS)
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn for nothing
        model = GPT(config)
        if kind is GPTSequenceClassifier:
            rows = given.get("score.weight", [None])  # where it is missing, the check says so
            model = GPTSequenceClassifier(model, len(rows))
    shapes = _packed({key: x.to("meta") for key, x in model.state_dict().items()})
    states.check_keys(given, {name: tuple(x.shape) for name, x in shapes.items()})
    ours = {key: _taken(given, key) for key in model.state_dict() if key != _UNUSED}
    if kind is GPTSequenceClassifier:
        ours[_UNUSED] = ours["gpt.body.embed.tokens.weight"]
    return states.loaded(model, ours)


def to_hf(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a `GPT` or `GPTSequenceClassifier` by Hugging Face's names, as copies.

    What `from_hf` has read comes back to the bit.

    Raises:
        TypeError: a model of no such kind.
        ValueError: one that GPT-2 is not: with other positions than learned ones, with the norms
            behind the sums, or a classifier over a GPT whose output is not tied.

    Source: Radford et al. 2019.
    Chapter: 14_gpt
    """
    if type(model) not in _KINDS:
        raise TypeError(f"model must be GPT or GPTSequenceClassifier, not {type(model).__name__}")
    _check_config(model.config if isinstance(model, GPT) else model.gpt.config, type(model))
    return {name: states.copied(x) for name, x in _packed(model.state_dict()).items()}


def _check_config(config: GPTConfig, kind: type) -> None:
    if config.positions != "learned":
        raise ValueError(f"positions must be 'learned' as GPT-2's are, not {config.positions!r}")
    if not config.pre_norm:
        raise ValueError("pre_norm must be True as in GPT-2")
    if kind is GPTSequenceClassifier and not config.tie_output:
        raise ValueError("tie_output must be True: Hugging Face's classifier has no output layer")


def _weights(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights alone, by their full names: older files have the masks among them."""
    bare = not any(key.startswith("transformer.") for key in state_dict)
    return {
        f"transformer.{key}" if bare and not key.startswith(_HEAD_KEYS) else key: x
        for key, x in state_dict.items()
        if not re.fullmatch(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias", key)
    }


def _place(key: str) -> tuple[str, int, bool]:
    """Their name for our key, which part of three it is there, and whether rows are columns."""
    name = states.rename(key.removeprefix("gpt."), _NAMES)
    found = re.search(r"\.w_([qkv])\.", key)
    return name, "qkv".index(found[1]) if found else -1, bool(re.search(r"\.w_.\.weight$", key))


def _taken(given: Mapping[str, Tensor], key: str) -> Tensor:
    name, part, turned = _place(key)
    x = given[name] if part < 0 else given[name].chunk(3, dim=-1)[part]
    return x.T if turned else x


def _packed(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    parts: dict[str, dict[int, Tensor]] = {}
    for key, x in ours.items():
        if key != _UNUSED:
            name, part, turned = _place(key)
            parts.setdefault(name, {})[part] = x.T if turned else x
    return {
        name: torch.cat([x for _, x in sorted(found.items(), key=lambda item: item[0])], dim=-1)
        for name, found in parts.items()
    }
