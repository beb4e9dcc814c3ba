"""What pretraining is worth (chapter 13): a BERT fine-tuned from two starts, on few labels or many.

The weights of 22.7 million parameters are not kept; what was measured is.
"""

from typing import Any

import torch

from attnbook import runtime, sentiment
from attnbook.data import minilm, movies
from attnbook.models.bert import Bert
from attnbook.pretrained.bert import config_from_hf, from_hf
from attnbook.trained.recipe import Experiment

HALF = torch.bfloat16  # the layers are computed in it; the weights keep their float32
# Start, labels, epochs, seed. On the validation side ten epochs with 400 labels are no better than
# four (0.801 and 0.804, seed 0). The random start has twice the epochs where there are many labels.
RUNS = (
    ("pretrained", 100, 4, 0),
    ("pretrained", 100, 4, 1),
    ("pretrained", 400, 4, 0),
    ("pretrained", 400, 4, 1),
    ("pretrained", 400, 4, 2),
    ("pretrained", 800, 4, 0),
    ("pretrained", 800, 4, 1),
    ("pretrained", 800, 4, 2),
    ("pretrained", 1600, 2, 0),
    ("pretrained", 8000, 1, 0),
    ("random", 100, 4, 0),
    ("random", 400, 4, 0),
    ("random", 1600, 4, 0),
    ("random", 8000, 2, 0),
)
RATES = {"pretrained": 1e-4, "random": 3e-4}


def fine_tuned(
    start: str, n: int, epochs: int, seed: int, *, rows: int = 32, half: bool = True
) -> float:
    """The share of test sentences judged right after fine-tuning all layers on n labels.

    The table of tokens stays as it is in the pretrained model, and is trained in the random one.

    Args:
        start: "pretrained", with the weights of minilm, or "random", with the same sizes.
        n: labelled sentences.
        epochs: how often each is seen.
        seed: of the sentences drawn, of their order and of all first weights.
        rows: sentences a batch.
        half: whether the layers are computed in `HALF`: faster where the processor has it.

    Raises:
        ValueError: another start.

    Chapter: 13_bert_finetuning
    """
    if start not in RATES:
        raise ValueError(f"start must be one of {', '.join(RATES)}, not {start!r}")
    learn, _, test = (movies.polar(side) for side in movies.split(movies.load()))
    tokenizer, config = minilm.load_tokenizer(), config_from_hf(minilm.load_config())
    runtime.seed(seed)
    bert = Bert(config) if start == "random" else from_hf(minilm.load_weights(), config)
    bert.embed.tokens.requires_grad_(start == "random")
    model = sentiment.fine_tune(
        bert,
        sentiment.draw_snippets(learn, n, seed),
        tokenizer,
        epochs=epochs,
        lr=RATES[start],
        seed=seed,
        rows=rows,
        autocast=HALF if half else None,
    )
    with torch.autocast(runtime.device().type, HALF, enabled=half):
        return sentiment.share_right(model, test, tokenizer)


def _run() -> dict[str, Any]:
    """One row for each of `RUNS`: start, labels, epochs, seed and accuracy on the test sentences.

    Chapter: 13_bert_finetuning
    """
    names = ("start", "labels", "epochs", "seed", "accuracy")
    rows = []
    for run in RUNS:
        rows.append(dict(zip(names, (*run, fine_tuned(*run)), strict=True)))
        print(rows[-1], flush=True)  # the next one takes minutes
    return {"rows": rows}


RECIPE = Experiment(name="sentiment", data=("minilm", "movies"), seed=0, run=_run)
