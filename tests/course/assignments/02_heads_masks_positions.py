"""Assignment 2: the library's functions as answers, and mistakes in the solutions."""

import math

import torch

from attnbook import masks
from attnbook.attention import MultiHeadAttention
from attnbook.embeddings import TokenEmbedding
from attnbook.positions import RotaryPositions, SinusoidalPositions, sinusoidal
from attnbook.training import train


def by_hand(numbers):
    """The layer with matrices that change nothing."""
    query, keys = (torch.tensor(numbers[name]).float() for name in ("query", "keys"))
    values = torch.tensor([numbers["value_0"], numbers["value_1"]]).float()
    layer = layer_of([torch.eye(4)] * 4, 2)
    output, weights = layer(query[None, None], keys[None], values[None], need_weights=True)
    q, k = layer._split(query[None, None]), layer._split(keys[None])
    scores = q @ k.transpose(-2, -1) / math.sqrt(2)  # (1, 2, 1, 2)
    return scores.flatten(), weights.flatten(), output.flatten()


def split_and_join(x, heads):
    layer = MultiHeadAttention(x.shape[-1], heads.shape[1])
    return layer._split(x), layer._join(heads)


def make_masks(lengths, T, width):
    past, near, real = masks.causal(T), masks.window(T, width), masks.padding(lengths, T)
    return past, near, real, past & near & real


def rotary_scores(query, key, here, there, base):
    rotate = RotaryPositions(query.shape[-1], base)
    q, k = (x if x.ndim == 4 else x[None, None] for x in (query, key))  # (B, H, T, d)
    q, k = rotate(q, here).view(query.shape), rotate(k, there).view(key.shape)
    return q, q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])


def layer_of(matrices, H):
    layer = MultiHeadAttention(len(matrices[0]), H, bias=False)
    projections = (layer.w_q, layer.w_k, layer.w_v, layer.w_o)
    for projection, matrix in zip(projections, matrices, strict=True):
        projection.weight.data = matrix.T  # torch's layout
    return layer


def multi_head(x, w_q, w_k, w_v, w_o, H, mask):
    return layer_of((w_q, w_k, w_v, w_o), H)(x, x, x, mask, need_weights=True)


def before(x, y, new):
    torch.manual_seed(3)

    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.output = TokenEmbedding(12, 32, std=1.0), torch.nn.Linear(32, 2)
            self.positions = SinusoidalPositions(32, max_len=10)
            self.query = torch.nn.Parameter(torch.randn(1, 1, 32))
            self.attention = MultiHeadAttention(32, 2)

        def forward(self, words):
            vectors, query = self.positions(self.table(words)), self.query.expand(len(words), 1, 32)
            return self.output(self.attention(query, vectors, vectors)[0][:, 0])

    def loss(model, batch):
        return torch.nn.functional.cross_entropy(model(x[batch]), y[batch])

    model = Reader()
    train(model, [torch.randint(len(x), (64,)) for _ in range(400)], loss, steps=400, lr=0.01)
    with torch.no_grad():
        return model(new).argmax(dim=-1)


# Of each task; a task with numbers of the student's own takes them first.
LIBRARY = {
    "by_hand": by_hand,
    "heads": split_and_join,
    "masks": make_masks,
    "waves": lambda places, D, base: sinusoidal(int(places.max()) + 1, D, base)[places],
    "rotary": rotary_scores,
    "multi_head": multi_head,
    "before": before,
}

