"""The step: with and without its cache it says the same, row by row, however prompts are padded."""

import pytest
import torch

from attnbook.decoding.mode import evaluating
from attnbook.decoding.steps import Seq2SeqStep
from attnbook.models.inputs import POSITIONS

NEW = 7  # tokens behind the 4 of the prompts: up to max_len = 11


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("stride", [1, 3])
def test_cached_and_uncached_agree_to_the_last_place(
    kind, positions, pre_norm, padded, stride, make_step, prompts
):
    ids, real = prompts
    choices = {"positions": positions, "pre_norm": pre_norm, "real": real if padded else None}
    with_cache, without = (make_step(kind, cached=cached, **choices) for cached in (True, False))
    whole = torch.cat([ids, torch.randint(17, (3, NEW))], dim=1)
    for step in (with_cache, without):
        step.start(ids, NEW)
    assert without.cache is None
    for T in range(4, 4 + NEW + 1, stride):
        close(with_cache(whole[:, :T]), without(whole[:, :T]))
        assert with_cache.cache.length == T


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
@pytest.mark.parametrize("cached", [True, False])
def test_rows_go_on_from_others(kind, cached, make_step, prompts):
    ids, real = prompts
    rows = torch.tensor([2, 0, 0, 1, 2])
    step = make_step(kind, cached=cached, real=real)
    step.start(ids, NEW)
    logits = step(ids)
    whole = torch.cat([ids[rows], torch.arange(5)[:, None]], dim=1)
    after = step(whole, rows)
    # Once more: only the rows of the last call count.
    again = torch.tensor([4, 1])
    longer = torch.cat([whole[again], torch.tensor([[6], [8]])], dim=1)
    last = step(longer, again)

    for b in range(5):  # each row for itself, from the start
        one = make_step(kind, cached=False, real=real)
        one.start(ids, NEW)
        close(one(ids), logits)
        close(one(whole[[b] * 3], rows[[b] * 3])[0], after[b])
    for b in range(2):
        one = make_step(kind, cached=False, real=real)
        one.start(ids, NEW)
        close(one(longer[[b] * 3], rows[again][[b] * 3])[0], last[b])


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
def test_a_step_can_be_started_again(kind, make_step, prompts):
    ids, real = prompts
    step = make_step(kind, real=real)
    step.start(ids, NEW)
    wanted = step(ids)
    step(torch.cat([ids, ids[:, :1]], dim=1), torch.tensor([1, 1, 1]))
    step.start(ids, 2)
    assert torch.equal(step(ids), wanted)


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
def test_it_runs_without_dropout_and_gradients_and_puts_the_mode_back(kind, make_step, prompts):
    ids, _ = prompts
    step = make_step(kind, dropout=0.5)
    for training in (True, False):
        step.model.train(training)
        step.start(ids, NEW)
        logits = step(ids)
        assert step.model.training == training
        assert not logits.requires_grad
        step.start(ids, NEW)
        assert torch.equal(step(ids), logits)


def test_the_mode_is_put_back_after_an_error():
    model = torch.nn.Dropout()
    seen = []

    def fail():
        with evaluating(model):
            seen.extend([model.training, torch.is_grad_enabled()])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [False, False]
    assert model.training
    assert torch.is_grad_enabled()


def test_what_fills_a_row(make_step, prompts):
    step, (ids, _) = make_step("gpt"), prompts
    assert step.start(ids, 1, eos=3) == 3
    assert step.start(ids, 1, eos=3, pad=0) == 0
    assert step.start(ids, 1, eos=0) == 0
    assert step.start(ids, 1) == 0  # an id of every vocabulary


