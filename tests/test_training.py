import itertools
import math
import re
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import pytest
import torch
from torch import nn

from attnbook import masks
from attnbook.checkpoints import CheckpointError
from attnbook.embeddings import TokenEmbedding
from attnbook.layers import EncoderLayer
from attnbook.training import cosine_decay, evaluate, linear_decay, train


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_PROGRESS", "0")


def make_model(dropout=0.2):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))


def make_batches(n=3):
    torch.manual_seed(2)
    return [(x, x.sum(-1, keepdim=True)) for x in torch.randn(n, 16, 3)]


def square_loss(model, batch):
    x, y = batch
    return (model(x) - y).square().mean()


def fit(model, batches=None, loss_fn=square_loss, *, steps=10, lr=0.01, **settings):
    """`train` from a fixed random state: two calls with the same arguments do the same."""
    torch.manual_seed(3)
    batches = make_batches() if batches is None else batches
    return train(model, batches, loss_fn, steps=steps, lr=lr, device="cpu", **settings)


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def same(one, two):
    return all(torch.equal(p, q) for p, q in zip(weights(one), weights(two), strict=True))


class Recorder(torch.optim.SGD):
    """An optimizer that notes each step's learning rate and the norm of the gradient it gets."""

    def __init__(self, parameters, lr, **settings):
        super().__init__(parameters, lr=lr, **settings)
        self.rates, self.norms = [], []
        type(self).last = self

    def step(self, closure=None):
        self.rates.append(self.param_groups[0]["lr"])
        grads = [p.grad.flatten() for p in self.param_groups[0]["params"]]
        self.norms.append(torch.cat(grads).norm().item())
        return super().step(closure)


# --- the loop


def test_learns_and_returns_the_loss_of_each_step():
    model = make_model(dropout=0.0)
    losses = fit(model, steps=300, lr=0.02)
    assert len(losses) == 300
    assert all(isinstance(loss, float) for loss in losses)
    assert losses[0] > 1
    assert sum(losses[-10:]) / 10 < 0.02


def test_each_step_is_one_step_of_the_optimizer_on_the_next_batch():
    model, by_hand, batches = make_model(0.0), make_model(0.0), make_batches(3)
    losses = fit(model, batches, steps=7, lr=0.1, optimizer=torch.optim.SGD, clip=None)
    for step in range(7):
        loss = square_loss(by_hand, batches[step % 3])
        assert losses[step] == pytest.approx(loss.item(), rel=1e-5)
        gradients = torch.autograd.grad(loss, list(by_hand.parameters()))
        with torch.no_grad():
            for p, gradient in zip(by_hand.parameters(), gradients, strict=True):
                p -= 0.1 * gradient
    torch.testing.assert_close(weights(model), weights(by_hand))


def test_gradients_from_before_do_not_count():
    model, other = make_model(), make_model()
    square_loss(model, make_batches()[0]).backward()
    fit(model)
    fit(other)
    assert same(model, other)


def test_a_small_transformer_learns_to_look_back():
    torch.manual_seed(0)
    ids = torch.randint(5, (64, 6))
    before = torch.cat([torch.zeros(64, 1, dtype=torch.long), ids[:, :-1]], 1)

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.places = TokenEmbedding(5, 16), nn.Parameter(torch.randn(6, 16))
            self.layer, self.out = EncoderLayer(16, 2, 32, pre_norm=True), nn.Linear(16, 5)

        def forward(self, x):
            return self.out(self.layer(self.embed(x) + self.places, masks.causal(6))[0])

    def loss_fn(model, batch):
        return nn.functional.cross_entropy(model(batch["ids"]).flatten(0, 1), batch["y"].flatten())

    model = Tagger()
    losses = fit(model, [{"ids": ids, "y": before}], loss_fn, steps=120, lr=0.02)
    assert losses[0] > 1.2
    assert losses[-1] < 0.1


def test_dropout_is_on_while_training_and_off_afterwards():
    seen = []

    def loss_fn(model, batch):
        seen.append(model.training)
        return square_loss(model, batch)

    model = make_model().eval()
    fit(model, loss_fn=loss_fn, steps=4)
    assert seen == [True] * 4
    assert not model.training
    with pytest.raises(ZeroDivisionError):
        fit(model, loss_fn=lambda model, batch: 1 / 0)
    assert not model.training