# In a solution one text is replaced, and exactly these properties are lost.
MISTAKES = {
    "by_hand": [
        (("math.sqrt(2)", "math.sqrt(4)"), ["four scores", "four weights", "the outputs"]),
        (("scores[-1].softmax(dim=0)", "scores[-1].exp()"), ["four weights", "the outputs"]),
        # Every other column to a head.
        (("(slice(0, 2), slice(2, 4))", "(slice(0, 4, 2), slice(1, 4, 2))"),
         ["four scores", "four weights", "the outputs"]),
        # The weights of one head for both.
        (("weights[-1] @ values", "weights[0] @ values"), ["the outputs"]),
    ],
    "heads": [
        (("x.unflatten(-1, (H, -1)).transpose(1, 2)", "x.view(len(x), H, x.shape[1], -1)"),
         ["split"]),
        (("x.unflatten(-1, (H, -1)).transpose(1, 2)",
          "x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)"), ["split"]),
        (("heads.transpose(1, 2).flatten(-2)",
          "heads.reshape(len(heads), heads.shape[2], -1)"), ["join"]),
        (("heads.transpose(1, 2).flatten(-2)", "heads.permute(0, 2, 3, 1).flatten(-2)"), ["join"]),
    ],
    "masks": [
        (("key <= query", "key < query"), ["causal", "all three"]),
        (("key <= query", "key > query"), ["causal", "all three"]),
        (("(query - key).abs() <= width", "query - key <= width"), ["window"]),
        (("(query - key).abs() <= width", "(query - key).abs() < width"), ["window", "all three"]),
        (("key < lengths", "key <= lengths"), ["padding", "all three"]),
        (("past & near & real", "past & near | real"), ["all three"]),
        # A mask of whole rows: padding does not ask, instead of not being asked.
        (("past & near & real", "past & near & real.transpose(1, 2)"), ["all three"]),
    ],
    "waves": [
        (("torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)",
          "torch.cat((angles.sin(), angles.cos()), dim=-1)"), ["pair i", "another", "an odd"]),
        (("(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"),
         ["the first pair", "pair i", "another", "an odd"]),
        (("torch.arange(0, D, 2) / D", "torch.arange(0, D, 2) / (2 * D)"),
         ["pair i", "another", "an odd"]),
        (("base **", "10_000.0 **"), ["another"]),
        (("[:, :D]", ""), ["an odd"]),
        (("places[:, None]", "torch.arange(len(places))[:, None]"),
         ["the first pair", "pair i", "another", "an odd"]),
    ],
    "rotary": [
        # Turned the other way.
        (("(u * cos - v * sin, u * sin + v * cos)", "(u * cos + v * sin, v * cos - u * sin)"),
         ["one pair", "neighbours", "the scores", "any leading"]),
        (("u, v = x[..., 0::2], x[..., 1::2]", "u, v = x.chunk(2, dim=-1)"),
         ["neighbours", "the scores", "any leading"]),
        # Coordinates in another order: the scores do not see it.
        (("torch.stack((u * cos - v * sin, u * sin + v * cos), dim=-1).flatten(-2)",
          "torch.cat((u * cos - v * sin, u * sin + v * cos), dim=-1)"), ["neighbours"]),
        (("turn(key, there, base)", "turn(key, torch.arange(len(there)), base)"),
         ["the scores", "any leading"]),
        (("turn(key, there, base)", "key"), ["the scores", "any leading"]),
        (("/ math.sqrt(q.shape[-1])", ""), ["the scores", "any leading"]),
        (("k.transpose(-2, -1)", "k.T"), ["any leading"]),
    ],
    "multi_head": [
        (("join_heads(heads) @ w_o", "join_heads(heads)"),
         ["one head", "several", "a mask (T", "a mask (B"]),
        (("join_heads(heads) @ w_o", "heads.reshape(x.shape) @ w_o"),
         ["several", "a mask (T", "a mask (B"]),
        (("for w in (w_q, w_k, w_v)", "for w in (w_q, w_k, w_k)"),
         ["one head", "several", "a mask (T", "a mask (B"]),
        # The width is cut, but the heads are never brought forward.
        (("split_heads(x @ w, H) for", "(x @ w).view(len(x), H, x.shape[1], -1) for"),
         ["several", "the weights", "a mask (T", "a mask (B"]),
        (("mask[:, None] if mask.ndim == 3 else mask", "mask"), ["a mask (B"]),
        (("mask[:, None] if mask.ndim == 3 else mask", "~mask"),
         ["one head", "several", "the weights", "a mask (T", "a mask (B"]),
        (("@ w_o, weights", "@ w_o, weights.mean(dim=1)"), ["the weights"]),
    ],
    "before": [
        (("table(words) + order", "table(words)"), ["better than", "the order"]),
        # Only the half of the sentence is known.
        (("waves(torch.arange(10)", "waves(torch.arange(10) // 5"), ["the order"]),
        (("range(400)", "range(1)"), ["better than", "the order"]),
    ],
}  # fmt: skip
# Their public tests see less: form alone, or a training.
HIDDEN_ONLY = {"by_hand", "before"}
