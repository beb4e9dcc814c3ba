"""Assignment 1: the library's functions as answers, and mistakes in the solutions."""

import math

import torch

from attnbook.attention import MultiHeadAttention, attention
from attnbook.embeddings import TokenEmbedding
from attnbook.training import train


def weights_of(scores):
    """A softmax by the library's attention: the keys are unit vectors."""
    n = scores.shape[-1]
    unit = (torch.eye(n) * math.sqrt(n)).expand(*scores.shape[:-1], n, n)
    return attention(scores[..., None, :], unit, unit)[1][..., 0, :]


def without(output, weights, value, i):
    S = weights.shape[-1]
    kept = torch.arange(S) != i
    return attention(weights.log(), torch.eye(S) * math.sqrt(S), value, kept)


def by_hand(numbers):
    query, keys, values = (torch.tensor(numbers[x]).float() for x in ("query", "keys", "values"))
    output, weights = attention(query[None], keys, values)
    return keys @ query / 2, weights[0], output[0]


def find(x, y, new):
    torch.manual_seed(3)

    class Finder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.output = TokenEmbedding(24, 32), torch.nn.Linear(32, 5)
            self.attention = MultiHeadAttention(32, 1)

        def forward(self, words):
            vectors = self.table(words)
            return self.output(self.attention(vectors[:, -1:], vectors, vectors)[0][:, 0])

    def loss(model, batch):
        return torch.nn.functional.cross_entropy(model(x[batch]), y[batch])

    model = Finder()
    train(model, [torch.randint(len(x), (64,)) for _ in range(500)], loss, steps=500, lr=0.01)
    with torch.no_grad():
        return model(new).argmax(dim=-1)


# Of each task; a task with numbers of the student's own takes them first.
LIBRARY = {
    "by_hand": by_hand,
    "softmax": weights_of,
    "loop": lambda *args: attention(*args)[0],
    "matrices": attention,
    "masked": attention,
    "without": without,
    "find": find,
}

# In a solution one text is replaced, and exactly these properties are lost.
MISTAKES = {
    "by_hand": [
        (("@ query / 2", "@ query"), ["three scores", "three weights", "an output"]),
        (("scores.softmax(dim=0)", "scores / scores.sum()"), ["three weights", "an output"]),
        (("return scores, weights, weights @ values", "return scores, weights, values.mean(0)"),
         ["an output"]),
    ],
    "softmax": [
        (("(scores - scores.amax(dim=-1, keepdim=True))", "scores"), ["large scores"]),
        (("scores.amax(dim=-1, keepdim=True)", "scores.min()"), ["large scores"]),
        (("powers.sum(dim=-1, keepdim=True)", "powers.sum()"), ["each row"]),
        (("powers.sum(dim=-1, keepdim=True)", "powers.sum(dim=0, keepdim=True)"), ["each row"]),
    ],
    "loop": [
        (("/ math.sqrt(len(q))", ""), ["scores are divided"]),
        (("math.sqrt(len(q))", "len(q)"), ["scores are divided"]),
        (("softmax(scores)", "scores.exp() / scores.exp().sum()"), ["large scores"]),
        (("softmax(scores)", "scores"),
         ["a query of zeros", "scores are divided", "large scores"]),
    ],
    "matrices": [
        (("key.transpose(-2, -1)", "key.T"), ["any leading"]),
        (("return weights @ value, weights", "return weights @ value, scores"),
         ["the weights come second"]),
        (("softmax(scores)", "softmax(scores.transpose(-2, -1)).transpose(-2, -1)"),
         ["the output", "the weights", "any leading"]),
    ],
    "masked": [
        (("~mask", "mask"), ["True = may", "a mask (B", "a query that may"]),
        (("weights = weights.masked_fill(~mask, 0.0)", ""), ["a query that may"]),
        (("scores.masked_fill(~mask", "scores.masked_fill(~mask.expand(scores.shape[-2:])"),
         ["a mask (B"]),
    ],
    "without": [
        (("value[i]) / left", "value[i])"), ["the output"]),
        (("weights / left", "weights.clone()"), ["the weights"]),
    ],
    "find": [
        (("w_q(vectors[:, -1:])", "0 * w_q(vectors[:, -1:])"), ["found by content"]),
        (("range(700)", "range(1)"), ["better than", "found by content"]),
    ],
}  # fmt: skip
# Their public tests see less: form alone, or a training.
HIDDEN_ONLY = {"by_hand", "find"}