def test_frozen_parameters_stay():
    model = make_model()
    model[0].weight.requires_grad_(False)
    before = weights(model)
    fit(model, optimizer=lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.5))
    assert torch.equal(model[0].weight, before[0])
    assert not torch.equal(model[0].bias, before[1])
    assert model[0].weight.grad is None


def test_a_model_in_bfloat16_trains():
    model = make_model(0.0).bfloat16()
    batches = [(x.bfloat16(), y.bfloat16()) for x, y in make_batches()]
    losses = fit(model, batches, steps=60, lr=0.02)
    assert losses[-1] < losses[0] / 2
    assert all(p.dtype == torch.bfloat16 for p in model.parameters())


# --- several batches a step, half precision, compilation


def test_accumulated_batches_count_as_one_large_one():
    batches = make_batches(4)
    pairs = [tuple(map(torch.cat, zip(*batches[i : i + 2], strict=True))) for i in (0, 2)]
    one, two = make_model(0.0), make_model(0.0)
    settings = {"lr": 0.1, "optimizer": torch.optim.SGD, "clip": 0.5}
    losses = fit(one, batches, steps=5, accumulate=2, **settings)
    assert losses == pytest.approx(fit(two, pairs, steps=5, **settings), abs=1e-6)
    torch.testing.assert_close(weights(one), weights(two))


def test_autocast_computes_in_bfloat16_and_keeps_the_weights():
    kinds = []

    def loss_fn(model, batch):
        kinds.append(model[0](batch[0]).dtype)
        return square_loss(model, batch)

    model, exact = make_model(0.0), make_model(0.0)
    losses = fit(model, loss_fn=loss_fn, steps=60, lr=0.02, autocast=torch.bfloat16)
    assert set(kinds) == {torch.bfloat16}
    assert all(p.dtype == torch.float32 for p in model.parameters())
    assert losses[-1] < losses[0] / 2
    exact_losses = fit(exact, steps=60, lr=0.02)
    assert losses != exact_losses
    assert losses == pytest.approx(exact_losses, rel=0.1, abs=0.02)


def test_a_compiled_loss_trains_the_same_model(monkeypatch):
    compiled = []

    def compile_(module):
        compiled.append(module)
        return torch._dynamo.optimize("eager")(module)  # traced alike, without a C compiler

    monkeypatch.setattr(torch, "compile", compile_)
    one, two = make_model(0.0), make_model(0.0)
    assert fit(one, compiled=True) == pytest.approx(fit(two), abs=1e-6)
    torch.testing.assert_close(weights(one), weights(two))
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"accumulate": 0}, ValueError),
        ({"compiled": "yes"}, TypeError),
        ({"autocast": torch.float16}, ValueError),
        ({"autocast": torch.float64}, ValueError),
    ],
)
def test_wrong_choices_are_named(wrong, kind):
    with pytest.raises(kind, match=next(iter(wrong))):
        fit(make_model(), **wrong)


# --- clipping and schedules


@pytest.mark.parametrize("clip", [0.01, 1.0])
def test_no_gradient_longer_than_clip_reaches_the_optimizer(clip):
    fit(make_model(), optimizer=Recorder, clip=None)
    free = Recorder.last.norms
    fit(make_model(), steps=1, optimizer=Recorder, clip=clip)
    assert free[0] > 1
    assert Recorder.last.norms[0] == pytest.approx(clip, rel=1e-4)
    fit(make_model(), steps=1, optimizer=Recorder, clip=1000.0)
    assert Recorder.last.norms[0] == free[0]  # a short one is left as it is


def test_gradients_that_the_optimizer_does_not_use_do_not_count_for_the_clipping():
    model = make_model(dropout=0.0)
    fit(model, optimizer=lambda _, lr: Recorder([*model[3].parameters()], lr), steps=4, clip=0.1)
    assert Recorder.last.norms == pytest.approx([0.1] * 4, rel=1e-4)


def test_clipping_at_one_is_the_default():
    fit(make_model(), steps=1, optimizer=Recorder)
    assert Recorder.last.norms[0] == pytest.approx(1.0, rel=1e-4)


def test_the_rate_follows_the_schedule_from_the_middle_of_each_step():
    fit(make_model(), steps=4, lr=0.2, optimizer=Recorder, schedule=lambda done: done)
    assert Recorder.last.rates == pytest.approx([0.025, 0.075, 0.125, 0.175])
    fit(make_model(), steps=4, lr=0.2, optimizer=Recorder)
    assert Recorder.last.rates == [0.2] * 4


