"""Assignment 6: the library's functions as answers, and mistakes in the solutions."""

import math

import torch

from attnbook.attention import MultiHeadAttention, attention
from attnbook.decoding.filters import token_probabilities
from attnbook.embeddings import TokenEmbedding
from attnbook.heads import prefix_matching
from attnbook.metrics.counts import bits_per_character
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.models.patches import cut_patches
from attnbook.models.vit import ViT, ViTConfig
from attnbook.objectives.next_token import next_tokens
from attnbook.training import train


def by_hand(numbers):
    logits = torch.tensor(numbers["logits"]).float()
    nll = -sum(math.log(n / 10) for n in numbers["tenths"])
    whole, cut = (token_probabilities(logits, temperature=2.0, top_k=k) for k in (None, 2))
    return whole, cut, bits_per_character(nll, 3)


def sample(logits, u, k, p):
    """The library draws with torch's own numbers; here the draw by a given one stands beside it."""
    probabilities = token_probabilities(logits, top_k=k, top_p=float(p))
    return probabilities, torch.searchsorted(probabilities.cumsum(-1), u[:, None].double())[:, 0]


def gpt(stream, starts, T, tokens, positions, square, w_1, w_2):
    """The library's GPT with these weights; its norms are as they start, its biases 0."""
    (V, D), F = tokens.shape, w_1.shape[1]
    sizes = {"vocab_size": V, "d_model": D, "d_ff": F, "max_len": len(positions)}
    model = GPT(GPTConfig(**sizes, n_heads=1, n_layers=1, dropout=0.0, activation="squared_relu"))
    (layer,) = model.body.layers
    heads, inner = layer.attention, layer.feed_forward
    linear = (heads.w_q, heads.w_k, heads.w_v, heads.w_o, inner.w_1, inner.w_2)
    with torch.no_grad():
        model.body.embed.tokens.weight.copy_(tokens)
        model.body.embed.positions.table.copy_(positions)
        for module, weight in zip(linear, (*square, w_1, w_2), strict=True):
            module.weight.copy_(weight.T)
        inputs, labels = next_tokens(stream[starts[:, None] + torch.arange(T + 1)])
        return labels, model(inputs)[0]


def induction(ids, weights):
    """The head made by hand: of the places behind the same token, the largest key is the last."""
    B, T = ids.shape
    tokens = torch.nn.functional.one_hot(ids).double()  # (B, T, V)
    before = torch.nn.functional.pad(tokens, (0, 0, 1, 0))[:, :-1]
    place = torch.arange(T).double()[:, None].expand(B, T, 1)
    same = tokens @ before.transpose(1, 2) > 0  # (B, T, T)
    query = 1000 * torch.ones(B, T, 1).double()
    found, looked = attention(query, place, place, same.tril())
    places = found[..., 0].masked_fill(looked.sum(dim=-1) == 0, -1)
    return places, prefix_matching(ids, weights)


def learn(x, y, new):
    torch.manual_seed(3)

    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.output = TokenEmbedding(16, 32), torch.nn.Linear(32, 8)
            self.attention = MultiHeadAttention(32, 1)

        def forward(self, words):
            vectors = self.table(words)
            parts = vectors[:, -1:], vectors[:, :-1], vectors[:, 1:]
            return self.output(self.attention(*parts)[0][:, 0])

    def loss(model, batch):
        return torch.nn.functional.cross_entropy(model(x[batch]), y[batch])

    model = Reader()
    train(model, [torch.randint(len(x), (64,)) for _ in range(300)], loss, steps=300, lr=0.01)
    with torch.no_grad():
        return model(new).argmax(dim=-1)


def patches(images, kernels):
    (D, C, *size), (_, _, *image_size) = kernels.shape, images.shape
    sizes = {"image_size": image_size, "patch_size": size, "n_channels": C, "d_model": D}
    model = ViT(ViTConfig(**sizes, n_heads=1, n_layers=1, d_ff=1))
    with torch.no_grad():
        model.embed.weight.copy_(kernels)
        model.embed.bias.zero_()
        return cut_patches(images, size), model.embed(images).flatten(2).transpose(1, 2)


# Of each task; a task with numbers of the student's own takes them first.
LIBRARY = {
    "by_hand": by_hand,
    "loop": lambda logits, p: token_probabilities(logits, top_p=p),
    "sample": sample,
    "gpt": gpt,
    "induction": induction,
    "learn": learn,
    "patches": patches,
}

