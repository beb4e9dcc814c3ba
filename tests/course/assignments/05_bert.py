"""Assignment 5: the library's functions as answers, and mistakes in the solutions."""

from unittest.mock import patch

import torch
from sklearn.metrics import roc_auc_score

from attnbook import masks
from attnbook.models.bert import Bert, BertConfig, mean_pool
from attnbook.models.bert_heads import BertPretraining
from attnbook.objectives.labels import IGNORE, mean_nll
from attnbook.objectives.masked_tokens import mask_tokens
from attnbook.objectives.next_sentence import join_pairs
from attnbook.training import train

PAD, UNK, CLS, SEP, MASK = range(5)
V = 40  # of the tasks with given draws
SPECIAL = {"mask_id": MASK, "special_ids": (PAD, UNK, CLS, SEP)}


def by_hand(numbers):
    logits, vectors = (torch.tensor([numbers[x]]).float() for x in ("logits", "vectors"))
    first, second = numbers["hidden"]
    labels = torch.tensor([[IGNORE, first, second]])
    each = [mean_nll(logits[0, t], labels[0, t]) for t in (1, 2)]
    pooled = mean_pool(vectors, torch.tensor([[True, True, False]]))
    return (-torch.stack(each)).exp(), mean_nll(logits, labels), pooled[0]


def join(a, b):
    firsts, seconds = ([[i for i in row if i != PAD] for row in x.tolist()] for x in (a, b))
    ids, segments, real = join_pairs(
        firsts, seconds, cls_id=CLS, sep_id=SEP, pad_id=PAD, max_len=64
    )
    return ids, real, segments


def hide_row(ids, u, v, r, share=0.15):
    """The library draws a fixed number of each row, those with the lowest draws: here just so
    many as lie below `share`. Its draws are the given ones."""
    words = ids > MASK
    n = int((words & (u < share)).sum())
    if n == 0:
        return ids, torch.full_like(ids, IGNORE)
    with (
        patch("torch.rand", side_effect=[u[None], v[None]]),
        patch("torch.randint", return_value=r[None] - MASK - 1),
    ):
        inputs, labels = mask_tokens(
            ids[None], **SPECIAL, vocab_size=V, share=min(n / int(words.sum()), 0.999),
            generator=torch.Generator(),
        )  # fmt: skip
    return inputs[0], labels[0]


def hide(ids, u, v, r, share):
    rows = zip(*(x.reshape(-1, x.shape[-1]) for x in (ids, u, v, r)), strict=True)
    both = zip(*(hide_row(*row, share) for row in rows), strict=True)
    return tuple(torch.stack(part).view_as(ids) for part in both)


def best_span(start, end, text, longest):
    """The start as a query, the end as a key that it may attend to."""
    T = start.shape[1]
    allowed = masks.causal(T).T & masks.window(T, longest - 1)
    allowed = allowed & text[:, None] & text[..., None]
    sums = (start[..., None] + end[:, None]).masked_fill(~allowed, -torch.inf)
    return torch.stack(torch.unravel_index(sums.flatten(1).argmax(dim=1), (T, T)), dim=1)


def auc(a, b):
    """The library has none: another implementation."""
    a, b = (torch.nn.functional.normalize(x, dim=-1) for x in (a, b))
    within = [(x @ x.T)[masks.causal(len(x)).tril(-1)] for x in (a, b)]
    across = (a @ b.T).flatten()
    is_within = torch.arange(len(a) * len(b) + sum(map(len, within))) >= len(across)
    return float(roc_auc_score(is_within, torch.cat((across, *within))))


def fill(x, new):
    torch.manual_seed(3)
    draws = torch.Generator().manual_seed(3)
    config = BertConfig(vocab_size=38, max_len=7, d_model=32, n_heads=2, d_ff=64, n_layers=1,
                        dropout=0.0, pooler=False)  # fmt: skip
    model = BertPretraining(Bert(config))

    def loss(model, batch):
        inputs, labels = mask_tokens(x[batch], **SPECIAL, vocab_size=38, share=0.3, generator=draws)
        return mean_nll(model(inputs)[0], labels)

    rows = [torch.randint(len(x), (64,)) for _ in range(500)]
    train(model, rows, loss, steps=500, lr=0.005, device="cpu")
    with torch.no_grad():
        return model(new)[0][:, [2, 4]].argmax(dim=-1)


# Of each task; a task with numbers of the student's own takes them first.
LIBRARY = {
    "by_hand": by_hand,
    "join": join,
    "hide_loop": hide_row,
    "hide": hide,
    "span": best_span,
    "senses": auc,
    "fill": fill,
}