@pytest.mark.parametrize("make", [linear_decay, cosine_decay])
def test_schedules_at_their_ends(make):
    schedule = make(0.2)
    assert schedule(0.0) == 0
    assert schedule(0.1) == pytest.approx(0.5)
    assert schedule(0.2) == pytest.approx(1.0)
    assert schedule(0.6) == pytest.approx(0.5)
    assert schedule(1.0) == pytest.approx(0.0)
    assert make()(0.0) == 1
    assert make()(0.5) == pytest.approx(0.5)


def test_the_two_schedules_fall_in_their_own_way():
    assert linear_decay(0.2)(0.4) == pytest.approx(0.75)
    assert cosine_decay(0.2)(0.4) == pytest.approx((1 + math.cos(math.pi / 4)) / 2)


@pytest.mark.parametrize("make", [linear_decay, cosine_decay])
@pytest.mark.parametrize("warmup", [0.0, 0.3])
@pytest.mark.parametrize("steps", [1, 2, 10])
def test_no_step_has_a_rate_of_zero_or_above_lr(make, warmup, steps):
    fit(make_model(), steps=steps, lr=1.0, optimizer=Recorder, schedule=make(warmup))
    assert all(0 < rate <= 1 for rate in Recorder.last.rates)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("make", [linear_decay, cosine_decay])
def test_schedules_refuse_a_warm_up_that_is_no_share(make):
    with pytest.raises(ValueError, match="warmup must be at least 0 and below 1, not 100"):
        make(100)


# --- the bar


def test_the_bar_shows_loss_speed_and_time_left(monkeypatch, capsys):
    monkeypatch.delenv("ATTNBOOK_PROGRESS")

    def slow_loss(model, batch):
        time.sleep(0.06)  # tqdm draws ten times a second at most
        return square_loss(model, batch)

    losses = fit(make_model(), loss_fn=slow_loss, steps=5)
    shown = capsys.readouterr()
    assert shown.err == ""
    last = shown.out.split("\r")[-1]
    assert "5/5" in last
    assert f"loss={losses[-1]:.4f}" in last
    assert "step/s" in last
    assert "<00:00" in last  # gone<left
    assert any("0/5" in line for line in shown.out.split("\r"))


def test_a_resumed_bar_starts_where_the_training_stopped(monkeypatch, capsys, tmp_path):
    fit(make_model(), steps=4, checkpoint=tmp_path / "c")
    monkeypatch.delenv("ATTNBOOK_PROGRESS")
    fit(make_model(), steps=6, checkpoint=tmp_path / "c")
    shown = capsys.readouterr().out
    assert "4/6" in shown
    assert "6/6" in shown
    assert "0/6" not in shown


def test_the_bar_is_silent_where_it_is_switched_off(capsys):
    fit(make_model(), steps=5)
    assert capsys.readouterr() == ("", "")


# --- going on from a checkpoint

OPTIMIZERS = {
    "AdamW": torch.optim.AdamW,
    "SGD with momentum": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9),
    "plain SGD": torch.optim.SGD,
    "Adagrad": torch.optim.Adagrad,
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("stop", [3, 4, 5, 9])  # an epoch has 3 steps
def test_resuming_is_the_same_as_not_having_stopped(optimizer, stop, tmp_path):
    settings = {"optimizer": optimizer, "schedule": cosine_decay(0.1), "lr": 0.05}
    whole, model, count = make_model(), make_model(), itertools.count(1)
    losses = fit(whole, steps=10, **settings)

    def interrupted(model, batch):
        if next(count) == stop:
            signal.raise_signal(signal.SIGINT)
        return square_loss(model, batch)

    path = tmp_path / "c.safetensors"
    with pytest.raises(KeyboardInterrupt, match=rf"stopped by Ctrl-C after {stop} of 10 steps"):
        fit(model, loss_fn=interrupted, steps=10, checkpoint=path, **settings)
    assert not model.training
    again = make_model()
    torch.manual_seed(99)  # the random state comes from the checkpoint too
    resumed = train(
        again, make_batches(), square_loss, steps=10, device="cpu", checkpoint=path, **settings
    )
    assert resumed == losses
    assert same(again, whole)
    # What is done is done: once more changes nothing, and gives the same losses.
    assert fit(again, steps=10, checkpoint=path, **settings) == losses
    assert same(again, whole)


