"""Greedy and sampling: which token is taken, where a row ends, and that the draws are fair."""

from functools import partial

import pytest
import torch

from attnbook.decoding.filters import token_probabilities
from attnbook.decoding.one_by_one import greedy, sample

MAX_NEW = 7


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("positions", ["learned", "rotary", "sinusoidal"])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_cached_and_uncached_write_the_same(kind, positions, pre_norm, make_step, prompts):
    ids, real = prompts
    choices = {"positions": positions, "pre_norm": pre_norm, "real": real}
    for write in (greedy, lambda *a, **k: sample(*a, generator=seeded(), **k)):
        one, two = (
            write(make_step(kind, cached=cached, **choices), ids, max_new=MAX_NEW)
            for cached in (True, False)
        )
        assert one.shape == (3, MAX_NEW)
        assert torch.equal(one, two)


@pytest.mark.parametrize("cached", [True, False])
def test_greedy_is_the_argmax_of_the_model_each_time(cached, make_step, prompts):
    ids, real = prompts
    step = make_step("gpt", cached=cached, real=real, positions="rotary")
    new = greedy(step, ids, max_new=MAX_NEW)
    for b in range(3):
        text = ids[b, real[b]]  # alone, without padding
        for t in range(MAX_NEW):
            assert step.model.eval()(text[None])[0][0, -1].argmax() == new[b, t]
            text = torch.cat([text, new[b, t : t + 1]])
    assert len(new.unique()) > 3


def chain():
    """0 -> 1 -> 2 -> 3 -> 4 -> 0 most probably, and each other token sometimes."""
    return 3 * torch.eye(5).roll(1, dims=1)


def test_each_row_ends_at_its_own_end(table_step):
    step, prompt = table_step(chain()), torch.tensor([[2], [0], [4]])
    write = {"max_new": 6, "eos": 3}
    assert greedy(step, prompt, **write).tolist() == [[3, 3, 3, 3], [1, 2, 3, 3], [0, 1, 2, 3]]
    assert greedy(step, prompt, **write, pad=1).tolist() == [
        [3, 1, 1, 1], [1, 2, 3, 1], [0, 1, 2, 3],
    ]  # fmt: skip
    assert greedy(step, prompt, max_new=3, eos=3).tolist() == [[3, 3, 3], [1, 2, 3], [0, 1, 2]]
    assert greedy(step, prompt, max_new=2).tolist() == [[3, 4], [1, 2], [0, 1]]
    # An end in the prompt is no end, and the search goes on behind it.
    assert greedy(step, torch.tensor([[3]]), **write).tolist() == [[4, 0, 1, 2, 3]]


@pytest.mark.parametrize(
    "shape",
    [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.6}, {"temperature": 2.0, "top_p": 0.8}],
)
def test_the_draws_have_the_distribution(shape, table_step):
    n, logits = 4000, torch.tensor([[1.0, 0.3, -0.5, 2.0, 0.0, 1.5]]).repeat(6, 1)
    prompt = torch.zeros(n, 1).long()
    new = sample(table_step(logits), prompt, max_new=1, generator=seeded(1), **shape)
    p = token_probabilities(logits[0], **shape)
    counts = new.flatten().bincount(minlength=6)
    assert not counts[p == 0].any()
    left = p > 0
    chi_square = ((counts[left] - n * p[left]) ** 2 / (n * p[left])).sum()
    # 5 degrees of freedom at most: above 20.5 in 1 of 1000 runs of a fair draw.
    assert chi_square < 20.5
    # That of another temperature is told apart.
    other = token_probabilities(logits[0], **shape | {"temperature": 3.0})[left]
    assert ((counts[left] - n * other) ** 2 / (n * other)).sum() > 20.5


def test_a_text_is_drawn_token_by_token(table_step):
    # A chain of two steps: the second draw depends on the first.
    n, p = 4000, torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2]])
    prompt = torch.zeros(n, 1).long()
    new = sample(table_step(p.log()), prompt, max_new=2, generator=seeded(2))
    pairs = (new[:, 0] * 3 + new[:, 1]).bincount(minlength=9).view(3, 3)
    wanted = n * p[0][:, None] * p
    assert ((pairs - wanted) ** 2 / wanted).sum() < 26.1  # 8 degrees of freedom, 1 in 1000


def test_the_seed_fixes_the_text(make_step, prompts):
    step, (ids, _) = make_step("gpt", std=0.2), prompts
    one, same, other = (
        sample(step, ids, max_new=MAX_NEW, generator=seeded(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    torch.manual_seed(5)
    assert torch.equal(sample(step, ids, max_new=MAX_NEW, generator=seeded(1)), one)


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("cold", [{"temperature": 1e-9}, {"top_k": 1}, {"top_p": 1e-9}])
def test_at_the_cold_end_sampling_is_greedy(kind, cold, make_step, prompts):
    ids, real = prompts
    step = make_step(kind, real=real)
    for eos in (None, 5, 11):
        wanted = greedy(step, ids, max_new=MAX_NEW, eos=eos)
        got = sample(step, ids, max_new=MAX_NEW, eos=eos, generator=seeded(), **cold)
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_all_is_done_on_the_device_of_the_prompt(kind, cached, positions, make_step, prompts):
    ids, real = prompts
    step = make_step(kind, cached=cached, positions=positions, real=real)
    one, two = seeded(), seeded()
    for write, again in (
        (greedy, greedy),
        (partial(sample, generator=one), partial(sample, generator=two)),
    ):
        wanted = write(step, ids, max_new=3, eos=5)
        with torch.device("meta"):  # where all goes that is made without a device
            got = again(step, ids, max_new=3, eos=5)
        assert torch.equal(got, wanted)


@pytest.mark.usefixtures("plain")
def test_narrow_ids_are_taken(table_step):
    prompt = torch.tensor([[2], [0]], dtype=torch.uint8)
    assert greedy(table_step(chain()), prompt, max_new=2).tolist() == [[3, 4], [1, 2]]


@pytest.mark.usefixtures("plain")
def test_bad_input(make_step, prompts):
    step, (ids, _) = make_step("gpt"), prompts
    with pytest.raises(ValueError, match="max_new must be at most max_len - T = 11 - 4, not 8"):
        greedy(step, ids, max_new=8)
    with pytest.raises(ValueError, match="eos must lie in 0 … 16, not 17"):
        greedy(step, ids, max_new=2, eos=17)
    with pytest.raises(ValueError, match="eos must lie in 0 … 16, not 17"):
        sample(step, ids, max_new=2, eos=17, generator=seeded())
    for wrong, error in (
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"temperature": -1.0}, "temperature must be above 0"),
        ({"top_p": 0.0}, "top_p must be above 0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, not 1.5"),
        ({"top_k": 0}, "top_k must be at least 1, not 0"),
    ):
        with pytest.raises(ValueError, match=error):
            sample(step, ids, max_new=2, generator=seeded(), **wrong)
    assert step.cache is None  # all was refused before the model read anything
    with pytest.raises(TypeError, match=r"generator must be a torch\.Generator, not int"):
        sample(step, ids, max_new=2, generator=3)
