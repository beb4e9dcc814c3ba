"""BERT's weights from Hugging Face's names to this book's, and back.

Nothing is computed: each tensor gets another name. Read the files with safetensors and JSON, such
as `attnbook.data.minilm` does, or `attnbook.pretrained.hub`; never with pickle.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attnbook.models.bert import Bert, BertConfig
from attnbook.models.bert_heads import (
    BertPretraining,
    BertQuestionAnswerer,
    BertSequenceClassifier,
    BertTokenClassifier,
)
from attnbook.pretrained import states

M = TypeVar("M", bound=nn.Module)

_BODY = (
    ("embed.tokens.", "embeddings.word_embeddings."),
    ("embed.positions.table", "embeddings.position_embeddings.weight"),
    ("embed.segments.", "embeddings.token_type_embeddings."),
    ("embed.norm.", "embeddings.LayerNorm."),
    ("layers.", "encoder.layer."),
    (".attention.w_q.", ".attention.self.query."),
    (".attention.w_k.", ".attention.self.key."),
    (".attention.w_v.", ".attention.self.value."),
    (".attention.w_o.", ".attention.output.dense."),
    (".around_attention.norm.", ".attention.output.LayerNorm."),
    (".feed_forward.w_1.", ".intermediate.dense."),
    (".feed_forward.w_2.", ".output.dense."),
    (".around_feed_forward.norm.", ".output.LayerNorm."),
    ("pooler.", "pooler.dense."),
)
_HEADS = (
    ("masked.transform.", "cls.predictions.transform.dense."),
    ("masked.norm.", "cls.predictions.transform.LayerNorm."),
    ("masked.output.weight", "cls.predictions.decoder.weight"),
    ("masked.output.bias", "cls.predictions.bias"),
    ("next_sentence.", "cls.seq_relationship."),
    ("classes.", "classifier."),
    ("ends.", "qa_outputs."),
)
_TWINS = (
    ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
    ("cls.predictions.decoder.bias", "cls.predictions.bias"),
)
_HEAD_KEYS = ("cls.", "classifier.", "qa_outputs.")
_KINDS = (Bert, BertPretraining, BertSequenceClassifier, BertTokenClassifier, BertQuestionAnswerer)


def config_from_hf(hf: Mapping[str, Any], *, pooler: bool = True) -> BertConfig:
    """The sizes and choices of a BERT, from what its config.json holds.

    Args:
        hf: Hugging Face's configuration as a dictionary.
        pooler: whether the weights have a pooler; the configuration does not say. Those of models
            for tokens, answers or masked tokens alone often have none.

    Raises:
        ValueError: the configuration of another model, without one of the sizes, or with a choice
            that this book's model does not have.

    Source: Devlin et al. 2019.
    Chapter: 13_bert_finetuning
    """
    sizes = {
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "d_ff": "intermediate_size",
        "n_layers": "num_hidden_layers",
        "vocab_size": "vocab_size",
        "max_len": "max_position_embeddings",
    }
    fixed = {
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    }
    states.check_config(hf, "bert", needed=sizes.values(), fixed=fixed)
    shares = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
    if hf.get("classifier_dropout") is not None:
        shares.append("classifier_dropout")
    return BertConfig(
        **{ours: hf[theirs] for ours, theirs in sizes.items()},
        n_segments=hf.get("type_vocab_size", 2),
        activation=states.activation(hf.get("hidden_act", "gelu")),
        norm_eps=hf.get("layer_norm_eps", 1e-12),
        dropout=states.dropout(hf, *shares),
        pooler=pooler,
    )


def from_hf(state_dict: Mapping[str, Tensor], config: BertConfig, kind: type[M] = Bert) -> M:
    """A model with Hugging Face's weights, in `eval()` mode and in their dtype.

    Args:
        state_dict: the tensors by Hugging Face's names, those of today or of BERT's first release.
        config: of the same sizes, such as `config_from_hf` gives.
        kind: the class of the model: `Bert` (of a model with a head, the head is left out),
            `BertPretraining` (from BertForPreTraining, or without a pooler from BertForMaskedLM),
            `BertSequenceClassifier`, `BertTokenClassifier` or `BertQuestionAnswerer`.

    Raises:
        TypeError: another kind, or weights of more than one dtype.
        ValueError: a key that is missing or unexpected, a shape that does not fit the config, or
            tied weights that differ.

    Source: Devlin et al. 2019.
    Chapter: 13_bert_finetuning
    """
    if kind not in _KINDS:
        wanted = ", ".join(k.__name__ for k in _KINDS)
        raise TypeError(f"kind must be one of {wanted}, not {kind!r}")
    _check_norm(config)
    given = _todays(state_dict)
    if kind is Bert:
        if any(key.startswith("bert.") for key in given):
            given = {k: x for k, x in given.items() if not k.startswith(_HEAD_KEYS)}
        given = {key.removeprefix("bert."): x for key, x in given.items()}
    if kind is BertPretraining:
        states.complete_twins(given, _TWINS)
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn for nothing
        model = _built(kind, config, given)
    names, sizes = _names(model), {k: tuple(x.shape) for k, x in model.state_dict().items()}
    wanted = {theirs: sizes[ours] for theirs, ours in names.items()}
    states.check_keys(given, wanted)
    return states.loaded(model, {ours: given[theirs] for theirs, ours in names.items()})


def to_hf(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a `Bert` or of one with a head, by Hugging Face's names, as copies.

    What `from_hf` has read comes back to the bit, but for a head that it left out.

    Raises:
        TypeError: a model of no such kind.
        ValueError: one that Hugging Face has not: with pre-norm, or a classifier that pools in
            another way than by the pooler.

    Source: Devlin et al. 2019.
    Chapter: 13_bert_finetuning
    """
    if type(model) not in _KINDS:
        wanted = ", ".join(k.__name__ for k in _KINDS)
        raise TypeError(f"model must be one of {wanted}, not {type(model).__name__}")
    _check_norm(model.config if isinstance(model, Bert) else model.bert.config)
    if isinstance(model, BertSequenceClassifier) and model.pool != "pooler":
        raise ValueError(f"pool must be 'pooler' for Hugging Face's classifier, not {model.pool!r}")
    ours = model.state_dict()
    return {theirs: states.copied(ours[name]) for theirs, name in _names(model).items()}


