"""Does text help with DNA (chapter 13)? Layers of a text model against others, all frozen."""

import random
from typing import Any

import torch

from attnbook import dna, runtime
from attnbook.data import minilm, promoter
from attnbook.pretrained.bert import config_from_hf, from_hf
from attnbook.trained.recipe import Experiment
from attnbook.training import evaluate, linear_decay, train

HALF = torch.bfloat16  # the layers are computed in it; the weights keep their float32
SEEDS, LABELS, EPOCHS, TEST = (0, 1, 2), 2000, 4, 1000


def fine_tuned(layers: str, seed: int, labels: int = LABELS, epochs: int = EPOCHS) -> float:
    """The share of test promoters judged right, after training all but the two frozen layers.

    Args:
        layers: those of minilm as `dna_reader` takes them, "text", "shuffled" or "random".
        seed: of all first weights; also which promoters are trained on.
        labels: how many promoters are trained on.
        epochs: how often each is seen.

    Raises:
        ValueError: layers of another name.

    Chapter: 13_bert_finetuning
    """
    learn, _, test = promoter.load()
    # The file has them in the order of their letters.
    learn = random.Random(seed).sample(learn, labels)
    test = random.Random(0).sample(test, TEST)
    text = from_hf(minilm.load_weights(), config_from_hf(minilm.load_config()))
    runtime.seed(seed)
    model = dna.dna_reader(text, n_layers=2, length=26, layers=layers)
    batches = dna.promoter_batches(learn)
    train(
        model,
        batches,
        dna.dna_loss,
        steps=epochs * len(batches),
        lr=2e-3,
        schedule=linear_decay(warmup=0.1),
        autocast=HALF,
    )
    with torch.autocast(runtime.device().type, HALF):
        return evaluate(model, dna.promoter_batches(test, 100), dna.right_promoters)


def _run() -> dict[str, Any]:
    """One row for each seed and start: layers, seed and accuracy on the test promoters.

    Chapter: 13_bert_finetuning
    """
    pairs = [(layers, seed) for seed in SEEDS for layers in dna.LAYERS]
    rows = [{"layers": x, "seed": s, "accuracy": fine_tuned(x, s)} for x, s in pairs]
    return {"labels": LABELS, "rows": rows}


RECIPE = Experiment(name="dna", data=("minilm", "promoter"), seed=0, run=_run)
