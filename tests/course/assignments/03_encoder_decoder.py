"""Assignment 3: the library's modules as answers, and mistakes in the solutions."""

import torch
from torch import nn

from attnbook import masks
from attnbook.attention import MultiHeadAttention
from attnbook.cache import AttentionCache
from attnbook.decoding import one_by_one, steps
from attnbook.layers import EncoderLayer
from attnbook.metrics.counts import perplexity
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.objectives.labels import mean_nll, summed_nll
from attnbook.objectives.next_token import next_tokens
from attnbook.sublayers import Residual
from attnbook.training import train


def normed(x, gamma=None, beta=None, eps=1e-5):
    """The library's layer norm: what a pre-norm sub-layer gets to see."""
    around = Residual(x.shape[-1], pre_norm=True, norm_eps=eps)
    with torch.no_grad():
        if gamma is not None:
            around.norm.weight.copy_(gamma), around.norm.bias.copy_(beta)
        return around.enter(x)


def by_hand(numbers):
    word, update = (torch.tensor(numbers[name]).float() for name in ("word", "update"))
    post = Residual(4, pre_norm=False, norm_eps=1e-9)
    total = Residual(4, pre_norm=True).leave(word, update)
    mean, spread = word.mean(), word.std(correction=0)
    return torch.stack((mean, spread)), normed(word, eps=1e-9), total, post.leave(word, update)


def norms(which, x, *more):
    if which == "layer_norm_loop":
        return normed(x, eps=more[0])
    if which == "layer_norm":
        return normed(x, *more)
    gamma, beta, eps = more  # batch norm: the rows of the library's are the columns here
    columns = normed(x.flatten(0, -2).T, eps=eps)  # (D, all words)
    return columns.T.reshape(x.shape) * gamma + beta


def encoder_block(x, lengths, w_q, w_k, w_v, w_o, w_1, b_1, w_2, b_2):
    layer = EncoderLayer(x.shape[-1], 1, len(b_1), pre_norm=True)
    own, feed_forward = layer.attention, layer.feed_forward
    with torch.no_grad():
        for part, weight in ((own.w_q, w_q), (own.w_k, w_k), (own.w_v, w_v), (own.w_o, w_o)):
            part.weight.copy_(weight.T)
            part.bias.zero_()
        for part, weight, bias in ((feed_forward.w_1, w_1, b_1), (feed_forward.w_2, w_2, b_2)):
            part.weight.copy_(weight.T)
            part.bias.copy_(bias)
        return layer(x, masks.padding(lengths, x.shape[1]))[0]


def in_steps(x, n, w_q, w_k, w_v):
    B, T, D = x.shape
    module, cache, outputs = MultiHeadAttention(D, 1, bias=False), AttentionCache(B, 1, T, D), []
    with torch.no_grad():
        parts = (module.w_q, w_q), (module.w_k, w_k), (module.w_v, w_v), (module.w_o, torch.eye(D))
        for part, weight in parts:
            part.weight.copy_(weight.T)
        for new in x.split(n, dim=1):
            mask = masks.causal(new.shape[1], cache.length + new.shape[1])
            outputs.append(module(new, new, new, mask, cache=cache)[0])
    return torch.cat(outputs, dim=1), cache.keys[:, 0], cache.values[:, 0]


class TableStep(steps.Step):
    """The model of the task as the library's decoding calls one."""

    def __init__(self, table):
        super().__init__(nn.Identity(), len(table), 64, None, cached=False)
        self.table = table

    def _prepare(self, B, length):
        self.cache = None

    def _logits(self, ids, real):
        weights = 0.5 ** torch.arange(ids.shape[1] - 1, -1, -1)
        return (self.table[ids] * weights[:, None]).sum(dim=1, keepdim=True)  # (B, 1, V)


def greedy(table, prompt, max_new, eos, pad):
    return one_by_one.greedy(TableStep(table), prompt, max_new=max_new, eos=eos, pad=pad)


def perplexity_of(logits, ids, real):
    _, labels = next_tokens(ids, real=real)
    return perplexity(*summed_nll(logits[:, :-1], labels))


def decipher(x, new):
    torch.manual_seed(3)
    sizes = {"vocab_size": 12, "max_len": 11, "d_model": 32, "n_heads": 1, "d_ff": 64}
    model = GPT(GPTConfig(**sizes, n_layers=1, tie_output=False))

    def loss(model, batch):
        inputs, labels = next_tokens(x[batch])
        return mean_nll(model(inputs)[0][:, 5:], labels[:, 5:])  # from the sign on

    batches = [torch.randint(len(x), (64,)) for _ in range(500)]
    train(model, batches, loss, steps=500, lr=0.01, device="cpu")
    return one_by_one.greedy(steps.GPTStep(model), new, max_new=5)


# Of each task; a task with numbers of the student's own takes them first.
LIBRARY = {
    "by_hand": by_hand,
    "norms": norms,
    "block": encoder_block,
    "cache": in_steps,
    "greedy": greedy,
    "perplexity": perplexity_of,
    "train": decipher,
}