# In a solution one text is replaced, and exactly these properties are lost.
BLOCK = ["tokens and positions", "the attention sees", "the feed-forward"]
MISTAKES = {
    "by_hand": [
        (('tensor(mine["logits"]) / 2', 'tensor(mine["logits"]).float()'),
         ["four probabilities at", "four probabilities after"]),
        (("kept.softmax(dim=0)", "logits.softmax(dim=0) * (kept > -math.inf)"),
         ["four probabilities after"]),
        (("topk(2)", "topk(3)"), ["four probabilities after"]),
        ((".log2().mean()", ".log().mean()"), ["one number of bits"]),
        ((".log2().mean()", ".log2().sum()"), ["one number of bits"]),
    ],
    "loop": [
        (("if held >= p", "if held + probabilities[token] > p"), ["as few", "a small p"]),
        (("return kept / kept.sum()", "return kept"), ["as few", "a small p"]),
        (("descending=True", "descending=False"), ["as few", "a small p"]),
    ],
    "sample": [
        (("before < p", "before + ordered < p + 1e-6"), ["top-p", "both"]),
        (("torch.zeros_like(ordered).scatter(-1, order, ordered * (before < p))",
          "ordered * (before < p)"), ["top-k: the k", "top-k: what", "top-p", "both", "the token"]),
        (("order, ordered * (before < p)", "order, ordered * (before[:1] < p)"), ["top-p", "both"]),
        (("logits = logits.masked_fill(logits < smallest, -math.inf)",
          "logits = torch.full_like(logits, -math.inf).scatter(-1, *reversed(logits.topk(k)))"),
         ["top-k: what"]),
        (("logits = logits.masked_fill(logits < smallest, -math.inf)\n"
          "    ordered, order = logits.softmax(dim=-1).sort",
          "ordered, order = (logits.softmax(dim=-1) * (logits >= smallest)).sort"), ["both"]),
        (("(probabilities.cumsum(dim=-1) > u[:, None]).int()", "probabilities"), ["the token"]),
        (("> u[:, None]", "<= u[:, None]"), ["the token"]),
        (("(probabilities.cumsum(dim=-1)", "(kept.sort(dim=-1, descending=True)[0].cumsum(dim=-1)"),
         ["the token"]),
    ],
    "gpt": [
        (("stream[places + 1]", "stream[places]"), ["labels"]),
        (("stream[places + 1]", "stream[places].roll(-1, dims=1)"), ["labels"]),
        (("+ positions[:T]", ""), ["tokens and"]),
        (("norm(x) @ tokens.T", "x @ tokens.T"), BLOCK),
        (("/ math.sqrt(x.shape[-1])", ""), ["the attention sees"]),
        (("scores.masked_fill(~past, -math.inf)", "scores"), ["the attention sees"]),
        (("masked_fill(~past", "masked_fill(past.tril(-1)"), ["the attention sees"]),
        (("softmax(dim=-1)", "softmax(dim=-2)"), ["the attention sees"]),
        ((".relu().square()", ".relu()"), ["the feed-forward"]),
        ((".relu().square()", ".square()"), ["the feed-forward"]),
        (("x = x + (norm(x)", "x = x + (x"), ["the feed-forward"]),
    ],
    "induction": [
        (("same.roll(1, dims=-1)", "same"), ["the place", "one head", "each head"]),
        (("places = torch.where(behind, torch.arange(T), -1).amax(dim=-1)",
          "places = torch.where(behind, torch.arange(T), T).amin(dim=-1) % T"), ["the place"]),
        (("torch.arange(T), -1)", "torch.arange(T), 0)"), ["the place"]),
        ((".tril(-1)", ".tril()"), ["the place", "one head", "each head"]),
        (("[:, counted].mean(dim=-1)", ".flatten(1).mean(dim=-1)"), ["one head", "each head"]),
        (("there.transpose(0, 1)[:, counted].mean(dim=-1)",
          "(there.sum(-1) / counted.sum(-1)[:, None]).mean(0)"), ["each head"]),
    ],
    "learn": [
        (("w_k(vectors[:, :-1])", "w_k(vectors[:, 1:])"),
         ["better than", "learned in"]),
        (("w_q(vectors[:, -1:])", "0 * w_q(vectors[:, -1:])"), ["better than", "learned in"]),
        (("range(300)", "range(1)"), ["better than", "learned in"]),
    ],
    "patches": [
        (("parts.permute(0, 2, 4, 1, 3, 5)", "parts"), ["one channel", "several", "each flat"]),
        (("parts.permute(0, 2, 4, 1, 3, 5)", "parts.permute(0, 4, 2, 1, 3, 5)"),
         ["one channel", "several", "each flat"]),
        (("parts.permute(0, 2, 4, 1, 3, 5)", "parts.permute(0, 2, 4, 3, 5, 1)"),
         ["several", "each flat"]),
        (("kernels.flatten(1).T", "kernels.reshape(-1, len(kernels))"), ["each flat"]),
    ],
}  # fmt: skip
# Their public tests see less: form alone, or a training.
HIDDEN_ONLY = {"by_hand", "learn"}
