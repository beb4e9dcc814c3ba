"""The non-autoregressive Transformer: all places at once, told apart by their positions alone."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from attnbook import masks
from attnbook.models.non_autoregressive import LengthPredictor, NonAutoregressive
from attnbook.models.seq2seq import Seq2SeqConfig

B, H, S, D, D_FF, N, V, V_SOURCE, MAX, BOS = 3, 2, 5, 8, 11, 2, 17, 13, 9, 4


def made(**changes):
    sizes = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "max_len": MAX}
    vocabularies = {"source_vocab_size": V_SOURCE, "target_vocab_size": V}
    model = NonAutoregressive(Seq2SeqConfig(**vocabularies | sizes | changes), BOS)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" not in name:
                p.normal_(std=0.4, generator=generator)
    return model


def drawn(*size, high=V_SOURCE, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_each_row_is_as_alone(positions):
    model, source = made(positions=positions), drawn(B, S)
    mask, lengths = masks.padding(torch.tensor([5, 2, 4]), S), torch.tensor([3, 7, 1])
    logits, length_logits = model(source, lengths, mask)
    assert logits.shape == (B, 7, V)
    for b, n in enumerate([5, 2, 4]):
        alone, alone_length = model(source[b : b + 1, :n], lengths[b : b + 1])
        close(logits[b, : lengths[b]], alone[0])
        close(length_logits[b], alone_length[0])
    places = logits[1]
    assert not torch.allclose(places[0], places[1], atol=1e-3)


def test_the_decoder_gets_start_tokens_and_no_causal_mask():
    model, source = made(), drawn(B, S)
    memory = model.seq2seq.encode(source)
    starts = torch.full((B, 6), BOS)
    x, _, _ = model.seq2seq.decoder(starts, memory)
    close(model(source, torch.full((B,), 6))[0], model.seq2seq.output(x))


def test_the_most_probable_length_unless_given():
    model, source = made(), drawn(B, S)
    logits, length_logits = model(source)
    assert length_logits.shape == (B, MAX)
    lengths = length_logits.argmax(dim=-1) + 1
    assert logits.shape[1] == lengths.max()
    close(logits, model(source, lengths)[0])


def test_the_length_is_read_off_the_mean_of_the_real_places():
    predictor, memory = LengthPredictor(D, MAX), torch.randn(B, S, D)
    mask = torch.tensor([[1, 1, 0, 0, 0], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()[:, None]
    memory[0, 2:] = float("nan")  # what stands at padding is not even touched
    logits = predictor(memory, mask)
    close(logits[0], predictor.lengths(memory[0, :2].mean(dim=0)))
    close(logits[1], predictor.lengths(memory[1, [1, 3, 4]].mean(dim=0)))
    close(logits[2], predictor.lengths(torch.zeros(D)))
    close(predictor(memory[1:]), predictor.lengths(memory[1:].mean(dim=1)))
    close(predictor(memory[1:], mask[1]), predictor(memory[1:], mask[1].expand(2, 1, S)))


def test_it_learns_a_few_sentences_by_heart():
    config = dataclasses.replace(made().config, d_model=24, d_ff=48, pre_norm=True)
    model = NonAutoregressive(config, BOS)
    source, wanted = drawn(6, S), drawn(6, MAX, high=V, seed=1)
    lengths = torch.tensor([2, 9, 4, 6, 3, 5])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    real = masks.padding(lengths, MAX)[:, 0]
    for _ in range(100):
        logits, length_logits = model(source, lengths)
        loss = F.cross_entropy(logits[real], wanted[real])
        loss = loss + F.cross_entropy(length_logits, lengths - 1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    logits, length_logits = model(source)
    assert torch.equal(length_logits.argmax(dim=-1) + 1, lengths)
    assert torch.equal(logits.argmax(dim=-1)[real], wanted[real])
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("positions", ["rotary", "none"])
    def test_positions_that_leave_all_places_alike(self, positions):
        with pytest.raises(ValueError, match="positions must be one of 'sinusoidal', 'learned'"):
            made(positions=positions)

    def test_bos_and_sizes(self):
        config = made().config
        for bos, error in ((V, "bos must lie in 0 … 16, not 17"), (-1, "bos must be at least 0")):
            with pytest.raises(ValueError, match=error):
                NonAutoregressive(config, bos)
        with pytest.raises(ValueError, match="max_len must be at least 1, not 0"):
            LengthPredictor(D, 0)

    def test_lengths_and_masks(self):
        model, source = made(), drawn(B, S)
        for lengths in ([0, 1, 1], [1, 2]):
            with pytest.raises(ValueError, match="lengths must be at least 1, one a source, not"):
                model(source, torch.tensor(lengths))
        with pytest.raises(ValueError, match="lengths must lie in 0 … 9, but 10"):
            model(source, torch.tensor([1, 10, 1]))
        with pytest.raises(TypeError, match="lengths must hold integers"):
            model(source, torch.ones(B))
        with pytest.raises(ValueError, match=r"source_mask must broadcast to \(3, 1, 5\)"):
            LengthPredictor(D, MAX)(torch.zeros(B, S, D), torch.ones(B, S).bool())
        with pytest.raises(ValueError, match="last axis of memory must be 8"):
            LengthPredictor(D, MAX)(torch.zeros(B, S, D + 1))


@pytest.mark.parametrize("shape", [(0, S), (B, 0)])
def test_a_source_without_a_token_is_refused(shape):
    with pytest.raises(ValueError, match="source must have a token a row"):
        made()(torch.zeros(shape, dtype=torch.long))
