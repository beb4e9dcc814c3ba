import errno
import json
import os
import stat

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from attnbook import checkpoints
from attnbook.checkpoints import CheckpointError, load_training, save_training


def make(sizes=(3, 8, 1), optimizer=torch.optim.AdamW, seed=0, steps=2, **settings):
    """A model after some steps, and its optimizer."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(*sizes[:2]), nn.Tanh(), nn.Linear(*sizes[1:]))
    updates = optimizer(model.parameters(), lr=0.1, **settings)
    for _ in range(steps):
        updates.zero_grad()
        model(torch.randn(4, sizes[0])).square().sum().backward()
        updates.step()
    return model, updates


def snapshot(model, updates):
    """Everything that a failed load must leave alone, as plain numbers."""
    state = updates.state_dict()["state"]
    return (
        {name: x.tolist() for name, x in model.state_dict().items()},
        {i: {k: torch.as_tensor(v).tolist() for k, v in s.items()} for i, s in state.items()},
        torch.get_rng_state().tolist(),
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "c.safetensors"


def refused(path, match, *args, error=CheckpointError, **kwargs):
    """Loading raises an error that names the file, and changes nothing."""
    model, updates = make(*args, seed=7, **kwargs)
    before = snapshot(model, updates)
    with pytest.raises(error, match=match) as caught:
        load_training(path, model, updates, iter(range(9)))
    assert str(path) in str(caught.value)
    assert snapshot(model, updates) == before


def test_a_round_trip(path):
    model, updates = make()
    save_training(path, model, updates, [3.0, 0.1])
    wanted = snapshot(model, updates)
    drawn = torch.rand(3)
    other, other_updates = make(seed=5, steps=0)
    batches = iter(range(9))
    assert load_training(path, other, other_updates, batches) == [3.0, 0.1]
    assert snapshot(other, other_updates) == wanted
    assert torch.equal(torch.rand(3), drawn)
    assert next(batches) == 2  # as many were drawn as steps were done


def test_drawing_the_batches_does_not_move_the_random_state(path):
    model, updates = make()
    save_training(path, model, updates, [1.0, 1.0])
    wanted = torch.rand(3)
    load_training(path, model, updates, (torch.rand(5) for _ in range(9)))
    assert torch.equal(torch.rand(3), wanted)


def test_a_string_is_a_path_too(path):
    model, updates = make()
    save_training(str(path), model, updates, [])
    assert load_training(str(path), model, updates, iter(())) == []


def test_no_checkpoint_yet_changes_nothing(path):
    model, updates = make()
    before = snapshot(model, updates)
    assert load_training(path, model, updates, iter(())) == []
    assert snapshot(model, updates) == before


def test_tied_weights_and_buffers_are_kept(path):
    def tied(seed):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5, bias=False), nn.BatchNorm1d(5))
        model[1].weight = model[0].weight
        return model, torch.optim.AdamW(model.parameters(), lr=0.1)

    model, updates = tied(0)
    model[2].running_mean.fill_(3.0)
    save_training(path, model, updates, [1.0])
    other, other_updates = tied(1)
    load_training(path, other, other_updates, iter([0]))
    assert torch.equal(other[0].weight, model[0].weight)
    assert other[1].weight is other[0].weight
    assert other[2].running_mean.tolist() == [3.0] * 5


def test_numbers_in_the_state_of_an_optimizer_are_kept(path):
    class Counting(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for p in self.param_groups[0]["params"]:
                self.state[p]["steps"] = self.state[p].get("steps", 0) + 1

    model, updates = make(optimizer=Counting, momentum=0.9, steps=3)
    save_training(path, model, updates, [1.0] * 3)
    other, other_updates = make(optimizer=Counting, momentum=0.9, steps=1, seed=4)
    load_training(path, other, other_updates, iter(range(3)))
    assert snapshot(other, other_updates) == snapshot(model, updates)
    assert [s["steps"] for s in other_updates.state.values()] == [3] * 4


def test_half_precision_weights_are_kept_bit_by_bit(path):
    model, _ = make()
    updates = torch.optim.SGD(model.bfloat16().parameters(), lr=0.1)
    save_training(path, model, updates, [])
    other = make(seed=3)[0].bfloat16()
    load_training(path, other, torch.optim.SGD(other.parameters(), lr=0.1), iter(()))
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), other.parameters()))  # noqa: B905


def test_the_file_is_safetensors_with_its_format_named(path):
    save_training(path, *make(), [1.0])
    with safe_open(path, "pt") as file:
        assert json.loads(file.metadata()["about"])["format"] == "attnbook training 1"
        assert "model.0.weight" in file.keys()  # noqa: SIM118


# --- a disk that fails


@pytest.mark.parametrize("step", ["save", "os.replace", "os.fsync"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_failing_disk_leaves_the_earlier_checkpoint(path, monkeypatch, step, number):
    model, updates = make()
    save_training(path, model, updates, [1.0])
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(f"attnbook.checkpoints.{step}", fail)
    with pytest.raises(CheckpointError, match=f"could not be written.*{os.strerror(number)}") as e:
        save_training(path, *make(seed=3), [2.0, 2.0])
    assert str(path) in str(e.value)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert load_training(path, model, updates, iter([0])) == [1.0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is Linux's")
def test_a_disk_that_is_full_while_writing_leaves_no_partial_file(path, monkeypatch):
    def full(name, mode):
        path.with_name(os.path.basename(name)).touch()
        return open("/dev/full", mode)

    monkeypatch.setattr(checkpoints, "open", full, raising=False)
    with pytest.raises(CheckpointError, match="No space left on device"):
        save_training(path, *make(), [1.0])
    assert not list(path.parent.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows measures the whole path")
def test_a_name_with_no_room_for_the_partial_file(path):
    with pytest.raises(CheckpointError, match="could not be written"):
        save_training(path.with_name("x" * 250), *make(), [1.0])


def test_ctrl_c_while_saving_leaves_the_earlier_checkpoint(path, monkeypatch):
    save_training(path, *make(), [1.0])
    before = path.read_bytes()

    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("attnbook.checkpoints.os.replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        save_training(path, *make(seed=3), [2.0])
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_nothing_is_seen_under_the_name_before_all_is_on_the_disk(path, monkeypatch):
    seen = []
    monkeypatch.setattr("attnbook.checkpoints.os.fsync", lambda file: seen.append(path.exists()))
    save_training(path, *make(), [1.0])
    assert seen == [False]
    assert path.exists()


def test_others_may_read_the_checkpoint_as_any_new_file(path):
    save_training(path, *make(), [1.0])
    (path.parent / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "plain").stat().st_mode)


def test_a_folder_that_is_not_there(path):
    lost = path.parent / "nowhere" / "c"
    with pytest.raises(CheckpointError, match="could not be written"):
        save_training(lost, *make(), [1.0])
    refused(lost, r"has no folder to be in: make .*nowhere")


# --- what is not a checkpoint of this training


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 100, 1000, -1])
def test_a_file_cut_short(path, keep):
    save_training(path, *make(), [1.0, 2.0])
    path.write_bytes(path.read_bytes()[:keep])
    refused(path, "cannot be read")


def test_one_bit_that_turned_is_found_wherever_it_is(path):
    save_training(path, *make(), [1.0, 2.0])
    whole = path.read_bytes()
    for place in range(8, len(whole), 223):
        for bit in (1, 64):
            damaged = whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]
            path.write_bytes(damaged)
            refused(path, "is damaged|cannot be read|is no checkpoint of a training")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a pickle", b"\xff" * 100, b"{}" * 50])
def test_a_file_of_another_kind(path, content):
    path.write_bytes(content)
    refused(path, "cannot be read")


def test_a_folder_in_its_place(path):
    path.mkdir()
    refused(path, "cannot be read")


@pytest.mark.parametrize(
    "metadata", [None, {"format": "pt"}, {"about": "{}"}, {"about": "[1]"}, {"about": "x"}]
)
def test_safetensors_of_others(path, metadata):
    save_file({"weight": torch.zeros(3)}, path, metadata=metadata)
    refused(path, "is no checkpoint of a training|cannot be read")


def test_a_checkpoint_of_ours_with_something_missing(path):
    save_file({}, path, metadata={"about": json.dumps({"format": checkpoints.FORMAT})})
    refused(path, "damaged|belongs to another|cannot be read")


def test_of_another_model(path):
    save_training(path, *make(), [1.0])
    refused(path, r"another model: 0\.bias is \(8,\) there and \(9,\) here", (3, 9, 1))
    refused(path, r"another model: 0\.weight is \(8, 3\) there and \(8, 4\) here", (4, 8, 1))
    torch.manual_seed(0)
    for layers, match in [
        ([nn.Linear(3, 8)], r"2\.bias is \(1,\) there and missing here"),
        ([nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1), nn.Linear(1, 1)], r"3\.bias is missing th"),
    ]:
        model = nn.Sequential(*layers)
        updates = torch.optim.AdamW(model.parameters())
        before = snapshot(model, updates)
        with pytest.raises(CheckpointError, match=match):
            load_training(path, model, updates, iter([0]))
        assert snapshot(model, updates) == before


def test_of_another_optimizer(path):
    save_training(path, *make(), [1.0])
    refused(path, "was saved with AdamW, not with SGD", optimizer=torch.optim.SGD, momentum=0.9)


def test_of_a_training_of_other_parameters(path):
    model, _ = make()
    some = torch.optim.AdamW(model[2].parameters())
    save_training(path, model, some, [1.0])
    refused(path, r"0\.bias was frozen there and is trained here")
    save_training(path, *make(), [1.0])
    before = snapshot(model, some)
    with pytest.raises(CheckpointError, match=r"0\.bias was trained there and is frozen here"):
        load_training(path, model, some, iter([0]))
    assert snapshot(model, some) == before


def test_an_optimizer_of_more_than_the_model_is_refused_before_the_first_step(path):
    model, _ = make()
    more = torch.optim.AdamW([*model.parameters(), nn.Parameter(torch.zeros(2))])
    for call in (
        lambda: load_training(path, model, more, iter(())),
        lambda: save_training(path, model, more, [1.0]),
    ):
        with pytest.raises(CheckpointError, match="has a parameter that is not the model's"):
            call()
    assert not list(path.parent.iterdir())


def test_too_few_batches_change_nothing(path):
    save_training(path, *make(), [1.0, 2.0])
    model, updates = make(seed=7)
    before = snapshot(model, updates)
    with pytest.raises(StopIteration):
        load_training(path, model, updates, iter([0]))
    assert snapshot(model, updates) == before


def test_the_random_state_of_an_accelerator_is_kept(path, monkeypatch):
    states, put_back = [torch.tensor([1, 2], dtype=torch.uint8)] * 2, []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: states)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: torch.tensor([9], dtype=torch.uint8))
    model, updates = make()
    save_training(path, model, updates, [])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)  # one of two: the other is let go
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda x, i: put_back.append((i, x.tolist())))
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda x: put_back.append(("mps", x.tolist())))
    load_training(path, model, updates, iter(()))
    assert put_back == [(0, [1, 2]), ("mps", [9])]
    put_back.clear()
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    load_training(path, model, updates, iter(()))
    assert not put_back