def _check_norm(config: BertConfig) -> None:
    if config.pre_norm:
        raise ValueError("pre_norm must be False: BERT has its norms behind the sums")


def _todays(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The names of BERT's first release made those of today, and what is no weight left out."""
    old = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
    return {
        states.rename(key, old): x
        for key, x in state_dict.items()
        if not re.fullmatch(r"(bert\.)?embeddings\.position_ids", key)  # 0, 1, 2 …
    }


def _built(kind: type[M], config: BertConfig, given: Mapping[str, Tensor]) -> M:
    bert = Bert(config)
    if kind is Bert:
        return bert
    if kind in (BertSequenceClassifier, BertTokenClassifier):
        rows = given.get("classifier.weight", [None])  # where it is missing, the check says so
        return kind(bert, len(rows))
    return kind(bert)


def _names(model: nn.Module) -> dict[str, str]:
    """Hugging Face's name of each tensor, and ours: two of theirs may be one of ours."""
    names = {}
    for key in model.state_dict():
        if isinstance(model, Bert):
            names[states.rename(key, _BODY)] = key
        elif key.startswith("bert."):
            names["bert." + states.rename(key.removeprefix("bert."), _BODY)] = key
        else:
            names[states.rename(key, _HEADS)] = key
    if isinstance(model, BertPretraining):
        names["cls.predictions.decoder.bias"] = "masked.output.bias"
    return names
