"""From one translator on, as many updates of four kinds, from three seeds: for chapter 11."""

import random
from typing import Any

import torch

from attnbook import runtime, trained, translating
from attnbook.metrics.bleu import corpus_bleu, sentence_bleu
from attnbook.models.seq2seq import Seq2Seq
from attnbook.trained import english_to_german
from attnbook.trained.recipe import Experiment
from attnbook.training import evaluate, linear_decay, train
from attnbook.translating import Translating, losses

SEEDS = (0, 1, 2)
UPDATES = 25
KINDS = ("cross-entropy", "label smoothing", "scheduled sampling", "policy gradient")
SHARE = 0.25  # of the tokens read, those that are the model's own in scheduled sampling


def continued(task: Translating, kind: str, seed: int) -> Seq2Seq:
    """The translator of `english_to_german` after `UPDATES` more, of one of the `KINDS`.

    About 1,024 target tokens, or 128 texts, an update. The rate of the policy gradient is lower:
    the gradient of a few draws is mostly noise.

    Source: Vaswani et al. 2017, section 5.4; Bengio et al. 2015; Rennie et al. 2017.
    Chapter: 11_training
    """
    before = trained.load(english_to_german.RECIPE).state_dict()
    runtime.seed(seed)
    generator = torch.Generator().manual_seed(seed)
    if kind == "policy gradient":
        # Without dropout: the texts are to be drawn from the very model that is trained.
        model, lr = translating.translator(dropout=0.0), 1e-4
        pairs = random.Random(seed).sample(task.train, len(task.train))
        batches: list[Any] = [pairs[i : i + 128] for i in range(0, len(pairs), 128)]
    else:
        model, lr = translating.translator(), 1e-3
        batches = translating.translation_batches(task, task.train, tokens=1024)
        random.shuffle(batches)
    loss_fn = {
        "cross-entropy": losses.translation_loss,
        "label smoothing": losses.smoothed_loss,
        "scheduled sampling": losses.scheduled_loss(SHARE, generator),
        "policy gradient": losses.reward_loss(task, generator),
    }[kind]
    model.load_state_dict(before)
    train(model, batches, loss_fn, steps=UPDATES, lr=lr, schedule=linear_decay())
    return model


def translation_quality(task: Translating, model: Seq2Seq) -> dict[str, float]:
    """Of the greedy translations of the test pairs; both scores 0 … 100.

    Returns:
        "cross_entropy" in nats a token, "bleu" of the corpus, and "reward": the mean of
        `sentence_bleu`.

    Chapter: 11_training
    """
    written = translating.translate(model, task, [pair.english for pair in task.test])
    right = [pair.translations for pair in task.test]
    each = [sentence_bleu(*both) for both in zip(written, right, strict=True)]
    batches = translating.translation_batches(task, task.test)
    return {
        "cross_entropy": evaluate(model, batches, losses.translation_nll),
        "bleu": corpus_bleu(written, right),
        "reward": sum(each) / len(each),
    }


def _run() -> dict[str, Any]:
    task = translating.load()
    before = translation_quality(task, trained.load(english_to_german.RECIPE))
    after: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for seed in SEEDS:
        for kind in KINDS:
            after[kind].append(translation_quality(task, continued(task, kind, seed)))
            print(seed, kind, after[kind][-1], flush=True)
    return {"updates": UPDATES, "seeds": list(SEEDS), "before": before, "after": after}


RECIPE = Experiment(name="english_to_german_compared", data=("homeassistant",), seed=0, run=_run)