def test_resuming_draws_all_the_batches_of_the_steps_that_were_done(tmp_path):
    whole, model, again = make_model(), make_model(), make_model()
    losses = fit(whole, make_batches(5), steps=6, accumulate=2)
    fit(model, make_batches(5), steps=4, accumulate=2, checkpoint=tmp_path / "c")
    settings = {"steps": 6, "accumulate": 2, "checkpoint": tmp_path / "c"}
    assert fit(again, make_batches(5), **settings) == losses
    assert same(again, whole)


def test_resuming_with_a_shuffling_loader(tmp_path):
    def loader():
        x = torch.randn(40, 3, generator=torch.Generator().manual_seed(5))
        data = torch.utils.data.TensorDataset(x, x.sum(-1, keepdim=True))
        generator = torch.Generator().manual_seed(6)
        return torch.utils.data.DataLoader(data, 16, shuffle=True, generator=generator)

    whole, model = make_model(), make_model()
    losses = fit(whole, loader(), steps=8)
    fit(model, loader(), steps=4, checkpoint=tmp_path / "c")
    again = make_model()
    assert fit(again, loader(), steps=8, checkpoint=tmp_path / "c") == losses
    assert same(again, whole)


def test_saves_every_so_many_steps_and_at_the_end(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "attnbook.training.save_training", lambda path, m, o, losses: saved.append(len(losses))
    )
    fit(make_model(), steps=10, checkpoint=tmp_path / "c", every=4)
    assert saved == [4, 8, 10]
    saved.clear()
    fit(make_model(), steps=8, checkpoint=tmp_path / "c", every=4)
    fit(make_model(), steps=3, checkpoint=tmp_path / "c")
    fit(make_model(), steps=3)
    assert saved == [4, 8, 3]


def test_fewer_steps_than_the_checkpoint_has_is_an_error(tmp_path):
    fit(make_model(), steps=5, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="steps must be at least the 5 of the checkpoint, not 4"):
        fit(make_model(), steps=4, checkpoint=tmp_path / "c")


def test_a_checkpoint_that_cannot_be_used_leaves_the_model_as_it_was(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"no checkpoint")
    model = make_model().eval()
    before = weights(model)
    with pytest.raises(CheckpointError, match="cannot be read"):
        fit(model, checkpoint=path)
    assert not model.training
    assert all(torch.equal(p, q) for p, q in zip(weights(model), before, strict=True))
    assert path.read_bytes() == b"no checkpoint"


def test_a_folder_that_is_not_there_is_found_out_before_the_first_step(tmp_path):
    calls = []
    with pytest.raises(CheckpointError, match=r"no folder to be in: make .*nowhere"):
        fit(make_model(), loss_fn=calls.append, checkpoint=tmp_path / "nowhere" / "c")
    assert not calls


# --- Ctrl-C


