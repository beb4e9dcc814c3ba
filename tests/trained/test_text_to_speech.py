"""A frozen layer of text that reads speech: what is frozen, what is taken, what a seed fixes."""

import pytest
import torch
from torch import nn

from attnbook.models.bert import Bert, BertConfig
from attnbook.speakers import SpeakerTask
from attnbook.trained import text_to_speech
from attnbook.trained.text_to_speech import LAYERS, frozen_reader, name_speakers

TEXT = BertConfig(d_model=12, n_heads=3, d_ff=10, n_layers=2, vocab_size=11, max_len=8)


@pytest.fixture
def text():
    torch.manual_seed(17)
    bert = Bert(TEXT)
    for weight in bert.parameters():
        nn.init.normal_(weight)
    return bert


@pytest.mark.parametrize("layers", LAYERS)
def test_layer_norms_alone_learn_of_the_frozen_layer(text, layers):
    reader = frozen_reader(text, layers)
    learns = {k for k, x in reader.stack.named_parameters() if x.requires_grad}
    assert learns == {
        f"layers.0.{part}.norm.{kind}"
        for part in ("around_attention", "around_feed_forward")
        for kind in ("weight", "bias")
    }
    assert reader.embed.weight.requires_grad
    assert reader.speaker.weight.requires_grad


def test_where_the_weights_of_the_layer_come_from(text):
    theirs = text.layers[0].state_dict()
    for layers in LAYERS:
        taken = frozen_reader(text, layers).stack.layers[0].state_dict()
        for key, x in taken.items():
            same = torch.equal(x, theirs[key])
            numbers = torch.equal(x.flatten().sort().values, theirs[key].flatten().sort().values)
            assert (same, numbers) == {
                "text": (True, True),
                "shuffled": (False, True),
                "random": (False, False),
            }[layers]
    with pytest.raises(ValueError, match="layers must be"):
        frozen_reader(text, "pretrained")


def test_a_seed_fixes_the_speakers_and_the_text_stays(text, monkeypatch):
    monkeypatch.setattr(text_to_speech, "STEPS", 2)
    before = {k: x.clone() for k, x in text.state_dict().items()}
    rows = (torch.randn(40, 29, 12), torch.ones(40, 29, dtype=torch.bool), torch.arange(40) % 9)
    task = SpeakerTask(train=rows, test=rows)
    scores = [name_speakers(task, text, layers="text", seed=seed) for seed in (1, 1)]
    assert scores[0] == scores[1]
    assert all(torch.equal(x, before[k]) for k, x in text.state_dict().items())
