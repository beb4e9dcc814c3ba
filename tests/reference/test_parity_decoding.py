"""Parity of decoding with transformers': a small random GPT-2, and its filters on random logits."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.generation.logits_process import (
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from attnbook.decoding.beam import beam_search
from attnbook.decoding.filters import token_probabilities
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.rows import left_padded
from attnbook.decoding.steps import GPTStep
from attnbook.models.gpt import GPT, GPTConfig

D, H, N, V, MAX, MAX_NEW = 15, 5, 7, 23, 19, 11


@pytest.fixture(scope="module")
def pair():
    """Our model and theirs with the same weights, large enough for the logits to differ."""
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(
        GPT2Config(
            n_embd=D, n_head=H, n_layer=N, n_positions=MAX, vocab_size=V, n_inner=13,
            initializer_range=0.25, bos_token_id=0, eos_token_id=0,
        )
    ).eval()  # fmt: skip
    ours = GPT(
        GPTConfig(
            d_model=D, n_heads=H, n_layers=N, max_len=MAX, vocab_size=V, d_ff=13,
            activation="gelu_tanh",
        )
    )  # fmt: skip

    def linear(one, weight, bias):
        one.weight.copy_(weight.T)  # theirs is input x output
        one.bias.copy_(bias)

    with torch.no_grad():
        for p in theirs.parameters():
            if p.ndim == 1:
                p.add_(torch.randn_like(p) * 0.1)
        body = theirs.transformer
        ours.body.embed.tokens.weight.copy_(body.wte.weight)
        ours.body.embed.positions.table.copy_(body.wpe.weight)
        ours.body.norm.load_state_dict(body.ln_f.state_dict())
        for one, two in zip(ours.body.layers, body.h, strict=True):
            parts = one.attention.w_q, one.attention.w_k, one.attention.w_v
            weights, biases = two.attn.c_attn.weight.split(D, 1), two.attn.c_attn.bias.split(D)
            for part, weight, bias in zip(parts, weights, biases, strict=True):
                linear(part, weight, bias)
            linear(one.attention.w_o, two.attn.c_proj.weight, two.attn.c_proj.bias)
            linear(one.feed_forward.w_1, two.mlp.c_fc.weight, two.mlp.c_fc.bias)
            linear(one.feed_forward.w_2, two.mlp.c_proj.weight, two.mlp.c_proj.bias)
            one.around_attention.norm.load_state_dict(two.ln_1.state_dict())
            one.around_feed_forward.norm.load_state_dict(two.ln_2.state_dict())
    return ours, theirs


@pytest.fixture(scope="module")
def batch():
    generator = torch.Generator().manual_seed(1)
    lengths = (4, 8, 1, 6)
    return left_padded([torch.randint(1, V, (n,), generator=generator).tolist() for n in lengths])


def generate(model, ids, real, **options):
    options = {"do_sample": False, "max_new_tokens": MAX_NEW, "pad_token_id": 3} | options
    return model.generate(ids, attention_mask=real.long(), use_cache=True, **options)


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def test_logits_with_padding_on_the_left(pair, batch):
    (ours, theirs), (ids, real) = pair, batch
    where = (real.cumsum(1) - 1).clamp(min=0)
    wanted = theirs(ids, attention_mask=real.long(), position_ids=where).logits
    close(ours(ids, real)[0][real], wanted[real])


@pytest.mark.parametrize("eos", [None, 1, 9, 14])
@pytest.mark.parametrize("cached", [True, False])
def test_greedy(eos, cached, pair, batch):
    (ours, theirs), (ids, real) = pair, batch
    wanted = generate(theirs, ids, real, eos_token_id=eos)[:, ids.shape[1] :]
    step, pad = GPTStep(ours, real, cached=cached), None if eos is None else 3
    assert torch.equal(greedy(step, ids, max_new=MAX_NEW, eos=eos, pad=pad), wanted)


@pytest.mark.parametrize("eos", [None, 1, 9, 14])
@pytest.mark.parametrize(("beams", "alpha"), [(2, 0.0), (3, 1.0), (4, 0.6)])
def test_beam_search(eos, beams, alpha, pair, batch):
    (ours, theirs), (ids, real) = pair, batch
    wanted = generate(
        theirs, ids, real, eos_token_id=eos, num_beams=beams, length_penalty=alpha,
        early_stopping=True, num_return_sequences=beams, return_dict_in_generate=True,
        output_scores=True,
    )  # fmt: skip
    new, scores = beam_search(
        GPTStep(ours, real), ids, max_new=MAX_NEW, beams=beams, alpha=alpha, eos=eos,
        pad=None if eos is None else 3,
    )  # fmt: skip
    texts = wanted.sequences[:, ids.shape[1] :].unflatten(0, (len(ids), beams))
    assert torch.equal(new, texts)
    close(scores.float().flatten(), wanted.sequences_scores)


@pytest.mark.parametrize("temperature", [1.0, 0.6, 2.5])
@pytest.mark.parametrize("top_k", [None, 1, 4, 40])
@pytest.mark.parametrize("top_p", [None, 0.05, 0.5, 0.95, 1.0])
def test_the_distribution_that_is_sampled(temperature, top_k, top_p):
    logits = 2 * torch.randn(50, V, generator=torch.Generator().manual_seed(2)).double()
    wanted = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k is not None:
        wanted = TopKLogitsWarper(top_k)(None, wanted)
    if top_p is not None:
        wanted = TopPLogitsWarper(top_p)(None, wanted)
    ours = token_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    assert torch.equal(ours > 0, wanted.softmax(dim=-1) > 0)
    torch.testing.assert_close(ours, wanted.softmax(dim=-1), atol=1e-12, rtol=0)
