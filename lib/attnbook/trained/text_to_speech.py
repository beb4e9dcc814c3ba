"""One frozen layer of a text model that is to tell speakers apart, and two controls."""

from dataclasses import fields, replace
from typing import Any

import torch

from attnbook import checks, runtime, speakers
from attnbook.data import minilm
from attnbook.models.bert import Bert
from attnbook.models.stack import StackConfig
from attnbook.pretrained import bert
from attnbook.trained.recipe import Experiment
from attnbook.training import linear_decay, train
from attnbook.transplant import LAYERS, transplant

SEEDS = (1, 2, 3)
STEPS, BATCH, LR = 40, 30, 3e-3


def first_layer() -> Bert:
    """The trained text model `minilm`, of which its lowest layer is used.

    Raises:
        DataError: the weights cannot be had.

    Chapter: 17_beyond_text
    """
    return bert.from_hf(minilm.load_weights(), bert.config_from_hf(minilm.load_config()))


def frozen_reader(text: Bert, layers: str) -> speakers.FrameReader:
    """A reader of speech around one frozen layer of text, of which only the layer norms learn.

    Its other parts are new: the map of the frames, the positions and the output layers.

    Args:
        text: the model of text; it is not changed.
        layers: "text", with the weights of the lowest layer; "shuffled", with the same numbers in
            each tensor, but in random places; or "random", as BERT starts.

    Raises:
        ValueError: `layers` of another name.

    Source: Lu et al. 2022, section 2.
    Chapter: 17_beyond_text
    """
    checks.choice("layers", layers, LAYERS)
    sizes = {f.name: getattr(text.config, f.name) for f in fields(StackConfig)}
    reader = speakers.FrameReader(StackConfig(**{**sizes, "n_layers": 1, "dropout": 0.0}))
    source = Bert(replace(text.config, n_layers=1)) if layers == "random" else text
    transplant(reader.stack.layers, source.layers[:1], shuffled=layers == "shuffled")
    return reader


def name_speakers(task: speakers.SpeakerTask, text: Bert, *, layers: str, seed: int) -> float:
    """Train a `frozen_reader` on all training utterances, and measure it on the test ones.

    Args:
        task: 270 utterances with labels, and 370 others.
        text, layers: as for `frozen_reader`.
        seed: of the new weights and of the batches.

    Returns:
        The share of right answers.

    Chapter: 17_beyond_text
    """
    runtime.seed(seed)
    reader = frozen_reader(text, layers)
    generator = torch.Generator().manual_seed(seed)
    batches: list[speakers.Utterances] = []
    while len(batches) < STEPS:
        order = torch.randperm(len(task.train[0]), generator=generator)
        batches += [tuple(x[part] for x in task.train) for part in order.split(BATCH)]
    settings = {"lr": LR, "schedule": linear_decay(0.1)}
    train(reader, batches, speakers.speaker_loss, steps=STEPS, **settings)
    return speakers.speaker_accuracy(reader, task.test)


def _run() -> dict[str, Any]:
    task, text = speakers.load(), first_layer()
    return {
        layers: [name_speakers(task, text, layers=layers, seed=seed) for seed in SEEDS]
        for layers in LAYERS
    }


RECIPE = Experiment(name="text_to_speech", data=("vowels", "minilm"), seed=1, run=_run)