EACH_ROW, UNDER_ROOT = "layer_norm_loop: each row", "layer_norm_loop: eps"
ATTENTION, FEED_FORWARD = "the attention's update", "the feed-forward network's update"
SECOND, PADDING = "the second sub-layer", "padding is no key"
TOKEN, HOLDS, SEVERAL = "token by token", "the cache holds", "several at once"
WRITES, ENDED, STOPS = "the most probable", "a row that has ended", "stops when"
ONE_ROW, ROWS, PADDED, LARGE = "one row", "several rows", "padding counts", "large logits"

# In a solution one text is replaced, and exactly these properties are lost.
MISTAKES = {
    "by_hand": [
        (("row.var(correction=0)", "row.var()"), ["the layer norm", "post-norm"]),
        (("word.std(correction=0)", "word.std()"), ["a mean"]),
        (("norm(word + update)", "word + norm(update)"), ["post-norm"]),
        (("norm(word), word + update", "norm(word), norm(word) + update"), ["word and update"]),
    ],
    "norms": [
        (("math.sqrt(variance + eps)", "(math.sqrt(variance) + eps)"), [UNDER_ROOT]),
        (("/ len(row)\n        rows", "/ (len(row) - 1)\n        rows"), [EACH_ROW, UNDER_ROOT]),
        (("for row in x:", "for row in x.T:"), [EACH_ROW, UNDER_ROOT]),
        (("x.mean(dim=-1, keepdim=True)", "x.mean(dim=0, keepdim=True)"), ["layer_norm: the"]),
        (("x.var(dim=-1, correction=0, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
         ["layer_norm: the"]),
        (("x.flatten(0, -2)", "x"), ["batch_norm"]),
        (("rows.var(dim=0, correction=0)", "rows.var(dim=0)"), ["batch_norm"]),
        (("scale * gamma", "(scale * gamma)"), ["batch_norm"]),
    ],
    "block": [
        (("h = layer_norm(x, 1.0, 0.0, 1e-5)", "h = x"), [ATTENTION, SECOND, PADDING]),
        (("y = x + attend", "y = attend"), [ATTENTION, FEED_FORWARD, SECOND, PADDING]),
        (("h = layer_norm(y,", "h = layer_norm(x,"), [SECOND]),
        (("(h @ w_1 + b_1).relu()", "(h @ w_1 + b_1)"), [FEED_FORWARD, SECOND]),
        (("< lengths[:, None]", "<= lengths[:, None]"), [PADDING]),
        (("h @ w_v, real[:, None])", "h @ w_v)"), [PADDING]),
        (("real[:, None])", "~real[:, None])"), [ATTENTION, SECOND, PADDING]),
    ],
    "cache": [
        (("values, mask)", "values)"), [SEVERAL, "all at once"]),
        (("tril(diagonal=S - n)", "tril()"), [TOKEN, SEVERAL]),
        (("tril(diagonal=S - n)", "tril(diagonal=S - n - 1)"), [TOKEN, SEVERAL, "all at once"]),
        (("mask = torch", "mask = None if n == 1 else torch.ones(n, S).bool().tril() #"),
         [SEVERAL]),
        (("if cache is not None", "if False"), [TOKEN, HOLDS, SEVERAL]),
        (("(cache[0], keys)", "(keys, cache[0])"), [TOKEN, HOLDS, SEVERAL]),
    ],
    "greedy": [
        (("token.masked_fill(ended, pad)", "token"), [ENDED]),
        (("token.masked_fill(ended, pad)", "token.masked_fill(ended, eos)"), [ENDED]),
        (("ended | (token == eos)", "token == eos"), [ENDED]),
        (("ended.all()", "ended.any()"), [ENDED]),
        (("ended.all()", "False"), [STOPS]),
        (("next_logits(table, ids)", "next_logits(table, ids[:, -1:])"), [WRITES, ENDED, STOPS]),
        (("return ids[:, prompt.shape[1] :]", "return ids"), [WRITES, ENDED, STOPS]),
    ],
    "perplexity": [
        (("logits[:, :-1]", "logits[:, 1:]"), [ONE_ROW, ROWS, PADDED, LARGE]),
        (("(-right[asked]).mean().exp()", "(-right[asked]).mean()"),
         [ONE_ROW, ROWS, PADDED, LARGE]),
        (("(-right[asked]).mean().exp()", "torch.stack([(-r[a]).mean().exp() "
          "for r, a in zip(right, asked, strict=True)]).mean()"), [ROWS, PADDED]),
        (("(-right[asked]).mean()", "(-right).mean()"), [PADDED]),
        (("real[:, 1:]", "real[:, :-1]"), [PADDED]),
        (("logits[:, :-1].log_softmax(dim=-1)",
          "(logits[:, :-1].exp() / logits[:, :-1].exp().sum(-1, keepdim=True)).log()"), [LARGE]),
    ],
    "train": [
        (("+ self.places.weight[:T]", ""), ["better than", "the code is found"]),
        (("dtype=torch.bool).tril()", "dtype=torch.bool)"), ["better than", "the code is found"]),
        (("batch[:, 6:]", "batch[:, 5:-1]"), ["better than", "the code is found"]),
    ],
}  # fmt: skip
# Their public tests see less: form alone, or a training.
HIDDEN_ONLY = {"by_hand", "train"}
