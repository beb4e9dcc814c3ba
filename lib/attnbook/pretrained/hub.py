"""Weights from the Hugging Face hub, pinned to one commit: safetensors and JSON alone.

The package `huggingface_hub` does the download and keeps the files. It comes with `transformers`,
and is asked for only here. Nothing of the book needs the hub: it is for larger models, where the
network is open.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from attnbook.data.fetch import cache_root

# The commits whose files are known to hold what the book says of these models. Other models, and
# other commits of these, are had by their full commit.
REVISIONS = {
    "google-bert/bert-base-uncased": "86b5e0934494bd15c9632b12f734a8a67f723594",
    "google-bert/bert-base-chinese": "8f23c25b06e129b6c986331a13d8d025a92cf0ea",
    "openai-community/gpt2": "607a30d783dfa663caf39e06633721c8d4cfcd7e",
    "google/vit-base-patch16-224": "3f49326eb077187dfe1c2a2bb15fbd74e6ab91e3",
}
_SHORT = {
    "bert-base-uncased": "google-bert/bert-base-uncased",
    "bert-base-chinese": "google-bert/bert-base-chinese",
    "gpt2": "openai-community/gpt2",
}
_FILES = ("config.json", "model.safetensors")


class HubError(Exception):
    """A file of the hub is not to be had, or is damaged; the message says what to do."""


def from_hub(name: str, revision: str | None = None) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The configuration and the weights of a model on the hub, by Hugging Face's names.

    What they become: `attnbook.pretrained.bert.config_from_hf` and `from_hf`, and those beside it.
    The first use downloads the files; later ones need no network.

    Args:
        name: "owner/model", or the short name of one in `REVISIONS`, such as "gpt2".
        revision: the full commit, 40 hexadecimal digits; for the models in `REVISIONS` the one
            there unless given. A branch such as "main" is refused: it moves.

    Raises:
        ValueError: a name or revision of another form, or no revision for a model that has none.
        HubError: the files cannot be had, or cannot be read.

    Chapter: 13_bert_finetuning
    """
    config, weights = (hub_file(name, file, revision) for file in _FILES)
    try:
        return json.loads(config.read_text(encoding="utf-8")), load_file(weights)
    except (OSError, ValueError, SafetensorError) as error:
        raise HubError(f"{name}: the files in {weights.parent} cannot be read: {error}") from error


def hub_file(name: str, file: str, revision: str | None = None) -> Path:
    """The path of one file of a model on the hub, such as "tokenizer.json"; see `from_hub`.

    Args:
        name, revision: as `from_hub`.
        file: its name, which ends in .safetensors or .json.

    Raises:
        ValueError: as `from_hub`; a file of another kind, since a pickled one can run code.
        HubError: the file cannot be had.

    Chapter: 13_bert_finetuning
    """
    name, revision = _pinned(name, revision)
    if not re.fullmatch(r"[\w.-]+\.(safetensors|json)", file):
        raise ValueError(f"file must end in .safetensors or .json, not {file!r}")
    own = cache_root() / "hub" / name.replace("/", "--") / revision / file
    if own.is_file():
        return own
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        why = "the package huggingface_hub is missing (pip install huggingface_hub)"
        raise HubError(_advice(name, file, revision, why, own.parent)) from error
    try:
        return Path(hf_hub_download(name, file, revision=revision))
    except Exception as error:  # of its own kinds, of its HTTP client's, of the disk's
        why = f"{type(error).__name__}: {str(error).strip()}"
        raise HubError(_advice(name, file, revision, why, own.parent)) from error


def _pinned(name: str, revision: str | None) -> tuple[str, str]:
    name = _SHORT.get(name, name)
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        raise ValueError(f"name must be 'owner/model' or one of {', '.join(_SHORT)}, not {name!r}")
    revision = REVISIONS.get(name) if revision is None else revision
    if revision is None:
        raise ValueError(f"revision must be given for {name}: its full commit")
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise ValueError(
            f"revision must be a full commit, 40 hexadecimal digits, not {revision!r}: "
            "a branch or a tag can move"
        )
    return name, revision


def _advice(name: str, file: str, revision: str, why: str, folder: Path) -> str:
    files = _FILES if file in _FILES else (file,)
    command = ["hf", "download", name, *files, "--revision", revision, "--local-dir", "."]
    return (
        f"{file} of {name} could not be had: {why}\n"
        f"Without a network, run this on a machine that has one (pip install huggingface_hub):\n"
        f"    {shlex.join(command)}\n"
        f"then put the files that it saves into this folder, and try again:\n"
        f"    {folder}"
    )