def run_in_a_process(path):
    """What the next test runs: two trainings, the first slow, the second without an end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have it ignored
    torch.set_num_threads(1)

    def slow(model, batch):
        print("step", flush=True)
        time.sleep(0.05)
        return square_loss(model, batch)

    def hanging(model, batch):
        print("step", flush=True)
        while True:
            time.sleep(0.01)

    for loss_fn in (slow, hanging):
        model = make_model()
        try:
            fit(model, loss_fn=loss_fn, steps=STEPS, checkpoint=f"{path}.{loss_fn.__name__}")
        except KeyboardInterrupt as stop:
            print(f"stopped <{stop}>", model.training, flush=True)


STEPS = 400  # 20 s of the slow one: it is stopped long before


def test_ctrl_c_in_a_process_of_its_own(tmp_path):
    command = [sys.executable, __file__, str(tmp_path / "c")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(4):
        assert process.stdout.readline() == "step\n"
    process.send_signal(signal.SIGINT)
    lines = iter(process.stdout.readline, "")
    stopped = next(line for line in lines if line != "step\n")
    assert re.fullmatch(r"stopped <stopped by Ctrl-C after \d+ of 400 steps> False\n", stopped)

    # A step that comes to no end is left by the second Ctrl-C, and nothing is saved.
    assert next(lines) == "step\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert next(lines) == "stopped <> False\n"
    assert process.wait(timeout=30) == 0
    process.stdout.close()
    assert [path.name for path in tmp_path.iterdir()] == ["c.slow"]

    whole, resumed = make_model(), make_model()
    steps = int(re.search(r"after (\d+)", stopped)[1]) + 5
    losses = fit(whole, steps=steps)
    assert fit(resumed, steps=steps, checkpoint=tmp_path / "c.slow") == losses
    assert same(resumed, whole)


# --- numbers that are not finite


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_names_step_and_value(value, tmp_path):
    model, reference, count = make_model(), make_model(), itertools.count(1)

    def loss_fn(model, batch):
        loss = square_loss(model, batch)
        return loss * value if next(count) == 4 else loss

    fit(reference, steps=3)
    with pytest.raises(FloatingPointError, match=f"the loss is {value} at step 4 of 10"):
        fit(model, loss_fn=loss_fn, checkpoint=tmp_path / "c", every=3)
    assert same(model, reference)
    assert not model.training
    assert len(fit(make_model(), steps=3, checkpoint=tmp_path / "c")) == 3


@pytest.mark.parametrize("clip", [1.0, None])
def test_a_gradient_that_is_not_finite_names_step_and_value(clip):
    model, reference, count = make_model(), make_model(), itertools.count(1)

    def loss_fn(model, batch):
        loss = square_loss(model, batch)
        if next(count) == 3:  # finite itself, but the root has no finite slope at 0
            return loss.detach() + (loss - loss.detach()).abs().sqrt()
        return loss

    fit(reference, steps=2, clip=clip)
    with pytest.raises(FloatingPointError, match=r"norm of the gradient is (nan|inf) at step 3"):
        fit(model, loss_fn=loss_fn, clip=clip)
    assert same(model, reference)


# --- batches


class Pair(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


@pytest.mark.parametrize(
    "batch",
    [
        torch.zeros(2),
        (torch.zeros(2), [torch.zeros(2)]),
        [torch.zeros(2), "text"],
        {"x": torch.zeros(2), "deep": {"y": (torch.zeros(2), 3)}},
        Pair(torch.zeros(2), torch.zeros(2)),
    ],
)
def test_every_tensor_of_a_batch_is_moved(batch):
    moved = []

    def tensors(part):
        if isinstance(part, torch.Tensor):
            yield part
        elif isinstance(part, dict | list | tuple):
            for inner in part.values() if isinstance(part, dict) else part:
                yield from tensors(inner)

    def score(model, batch):
        moved.append(batch)
        return 1, 1

    evaluate(nn.Identity(), [batch], score, device="meta")
    (got,) = moved
    assert type(got) is type(batch)
    assert len(list(tensors(got))) == len(list(tensors(batch)))
    assert all(x.device.type == "meta" for x in tensors(got))
    if isinstance(batch, dict):
        assert list(got) == list(batch)
        assert got["deep"]["y"][1] == 3


def test_the_model_and_the_batches_of_train_are_moved():
    seen = []

    def loss_fn(model, batch):
        seen.extend([batch.device.type, next(model.parameters()).device.type])
        raise KeyError("enough")

    with pytest.raises(KeyError):
        train(nn.Linear(2, 2), [torch.zeros(2)], loss_fn, steps=1, lr=0.1, device="meta")
    assert seen == ["meta", "meta"]


def test_the_device_is_the_machines_unless_given(monkeypatch):
    monkeypatch.setattr("attnbook.runtime.device", lambda: torch.device("meta"))
    model = nn.Linear(2, 2)
    assert evaluate(model, [1], lambda model, batch: (1, 1)) == 1
    assert model.weight.device.type == "meta"
    other = nn.Linear(2, 2)
    with pytest.raises(ZeroDivisionError):
        train(other, [1], lambda model, batch: 1 / 0, steps=1, lr=0.1)
    assert other.weight.device.type == "meta"


@pytest.mark.parametrize("empty", [[], iter([]), ()])
def test_batches_without_any(empty):
    with pytest.raises(ValueError, match="batches gave nothing: it must hold at least one batch"):
        fit(make_model(), empty)


def test_a_generator_that_is_used_up():
    model = make_model()
    with pytest.raises(ValueError, match=r"batches gave nothing.*not a generator.*used up"):
        fit(model, (batch for batch in make_batches()), steps=10)
    assert not model.training
    assert len(fit(make_model(), (batch for batch in make_batches()), steps=3)) == 3


# --- evaluation


def right_answers(model, batch):
    x, y = batch
    return (model(x).sign() == y.sign()).sum(), len(y)


def test_evaluate_is_the_mean_over_all_items_not_over_batches():
    sums = [torch.tensor([1.0] * 9), torch.tensor([0.0])]
    got = evaluate(nn.Identity(), sums, lambda model, x: (x.sum(), len(x)), device="cpu")
    assert got == 0.9


@pytest.mark.parametrize("training", [True, False])
def test_evaluate_has_no_dropout_and_no_gradients_and_puts_the_mode_back(training):
    model, seen = make_model(dropout=0.9).train(training), []

    def score(model, batch):
        seen.append((model.training, torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        return right_answers(model, batch)

    assert evaluate(model, make_batches(), score, device="cpu") == evaluate(
        model, make_batches(), score, device="cpu"
    )
    assert set(seen) == {(False, False, True)}
    assert model.training is training
    with pytest.raises(ZeroDivisionError):
        evaluate(model, make_batches(), lambda model, batch: 1 / 0, device="cpu")
    assert model.training is training


@pytest.mark.parametrize("batches", [[], [torch.zeros(0)]])
def test_evaluate_with_nothing_to_score(batches):
    with pytest.raises(ValueError, match=r"batches must hold something to score.*count is 0"):
        evaluate(nn.Identity(), batches, lambda model, x: (x.sum(), len(x)), device="cpu")


# --- bad input


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize(
        ("loss", "given"),
        [
            (lambda model, batch: (model(batch[0]) - batch[1]).square(), r"shape \(16, 1\)"),
            (lambda model, batch: square_loss(model, batch).item(), "float"),
            (lambda model, batch: None, "NoneType"),
        ],
    )
    def test_what_the_loss_function_returns(self, loss, given):
        with pytest.raises(TypeError, match=f"loss_fn must return a tensor of one number.*{given}"):
            fit(make_model(), loss_fn=loss)

    def test_a_loss_without_a_path_to_the_weights(self):
        with pytest.raises(ValueError, match=r"loss_fn must return a loss that .* the parameters"):
            fit(make_model(), loss_fn=lambda model, batch: square_loss(model, batch).detach())

    def test_a_loss_of_another_model(self):
        other = make_model()
        with pytest.raises(ValueError, match=r"loss_fn must return a loss that .* the parameters"):
            fit(make_model(), loss_fn=lambda model, batch: square_loss(other, batch))

    @pytest.mark.parametrize("factor", [math.nan, math.inf, -1.0])
    def test_a_schedule_that_gives_no_rate(self, factor):
        model = make_model()
        with pytest.raises(ValueError, match=f"schedule must be at least 0 and .*, not {factor}"):
            fit(model, steps=1, schedule=lambda done: factor)
        assert same(model, make_model())

    @pytest.mark.parametrize("schedule", [cosine_decay, lambda done: None])
    def test_a_schedule_that_gives_no_number(self, schedule):
        with pytest.raises(TypeError, match="schedule must be a number, not"):
            fit(make_model(), schedule=schedule)

    @pytest.mark.parametrize("name", ["steps", "every"])
    def test_counts(self, name):
        for bad in (0, -1):
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not {bad}"):
                fit(make_model(), **{name: bad})
        for bad in (2.0, True, "10"):
            with pytest.raises(TypeError, match=f"{name} must be an int, not {bad!r}"):
                fit(make_model(), **{name: bad})

    @pytest.mark.parametrize("name", ["lr", "clip"])
    def test_rates(self, name):
        for bad in (0, -0.1, math.inf, math.nan):
            with pytest.raises(ValueError, match=f"{name} must be above 0 and finite, not {bad}"):
                fit(make_model(), **{name: bad})
        for bad in (True, "0.1"):
            with pytest.raises(TypeError, match=f"{name} must be a number, not {bad!r}"):
                fit(make_model(), **{name: bad})
        with pytest.raises(TypeError, match="lr must be a number, not None"):
            fit(make_model(), lr=None)

    def test_nothing_to_train(self):
        with pytest.raises(ValueError, match="model has no parameters to train"):
            fit(make_model().requires_grad_(False))
        with pytest.raises(ValueError, match="model has no parameters to train"):
            fit(nn.Identity())


if __name__ == "__main__":
    run_in_a_process(sys.argv[1])


def test_evaluate_leaves_a_frozen_part_in_its_own_mode():
    model = make_model().train()
    model[0].eval()
    modes = [module.training for module in model.modules()]
    evaluate(model, make_batches(), lambda model, batch: (1.0, int(model.training) + 1))
    assert [module.training for module in model.modules()] == modes
