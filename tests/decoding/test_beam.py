"""Beam search against exhaustive search, against greedy, and against a plain search with lists."""

import itertools
import math

import pytest
import torch

from attnbook.decoding.beam import beam_search
from attnbook.decoding.one_by_one import greedy

MAX_NEW = 7


def next_log_p(step, prompt, texts):
    """The log-probabilities (n, V) behind one prompt and each of n texts of one length."""
    ids = torch.cat([prompt.expand(len(texts), -1), torch.tensor(texts).long()], dim=1)
    if hasattr(step, "source"):
        step.source = step.source[:1].expand(len(texts), -1)
    step.start(prompt.expand(len(texts), -1), MAX_NEW)
    return step(ids).double().log_softmax(dim=-1)


def alone(step, b):
    """The step of the b-th source of a batch."""
    if hasattr(step, "source"):
        step.source, step.source_mask = step.source[b : b + 1], step.source_mask[b : b + 1]
    return step


@pytest.mark.parametrize("eos", [None, 2])
@pytest.mark.parametrize("alpha", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
def test_a_beam_of_full_width_finds_the_best_of_all_texts(kind, alpha, eos, make_step):
    V, max_new = 4, 3
    prompt = torch.tensor([[1], [3], [0]])
    step = make_step(kind, V=V)
    texts = [
        text
        for n in range(1, max_new + 1)
        for text in itertools.product(range(V), repeat=n)
        if eos not in text[:-1] and (text[-1] == eos or n == max_new)
    ]
    beams = len(texts)
    assert beams == (V**max_new if eos is None else 1 + 3 + 9 * 4)
    ids, scores = beam_search(
        step, prompt, max_new=max_new, beams=beams, alpha=alpha, eos=eos, pad=eos and 0
    )
    assert ids.shape == (3, beams, max_new)
    for b in range(3):
        one, log_p = alone(make_step(kind, V=V, cached=False), b), {(): 0.0}
        for n in range(max_new):
            parents = [text for text in log_p if len(text) == n]
            for text, row in zip(parents, next_log_p(one, prompt[b : b + 1], parents), strict=True):
                log_p |= {(*text, v): log_p[text] + row[v].item() for v in range(V)}
        wanted = {text: log_p[text] / len(text) ** alpha for text in texts}
        found = [tuple(row) for row in ids[b].tolist()]
        found = [t[: t.index(eos) + 1] if eos in t else t for t in found]
        best_first = sorted(wanted, key=wanted.get, reverse=True)
        assert found == best_first
        torch.testing.assert_close(
            scores[b].tolist(), [wanted[t] for t in best_first], atol=1e-5, rtol=0
        )


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("eos", [None, 5, 11, 12])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_beam_is_greedy(kind, eos, alpha, make_step, prompts):
    ids, real = prompts
    step = make_step(kind, real=real)
    wanted = greedy(step, ids, max_new=MAX_NEW, eos=eos)
    new, scores = beam_search(step, ids, max_new=MAX_NEW, beams=1, alpha=alpha, eos=eos)
    assert torch.equal(new[:, 0], wanted)
    assert scores.shape == (3, 1)


def with_lists(step, prompt, max_new, beams, alpha, eos):
    """The same search for one prompt, one text at a time."""
    growing, finished = [((), 0.0)], []
    for n in range(1, max_new + 1):
        grown = []
        rows = next_log_p(step, prompt, [text for text, _ in growing]).tolist()
        for (text, total), row in zip(growing, rows, strict=True):
            grown += [((*text, v), total + p) for v, p in enumerate(row)]
        grown.sort(key=lambda pair: -pair[1])
        for text, total in grown[:beams]:
            if text[-1] == eos or n == max_new:
                finished.append((total / n**alpha, text))
        finished = sorted(finished, reverse=True)[:beams]
        if len(finished) == beams:
            break
        growing = [pair for pair in grown if pair[0][-1] != eos][:beams]
    return finished


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(("beams", "alpha"), [(2, 0.0), (3, 1.0), (5, 0.6)])
def test_it_is_the_search_with_lists(kind, cached, beams, alpha, make_step, prompts):
    ids, real = prompts
    lengths = set()
    for eos in (0, 5, 11, 16):
        step = make_step(kind, real=real, cached=cached, std=0.3, positions="rotary")
        new, scores = beam_search(
            step, ids, max_new=MAX_NEW, beams=beams, alpha=alpha, eos=eos, pad=(eos + 1) % 17
        )
        for b in range(3):
            one = alone(make_step(kind, cached=False, std=0.3, positions="rotary"), b)
            wanted = with_lists(one, ids[b : b + 1, real[b]], MAX_NEW, beams, alpha, eos)
            for k, (score, text) in enumerate(wanted):
                assert new[b, k, : len(text)].tolist() == list(text)
                assert (new[b, k, len(text) :] == (eos + 1) % 17).all()
                assert scores[b, k].item() == pytest.approx(score, abs=1e-5)
                lengths.add(len(text))
    assert len(lengths) > 2


def test_a_wider_beam_finds_what_greedy_misses(table_step):
    # From 0: token 1 is likelier, but what follows 2 is almost sure.
    p = torch.tensor([[0.0, 0.6, 0.4], [0.4, 0.3, 0.3], [0.98, 0.01, 0.01]])
    step, prompt = table_step(p.clamp(min=1e-9).log()), torch.tensor([[0]])
    assert greedy(step, prompt, max_new=2).tolist() == [[1, 0]]
    new, scores = beam_search(step, prompt, max_new=2, beams=2, alpha=0.0)
    assert new.tolist() == [[[2, 0], [1, 0]]]
    torch.testing.assert_close(
        scores.exp().float(), torch.tensor([[0.4 * 0.98, 0.6 * 0.4]]), atol=1e-5, rtol=0
    )


def test_the_length_normalisation_decides_between_short_and_long(table_step):
    # 2 ends. At once with 0.5, or by 1 and 1 and then surely: 0.45 * 0.9 * 0.9.
    p = torch.tensor([[0.05, 0.45, 0.5], [0.05, 0.9, 0.05], [1.0, 0.0, 0.0]])
    step, prompt = table_step(p.clamp(min=1e-9).log()), torch.tensor([[0]])
    for alpha, text in ((0.0, [2, 2, 2]), (1.0, [1, 1, 1])):
        new, scores = beam_search(step, prompt, max_new=3, beams=3, alpha=alpha, eos=2)
        assert new[0, 0].tolist() == text
        n = 1 if text[0] == 2 else 3
        product = 0.5 if n == 1 else 0.45 * 0.9 * 0.9
        assert scores[0, 0].item() == pytest.approx(math.log(product) / n**alpha, abs=1e-6)


def test_fewer_texts_than_beams(table_step):
    step, prompt = table_step(torch.zeros(3, 3)), torch.tensor([[0], [1]])
    new, scores = beam_search(step, prompt, max_new=1, beams=5, eos=2, pad=1)
    assert new.shape == (2, 5, 1)
    assert (scores > -math.inf).tolist() == [[True] * 3 + [False] * 2] * 2
    assert new[0, :3, 0].sort().values.tolist() == [0, 1, 2]
    assert (new[:, 3:] == 1).all()
    # 1 + 2 * 3 texts of up to two tokens; what did not end at the first leaves nothing behind.
    new, scores = beam_search(step, prompt, max_new=2, beams=20, eos=2, pad=1)
    assert (scores > -math.inf).sum(dim=1).tolist() == [7, 7]
    assert (new[scores == -math.inf] == 1).all()
    # A vocabulary of nothing but the end: there is one text.
    new, scores = beam_search(table_step(torch.zeros(1, 1)), prompt[:1], max_new=4, beams=2, eos=0)
    assert new[0, 0].tolist() == [0]
    assert scores.tolist() == [[0.0, -math.inf]]


def test_a_row_that_is_done_is_left_alone(table_step):
    # From 0 two texts end by the second token; from 1 it takes three. Alone or together.
    p = torch.tensor([[0.3, 0, 0, 0.7], [0, 0.6, 0.4, 0], [0, 0, 0, 1], [1, 0, 0, 0]])
    step = table_step(p.clamp(min=1e-9).log())
    write = {"max_new": 6, "beams": 2, "eos": 3}
    both, scores = beam_search(step, torch.tensor([[0], [1]]), **write)
    for b in range(2):
        new, score = beam_search(step, torch.tensor([[b]]), **write)
        n = new.shape[2]
        assert torch.equal(both[b, :, :n], new[0])
        assert (both[b, :, n:] == 3).all()
        torch.testing.assert_close(scores[b], score[0])
    assert both.tolist() == [[[3, 3, 3], [0, 3, 3]], [[2, 3, 3], [1, 2, 3]]]


@pytest.mark.usefixtures("plain")
def test_narrow_ids_are_taken(table_step):
    prompt = torch.tensor([[2], [0]])
    step = table_step(torch.randn(4, 4))
    wanted = beam_search(step, prompt, max_new=3, beams=2)
    got = beam_search(step, prompt.to(torch.uint8), max_new=3, beams=2)
    assert torch.equal(got[0], wanted[0])
    assert torch.equal(got[1], wanted[1])


def test_scores_are_as_precise_in_half_precision(table_step):
    table = torch.randn(40, 40).bfloat16()
    write = {"max_new": 5, "beams": 3}
    half = beam_search(table_step(table), torch.tensor([[2]]), **write)
    whole = beam_search(table_step(table.double()), torch.tensor([[2]]), **write)
    assert torch.equal(half[0], whole[0])
    assert torch.equal(half[1], whole[1])


def test_all_is_done_on_the_device_of_the_prompt(make_step, prompts):
    ids, real = prompts
    step = make_step("gpt", real=real)
    wanted = beam_search(step, ids, max_new=3, beams=2, eos=5)
    with torch.device("meta"):  # where all goes that is made without a device
        got = beam_search(step, ids, max_new=3, beams=2, eos=5)
    assert torch.equal(got[0], wanted[0])
    assert torch.equal(got[1], wanted[1])


@pytest.mark.usefixtures("plain")
def test_bad_input(make_step, prompts):
    step, (ids, _) = make_step("gpt"), prompts
    for beams in (0, -1):
        with pytest.raises(ValueError, match=f"beams must be at least 1, not {beams}"):
            beam_search(step, ids, max_new=2, beams=beams)
    with pytest.raises(TypeError, match=r"beams must be an int, not 2\.0"):
        beam_search(step, ids, max_new=2, beams=2.0)
    for alpha in (-0.1, math.inf, math.nan):
        with pytest.raises(ValueError, match="alpha must be at least 0 and finite, not"):
            beam_search(step, ids, max_new=2, beams=2, alpha=alpha)
    with pytest.raises(ValueError, match="max_new must be at most max_len - T = 11 - 4, not 8"):
        beam_search(step, ids, max_new=8, beams=2)
    with pytest.raises(ValueError, match="eos must lie in 0 … 16, not 17"):
        beam_search(step, ids, max_new=2, beams=2, eos=17)
