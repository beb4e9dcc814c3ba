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
# The chapters of the whole book, written yet or not: file name and title.
TITLES = {
    "01_embeddings": "Embeddings",
    "02_subwords": "Subwords",
    "03_recurrence": "Recurrence",
    "04_self_attention": "Self-attention",
    "05_multi_head": "Multi-head attention",
    "06_positions": "Positions",
    "07_spans_cnn_rnn": "Spans, CNN, RNN",
    "08_encoder": "The encoder",
    "09_decoder": "The decoder",
    "10_cross_attention": "Cross-attention",
    "11_training": "Training",
    "12_bert_pretraining": "BERT: pretraining",
    "13_bert_finetuning": "BERT: fine-tuning",
    "14_gpt": "GPT",
    "15_in_context": "Learning in context",
    "16_vit": "Vision Transformer",
    "17_beyond_text": "Beyond text",
}
PLANNED = tuple(TITLES)