# In a solution one text is replaced, and exactly these properties are lost.
MISTAKES = {
    "by_hand": [
        (("logits[1:].softmax(dim=-1)", "logits.softmax(dim=-1)"), ["two probabilities", "a loss"]),
        (("softmax(dim=-1)", "softmax(dim=0)"), ["two probabilities", "a loss"]),
        (("-right.log().mean()", "-right.log().sum() / 3"), ["a loss"]),
        (("-right.log().mean()", "-right.mean().log()"), ["a loss"]),
        (("vectors[:2].mean(dim=0)", "vectors.mean(dim=0)"), ["a mean"]),
        (("vectors[:2].mean(dim=0)", "vectors[0]"), ["a mean"]),
    ],
    "join": [
        (("[*(i for i in second if i != PAD), SEP]", "[i for i in second if i != PAD]"),
         ["a single", "rows end", "attention_mask", "token_type_ids"]),
        (("[1] * len(second)", "[1] * (len(second) - 1) + [0]"), ["token_type_ids"]),
        (("[0] * len(first) + [1]", "[0] * (len(first) - 1) + [1] + [1]"), ["token_type_ids"]),
        (("batch_first=True, padding_value=0", "batch_first=True, padding_value=1"),
         ["token_type_ids"]),
        (("(ids != PAD).long()", "torch.ones_like(ids)"), ["attention_mask"]),
        (("(ids != PAD).long()", "(ids > MASK).long()"), ["attention_mask"]),
    ],
    "hide_loop": [
        (("ids[t] > MASK and ", ""), ["special tokens"]),
        (("ids[t] > MASK", "ids[t] != PAD"), ["special tokens"]),
        (("elif v[t] < 0.9", "elif v[t] < 0.95"), ["v from 0.8"]),
        (("elif v[t] < 0.9", "else"), ["v from 0.8"]),
        (("inputs[t] = r[t]", "inputs[t] = MASK"), ["v from 0.8"]),
        (("inputs[t] = MASK", "inputs[t] = UNK"), ["v below 0.8", "special tokens"]),
        (("labels[t] = ids[t]", "labels[t] = ids[t] if v[t] < 0.9 else IGNORE"), ["labels"]),
    ],
    "hide": [
        (("(ids > MASK) & (u < share)", "u < share"), ["special tokens"]),
        (("u < share", "u < 0.15"), ["another share"]),
        (("v < 0.9", "v < 0.95"), ["v from 0.8"]),
        (("torch.where(chosen & (v >= 0.8)", "torch.where((v >= 0.8)"), ["v from 0.8"]),
        (("torch.where(chosen, ids", "torch.where(chosen & (v < 0.9), ids"), ["labels"]),
        (("torch.where(chosen & (v < 0.8), MASK", "torch.where(u + v < 0.8, MASK"),
         ["v below 0.8", "special tokens", "any leading"]),
        (("chosen = (ids", "B, T = ids.shape\n    chosen = (ids"), ["any leading"]),
    ],
    "span": [
        (("triu(0)", "triu(-T)"), ["no end before"]),
        (("triu(0)", "triu(1)"), ["no end before"]),
        (("tril(longest - 1)", "tril(longest)"), ["at most"]),
        (("tril(longest - 1)", "tril(longest - 2)"), ["at most"]),
        (("& short ", ""), ["at most"]),
        (("& text[:, :, None] & text[:, None, :]", ""), ["only inside"]),
        (("flatten(1).argmax(dim=1)", "flatten().argmax()[None]"), ["each row"]),
        (("(best // T, best % T)", "(start.argmax(dim=1), end.argmax(dim=1))"),
         ["no end before", "at most", "only inside"]),
        (("best // T, best % T", "best % T, best // T"),
         ["no end before", "at most", "only inside", "each row"]),
    ],
    "senses": [
        (("x / x.norm(dim=-1, keepdim=True)", "x"), ["vectors of any"]),
        (("return wins + ties / 2", "return wins"), ["ties"]),
        (("return wins + ties / 2", "return wins + ties"), ["ties"]),
        (("triu(1)", "triu(0)"), ["pairs within", "vectors of any", "ties", "many vectors"]),
        (("within[:, None] > across", "within[:, None] < across"),
         ["pairs within", "vectors of any", "ties", "many vectors"]),
    ],
    "fill": [
        (("tokens(ids) + places.weight", "tokens(ids)"), ["each verb"]),
        (("layer(vectors)", "layer(vectors, src_mask=torch.ones(T, T).triu(1).bool())"),
         ["each verb"]),
        (("logits_of(inputs)", "logits_of(ids)"), ["better than", "each verb"]),
        (("range(500)", "range(1)"), ["better than", "each verb"]),
    ],
}  # fmt: skip
# Their public tests see less: form alone, or a training.
HIDDEN_ONLY = {"by_hand", "fill"}
