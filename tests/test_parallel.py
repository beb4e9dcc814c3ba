import json
import os
import socket
import subprocess
import sys

import pytest
import torch

from attnbook.parallel import Team, team
from attnbook.training import train

STEPS, KILL = 6, 3


def model_and_loss():
    torch.manual_seed(1)
    model = torch.nn.ModuleDict(
        {"a": torch.nn.Linear(3, 8), "b": torch.nn.Linear(8, 1), "unused": torch.nn.Linear(2, 2)}
    )

    def loss_fn(model, batch):
        x, y = batch
        return (model["b"](model["a"](x).tanh()) - y).square().mean()

    return model, loss_fn


def batches(n=4):
    torch.manual_seed(2)
    return [(x, x.sum(-1, keepdim=True)) for x in torch.randn(n, 5, 3)]


def doubled():
    pairs = zip(batches()[0::2], batches()[1::2], strict=True)
    return [tuple(map(torch.cat, zip(*pair, strict=True))) for pair in pairs]


SETTINGS = {"lr": 0.05, "device": "cpu", "clip": 0.5}


def run_in_a_process(path):
    """What torchrun runs: a training, and one that goes on from a checkpoint of the first."""
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    model, loss_fn = model_and_loss()
    if rank == 1:  # each process may start from other weights: those of the first count
        with torch.no_grad():
            model["a"].weight.zero_()
    first = train(model, batches(), loss_fn, steps=KILL, checkpoint=f"{path}/c", **SETTINGS)
    model, loss_fn = model_and_loss()
    losses = train(model, batches(), loss_fn, steps=STEPS, checkpoint=f"{path}/c", **SETTINGS)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()]).tolist()
    result = {"first": first, "losses": losses, "weights": weights}
    with open(f"{path}/{rank}.json", "w") as file:
        json.dump(result, file)


def torchrun(path, script=__file__):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--master-addr", "127.0.0.1", "--master-port", str(port), script, str(path)]
    environment = os.environ | {"ATTNBOOK_PROGRESS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)


def test_two_processes_do_what_one_does_with_the_doubled_batch(tmp_path):
    done = torchrun(tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert one["losses"] == two["losses"]
    assert one["weights"] == two["weights"]

    model, loss_fn = model_and_loss()
    losses = train(model, doubled(), loss_fn, steps=STEPS, **SETTINGS)
    assert one["losses"] == pytest.approx(losses, abs=1e-5)
    assert one["losses"][:KILL] == one["first"]
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    torch.testing.assert_close(torch.tensor(one["weights"]), weights, atol=1e-5, rtol=0)
    assert done.stdout.count(f"{STEPS}/{STEPS}") == 1  # one bar, not one for each process


def test_without_torchrun_there_is_a_team_of_one():
    alone = team()
    assert alone == Team(rank=0, size=1)
    module = torch.nn.Linear(2, 2)
    assert alone.share(module) is module
    assert alone.mean(2.0, 3.0) == [2.0, 3.0]
    assert list(alone.own(iter("abc"))) == [["a"], ["b"], ["c"]]
    assert list(alone.own(iter("abcd"), 2)) == [["a", "b"], ["c", "d"]]


def test_each_of_three_takes_every_third_batch():
    for rank, wanted in enumerate(("ad", "be", "cf")):
        assert list(Team(rank, 3).own(iter("abcdef"))) == [[wanted[0]], [wanted[1]]]
        assert list(Team(rank, 3).own(iter("abcdef"), 2)) == [list(wanted)]


if __name__ == "__main__":
    run_in_a_process(sys.argv[1])
