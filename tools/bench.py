"""Time the library against torch and transformers, and print a table. Called by `make bench`.

Every number is a ratio within this one run: the candidates take turns, and the median over the
rounds of (theirs / ours) is shown. Times are processor seconds of the one thread, which a busy
machine changes least. Memory is the peak of the tensors made on top of inputs and weights.
"""

import argparse
import math
import os
import platform
import statistics
import sys
import time
import weakref
from collections.abc import Callable

import torch
import transformers
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers.models.bert.modeling_bert import BertLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from attnbook import masks
from attnbook.attention import MultiHeadAttention, fused_attention
from attnbook.decoding.one_by_one import greedy
from attnbook.decoding.steps import GPTStep
from attnbook.layers import EncoderLayer
from attnbook.pretrained import gpt2
from attnbook.windowed import windowed_attention

SIZES = [(32, 64, 128, 4), (8, 256, 256, 8), (2, 1024, 512, 8)]  # B, T, D, H


class PeakMemory(TorchDispatchMode):
    """The most bytes that tensors made inside the block held at one time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for x in tree_leaves((args, kwargs)):
            if isinstance(x, Tensor):
                self._note(x, count=False)  # what was there before
        result = func(*args, **(kwargs or {}))
        for x in tree_leaves(result):
            if isinstance(x, Tensor):
                self._note(x, count=True)
        return result

    def _note(self, x: Tensor, *, count: bool) -> None:
        storage = x.untyped_storage()
        key, size = storage._cdata, storage.nbytes() if count else 0
        if key in self.known:
            return
        self.known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.now -= size


def peak_bytes(run: Callable[[], object]) -> int:
    """The peak of the memory of one run."""
    with PeakMemory() as memory:
        run()
    return memory.peak


def seconds(run: Callable[[], object]) -> float:
    """The processor time of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def ratios(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """How many times as long as the first each takes: the median over the rounds."""
    for run in runs.values():  # warm
        run()
    first, *others = runs
    taken = [{name: seconds(run) for name, run in runs.items()} for _ in range(rounds)]
    return {name: statistics.median(t[name] / t[first] for t in taken) for name in others} | {
        first: 1.0,
        "ms": 1000 * statistics.median(t[first] for t in taken),
    }


def forward_backward(module: nn.Module, x: Tensor, *args, **kwargs) -> Callable[[], None]:
    """One pass forward and back through a module that returns its output, or that first."""
    upstream = torch.randn_like(x)

    def run() -> None:
        module.zero_grad(set_to_none=True)
        output = module(x, *args, **kwargs)
        output = output[0] if isinstance(output, tuple) else output
        output.backward(upstream)

    return run


class SelfAttention(nn.Module):
    """Either attention as a function of one sequence."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, *args, **kwargs) -> Tensor:
        return self.attention(x, x, x, *args, **kwargs)[0]


def layer_rows(rounds: int) -> list[list[str]]:
    """Attention and whole layers, forward and backward."""
    rows = []
    for B, T, D, H in SIZES:
        torch.manual_seed(0)
        x, causal = torch.randn(B, T, D, requires_grad=True), masks.causal(T)
        bert = transformers.BertConfig(
            hidden_size=D, num_attention_heads=H, intermediate_size=4 * D, hidden_act="gelu",
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="sdpa",
        )  # fmt: skip
        block = transformers.GPT2Config(
            n_embd=D, n_head=H, n_inner=4 * D, n_positions=T, attn_implementation="sdpa",
            resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0,
        )  # fmt: skip
        theirs = nn.MultiheadAttention(D, H, batch_first=True)
        layer = nn.TransformerEncoderLayer(D, H, 4 * D, 0.0, "gelu", batch_first=True)
        ours = EncoderLayer(D, H, 4 * D, activation="gelu")
        decoder_only = EncoderLayer(D, H, 4 * D, activation="gelu_tanh", pre_norm=True)
        pairs = {
            "attention / `nn.MultiheadAttention`": (
                forward_backward(SelfAttention(MultiHeadAttention(D, H)), x),
                forward_backward(SelfAttention(theirs), x, need_weights=False),
            ),
            "encoder layer / `nn.TransformerEncoderLayer`": (
                forward_backward(ours, x),
                forward_backward(layer, x),
            ),
            "encoder layer / transformers' BERT layer": (
                forward_backward(ours, x),
                forward_backward(BertLayer(bert), x),
            ),
            "causal layer / transformers' GPT-2 block": (
                forward_backward(decoder_only, x, causal),
                forward_backward(GPT2Block(block, layer_idx=0), x),
            ),
        }
        for name, (ours_run, theirs_run) in pairs.items():
            result = ratios({"ours": ours_run, "theirs": theirs_run}, rounds)
            bytes_ = peak_bytes(theirs_run) / peak_bytes(ours_run)
            size = f"{B} × {T} × {D}, {H} heads"
            rows.append(
                [name, size, f"{result['ms']:.1f} ms", f"{result['theirs']:.2f}", f"{bytes_:.2f}"]
            )
    return rows


def generation_rows(rounds: int, max_new: int = 256) -> list[list[str]]:
    """Greedy text with the cache, from equal weights; both must write the same."""
    rows = []
    for B, D, H, n_layers in ((1, 128, 4, 4), (4, 256, 8, 4)):
        torch.manual_seed(0)
        config = transformers.GPT2Config(
            vocab_size=1000, n_positions=16 + max_new, n_embd=D, n_head=H, n_layer=n_layers,
            resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0, eos_token_id=None, bos_token_id=None,
        )  # fmt: skip
        theirs = transformers.GPT2LMHeadModel(config).eval()
        ours = gpt2.from_hf(theirs.state_dict(), gpt2.config_from_hf(config.to_dict())).eval()
        prompt = torch.randint(1000, (B, 16))
        options = {"max_new_tokens": max_new, "do_sample": False, "pad_token_id": 0}
        mask = torch.ones_like(prompt)
        runs = {
            "ours": lambda p=prompt, m=ours: greedy(GPTStep(m), p, max_new=max_new),
            "theirs": lambda p=prompt, m=theirs, a=mask, o=options: m.generate(
                p, attention_mask=a, **o
            ),
        }
        if not torch.equal(runs["ours"](), runs["theirs"]()[:, 16:]):
            raise RuntimeError("the two wrote different texts: they cannot be compared")
        result = ratios(runs, max(3, rounds // 3))
        bytes_ = peak_bytes(runs["theirs"]) / peak_bytes(runs["ours"])
        size = f"{B} × {max_new} × {D}, {n_layers} layers of {H} heads"
        name = "cached greedy text / transformers' `generate`"
        rows.append(
            [name, size, f"{result['ms']:.0f} ms", f"{result['theirs']:.2f}", f"{bytes_:.2f}"]
        )
    return rows


def window_rows(rounds: int, longest: int, width: int = 64, d: int = 32) -> list[list[str]]:
    """Blocked against masked and full attention, by length; a head at a time."""
    rows = []
    L = 128
    while longest >= L:
        torch.manual_seed(0)
        q, k, v = (torch.randn(1, 1, L, d, requires_grad=True) for _ in range(3))
        upstream = torch.randn(1, 1, L, d)

        def back(output: Tensor, upstream: Tensor = upstream) -> None:
            output.backward(upstream)

        window = masks.window(L, width)
        runs = {
            "blocked": lambda q=q, k=k, v=v: back(windowed_attention(q, k, v, width)),
            "masked": lambda q=q, k=k, v=v, m=window: back(fused_attention(q, k, v, m)),
            "full": lambda q=q, k=k, v=v: back(fused_attention(q, k, v)),
        }
        result = ratios(runs, max(3, rounds * 1024 // max(L, 1024)))
        memory = {name: peak_bytes(run) / 2**20 for name, run in runs.items()}
        rows.append(
            [f"{L:,}", f"{result['ms']:.1f} ms"]
            + [f"{result[name]:.2f}" for name in ("masked", "full")]
            + [f"{memory[name]:.1f} MB" for name in runs]
        )
        L *= 2
    return rows


def by_size(rows: list[list[str]], first: str) -> str:
    """One line a comparison and one column a size: time and, in brackets, memory."""
    sizes = list(dict.fromkeys(row[1] for row in rows))
    cells = {(name, size): f"{times} ({memory})" for name, size, _, times, memory in rows}
    names = dict.fromkeys(row[0] for row in rows)
    lines = [[name, *(cells[name, size] for size in sizes)] for name in names]
    return markdown([first, *sizes], lines)


def slope(rows: list[list[str]]) -> float:
    """How the blocked time grows with L over the last four doublings: 1 is linear, 2 square."""
    times = [float(row[1].split()[0]) for row in rows][-5:]
    return math.log2(times[-1] / times[0]) / (len(times) - 1)


def crossover(rows: list[list[str]], column: int) -> str:
    """The shortest length from which on the blocked version is never slower."""
    faster = [float(row[column]) >= 1 for row in rows]
    place = len(faster) - next((i for i, f in enumerate(reversed(faster)) if not f), len(faster))
    return rows[place][0] if place < len(rows) else f"none up to {rows[-1][0]}"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table; all columns after the first are figures."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    """What this ran on, in words."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        pass  # another system: the short name has to do
    return (
        f"{name}, {os.cpu_count()} cores, {torch.get_num_threads()} thread; "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--longest", type=int, default=16384)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{machine()}\n")
    print("How many times ours theirs takes, forward and backward; in brackets, memory.\n")
    print(by_size(layer_rows(options.rounds), "ours / theirs; B × T × D"), "\n")
    print(by_size(generation_rows(options.rounds), "ours / theirs; B × new tokens × D"), "\n")
    print(
        "Blocked attention, one head 32 wide, a window of 64 on either side, forward and backward;"
    )
    print("the others: how many times as long.\n")
    rows = window_rows(options.rounds, options.longest)
    head = ["L", "blocked", "masked ×", "full ×", "blocked, peak", "masked, peak", "full, peak"]
    print(markdown(head, rows), "\n")
    print(f"Blocked time grows as L^{slope(rows):.2f} over the last doublings. It is faster than")
    print(
        f"masked from L = {crossover(rows, 2)} on, and than full from L = {crossover(rows, 3)} on."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
