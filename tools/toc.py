"""What _toc.yml and _config.yml say, and the plan of the book: for the tools and the tests."""

from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))


def _files(node: dict) -> Iterator[str]:
    if "root" in node:
        yield node["root"]
    if "file" in node:
        yield node["file"]
    for key in ("parts", "chapters", "sections"):
        for child in node.get(key, []):
            yield from _files(child)


def source(page: str) -> Path:
    """The file that a page is made from."""
    return next(path for s in (".md", ".ipynb") if (path := ROOT / f"{page}{s}").is_file())


PAGES = list(_files(TOC))  # in the order of the book, without suffix
NOTEBOOKS = [page for page in PAGES if source(page).suffix == ".ipynb"]
# The chapters of the whole book, by file name, whether they are written yet or not.
PLANNED = (
    "01_embeddings",
    "02_subwords",
    "03_recurrence",
    "04_self_attention",
    "05_multi_head",
    "06_positions",
    "07_spans_cnn_rnn",
    "08_encoder",
    "09_decoder",
    "10_cross_attention",
    "11_training",
    "12_bert_pretraining",
    "13_bert_finetuning",
    "14_gpt",
    "15_in_context",
    "16_vit",
    "17_beyond_text",
)
