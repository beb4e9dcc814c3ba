"""All places at once: by the predicted length, and up to the first end."""

from functools import partial

import pytest
import torch

from attnbook.decoding.at_once import at_once_by_length, at_once_to_eos
from attnbook.models.non_autoregressive import NonAutoregressive
from attnbook.models.seq2seq import Seq2SeqConfig

B, S, V, V_SOURCE, MAX, BOS, EOS = 3, 5, 7, 13, 11, 1, 2


@pytest.fixture
def model():
    sizes = {"d_model": 12, "n_heads": 3, "d_ff": 11, "n_layers": 2, "max_len": MAX}
    choices = {"dropout": 0.5, "positions": "learned", "pre_norm": True}
    config = Seq2SeqConfig(source_vocab_size=V_SOURCE, target_vocab_size=V, **sizes, **choices)
    model, generator = NonAutoregressive(config, BOS), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" not in name:  # these would take from the others what differs
                p.normal_(std=0.4, generator=generator)
        model.seq2seq.decoder.embed.positions.table.mul_(9)  # the places write different tokens
        model.predictor.lengths.bias.zero_()
    return model


def batch():
    source = torch.randint(V_SOURCE, (B, S), generator=torch.Generator().manual_seed(2))
    return source, torch.arange(S) < torch.tensor([5, 2, 4])[:, None, None]


def test_by_length_each_text_has_the_length_that_is_most_probable(model):
    source, mask = batch()
    texts = at_once_by_length(model, source, mask)
    assert model.training  # put back
    model.eval()
    lengths = (model(source, source_mask=mask)[1].argmax(dim=-1) + 1).tolist()
    assert [len(text) for text in texts] == lengths
    assert len(set(lengths)) > 1
    for b, text in enumerate(texts):
        n = torch.tensor([lengths[b]])
        logits, _ = model(source[b : b + 1], n, mask[b : b + 1])
        assert text == logits[0].argmax(dim=-1).tolist()


def test_to_eos_the_longest_text_is_cut(model):
    source, mask = batch()
    full = model.eval()(source, torch.full((B,), MAX), mask)[0].argmax(dim=-1).tolist()
    model.train()
    firsts = []
    for eos in range(V):
        texts = at_once_to_eos(model, source, mask, eos=eos)
        for text, row in zip(texts, full, strict=True):
            n = row.index(eos) if eos in row else MAX
            assert text == row[:n]
            firsts.append(n)
    assert len(set(firsts)) > 2
    assert model.training


def test_all_is_done_on_the_device_of_the_source(model):
    source, mask = batch()
    for write in (at_once_by_length, partial(at_once_to_eos, eos=EOS)):
        wanted = write(model, source, mask)
        with torch.device("meta"):  # where all goes that is made without a device
            assert write(model, source, mask) == wanted


@pytest.mark.usefixtures("plain")
def test_bad_input(model):
    source, _ = batch()
    with pytest.raises(ValueError, match="eos must lie in 0 … 6, not 7"):
        at_once_to_eos(model, source, eos=V)
    with pytest.raises(TypeError, match="eos must be an int, not None"):
        at_once_to_eos(model, source, eos=None)
    with pytest.raises(ValueError, match="source must lie in 0 … 12, but 13"):
        at_once_by_length(model, torch.full((1, 2), V_SOURCE))
