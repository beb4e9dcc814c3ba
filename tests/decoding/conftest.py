"""Small models that both searches run on, and a step that is a table."""

import pytest
import torch

from attnbook.decoding.steps import GPTStep, Seq2SeqStep, Step
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig

SIZES = {"d_model": 12, "n_heads": 3, "d_ff": 11, "n_layers": 2, "max_len": 11}
B, S, V_SOURCE = 3, 5, 13


def _rough(model, std=0.4):
    """With weights so large that the logits differ, and no difference is lost in rounding."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" not in name:
                p.normal_(std=std, generator=generator)
    return model


class _Table(Step):
    """The logits depend on the last token alone: row i is what follows i."""

    def __init__(self, table, max_len=100):
        super().__init__(torch.nn.Identity(), len(table), max_len, None, False)
        self.table = table

    def _prepare(self, B, length):
        pass

    def _logits(self, ids, real):
        return self.table[ids]


@pytest.fixture
def table_step():
    return _Table


@pytest.fixture
def make_step():
    """A fresh step of a kind of model: ("gpt" or "seq2seq", the choices of its config)."""

    def make(kind, *, real=None, cached=True, V=17, std=0.4, **choices):
        sizes = SIZES | choices
        if kind == "gpt":
            model = _rough(GPT(GPTConfig(vocab_size=V, **sizes)), std)
            return GPTStep(model, real, cached=cached)
        config = Seq2SeqConfig(source_vocab_size=V_SOURCE, target_vocab_size=V, **sizes)
        generator = torch.Generator().manual_seed(4)
        source = torch.randint(V_SOURCE, (B, S), generator=generator)
        mask = torch.arange(S) < torch.tensor([5, 2, 4])[:, None, None]  # (B, 1, S)
        model = _rough(Seq2Seq(config), std)
        return Seq2SeqStep(model, source, mask, real=real, cached=cached)

    return make


@pytest.fixture
def prompts():
    """Prompts of the lengths 3, 1 and 4 as one batch, and which tokens are real."""
    ids = torch.randint(17, (B, 4), generator=torch.Generator().manual_seed(5))
    return ids, torch.arange(4) >= 4 - torch.tensor([3, 1, 4])[:, None]
