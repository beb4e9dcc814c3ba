"""One training in several processes, started by torchrun: each works on its share of the batches.

`attnbook.training.train` does all of this by itself; a script for one process is also the script
for many: `torchrun --nproc-per-node 2 script.py`.
"""

import atexit
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Team:
    """The processes of one training.

    Args:
        rank: the number of this one, from 0.
        size: how many there are; 1 without torchrun.

    Chapter: 14_gpt
    """

    rank: int = 0
    size: int = 1

    def share(self, module: nn.Module) -> nn.Module:
        """The module, with its gradients averaged over the team after each backward pass."""
        if self.size == 1:
            return module
        # Some models have parameters that not every loss uses, such as a second head.
        return DistributedDataParallel(module, find_unused_parameters=True)

    def own(self, batches: Iterator[Any], n: int = 1) -> Iterator[list[Any]]:
        """For each step the n batches of this process: of as many as there are processes, one."""
        while group := list(islice(batches, n * self.size)):
            yield group[self.rank :: self.size]

    def mean(self, *numbers: float) -> list[float]:
        """Each number, averaged over the team."""
        if self.size == 1:
            return list(numbers)
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        total = torch.tensor(numbers, dtype=torch.float64, device=device)
        dist.all_reduce(total)
        return (total / self.size).tolist()


def team() -> Team:
    """The processes that torchrun started, connected to each other; a team of one without it.

    On GPUs each process takes the one of its number, and NCCL connects them; else gloo does.

    Source: Li et al. 2020 (PyTorch Distributed).
    Chapter: 14_gpt
    """
    if not dist.is_torchelastic_launched():
        return Team()
    if not dist.is_initialized():
        on_gpu = torch.cuda.is_available()
        if on_gpu:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if on_gpu else "gloo")
        atexit.register(dist.destroy_process_group)
    dist.barrier()  # a checkpoint that the first one still writes is there for all
    return Team(dist.get_rank(), dist.get_world_size())