def test_one_mask_may_stand_for_all_sources_or_none_be_given(make_step, prompts):
    (ids, _), step = prompts, make_step("seq2seq")
    mask, rows = torch.arange(5) < 3, torch.tensor([2, 0, 2, 1])
    longer = torch.cat([ids[rows], torch.arange(4)[:, None]], dim=1)
    for one, each in ((mask, mask), (mask[None, None], mask), (None, mask | True)):
        got = Seq2SeqStep(step.model, step.source, one)
        wanted = Seq2SeqStep(step.model, step.source, each.expand(3, 1, 5))
        got.start(ids, NEW)
        wanted.start(ids, NEW)
        close(got(ids), wanted(ids))
        close(got(longer, rows), wanted(longer, rows))


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
def test_a_cache_is_kept_unless_told_otherwise(kind, make_step, prompts):
    made = make_step(kind)
    step = type(made)(made.model, *([made.source] if kind == "seq2seq" else []))
    step.start(prompts[0], NEW)
    assert step.cache is not None


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
    def test_prompt_and_max_new(self, kind, make_step, prompts):
        step, (ids, _) = make_step(kind), prompts
        for size in ((3, 0), (0, 3)):
            with pytest.raises(ValueError, match="prompt must have a token a row"):
                step.start(torch.zeros(size).long(), 1)
        with pytest.raises(ValueError, match="prompt must have at most max_len = 11 tokens"):
            step.start(torch.zeros(3, 12).long(), 1)
        with pytest.raises(ValueError, match="prompt must lie in 0 … 16, but 17 is among them"):
            step.start(torch.full((3, 2), 17), 1)
        with pytest.raises(TypeError, match="prompt must hold integers"):
            step.start(ids.float(), 1)
        with pytest.raises(ValueError, match=r"prompt must have 2 axes"):
            step.start(ids[0], 1)
        with pytest.raises(ValueError, match="max_new must be at most max_len - T = 11 - 4, not 8"):
            step.start(ids, NEW + 1)
        step.start(ids, NEW)
        with pytest.raises(ValueError, match="max_new must be at least 1, not 0"):
            step.start(ids, 0)

    def test_eos_and_pad(self, make_step, prompts):
        step, (ids, _) = make_step("gpt"), prompts
        for name in ("eos", "pad"):
            given = {"eos": 1} | {name: 17}
            with pytest.raises(ValueError, match=f"{name} must lie in 0 … 16, not 17"):
                step.start(ids, 1, **given)
            with pytest.raises(ValueError, match=f"{name} must be at least 0, not -1"):
                step.start(ids, 1, **given | {name: -1})
            with pytest.raises(TypeError, match=f"{name} must be an int, not '1'"):
                step.start(ids, 1, **given | {name: "1"})
        step.start(ids, 1, eos=16, pad=16)
        with pytest.raises(ValueError, match="pad fills what is behind an eos: give eos"):
            step.start(ids, 1, pad=1)

    @pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
    def test_real(self, kind, make_step, prompts):
        ids, real = prompts
        for wrong, error in (
            (real.flip(1), "real must be True at the end of each row: pad on the left"),
            (real[:, 1:], r"real must have the shape of prompt, \(3, 4\), not \(3, 3\)"),
        ):
            with pytest.raises(ValueError, match=error):
                make_step(kind, real=wrong).start(ids, 1)
        with pytest.raises(TypeError, match="real must be boolean"):
            make_step(kind, real=real.int()).start(ids, 1)

    def test_source_and_cached(self, make_step, prompts):
        with pytest.raises(ValueError, match="source must have one row a prompt: 3 for 2"):
            make_step("seq2seq").start(prompts[0][:2], 1)
        with pytest.raises(TypeError, match="cached must be True or False, not 1"):
            make_step("gpt", cached=1)


@pytest.mark.parametrize("kind", ["gpt", "seq2seq"])
def test_logits_that_are_nan_choose_no_token(kind, make_step, prompts):
    step = make_step(kind)
    with torch.no_grad():
        step.model.output.weight[3] = torch.nan
    step.start(prompts[0], NEW)
    with pytest.raises(FloatingPointError, match="logits of token 4 hold NaN"):
        step(prompts[0])
