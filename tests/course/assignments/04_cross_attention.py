"""Assignment 4: the library's functions as answers, and mistakes in the solutions."""

import math

import torch
from torch import nn

from attnbook import masks, pronouncing
from attnbook.attention import MultiHeadAttention, attention
from attnbook.decoding import beam, rows, steps
from attnbook.decoding.mode import evaluating
from attnbook.metrics import edits
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.objectives.labels import smoothed_nll
from attnbook.objectives.next_token import next_tokens
from attnbook.optimizers import muon
from attnbook.pronouncing import BOS, PAD
from attnbook.training import train

STEPS = 250  # of the training


def by_hand(numbers):
    query, keys, values, logits = (
        torch.tensor(numbers[x]).float() for x in ("query", "keys", "values", "logits")
    )
    real = masks.padding(torch.tensor([3]), 4)[0]
    found, weights = attention(query[None], keys, values, real)
    written = torch.tensor([1, 0, 2])
    log_p = [
        -smoothed_nll(row[None], i[None], smoothing=0.0)
        for row, i in zip(logits, written, strict=True)
    ]
    return weights[0], found[0], log_p, 3 * -smoothed_nll(logits, written, smoothing=0.0)


def cross(x, memory, w_q, w_k, w_v, real):
    """By the layer of the library, with these matrices."""
    D = x.shape[-1]
    layer = MultiHeadAttention(D, n_heads=1).eval()
    pairs = zip((layer.w_q, layer.w_k, layer.w_v, layer.w_o), (w_q, w_k, w_v, torch.eye(D)),
                strict=True)  # fmt: skip
    with torch.no_grad():
        for linear, matrix in pairs:
            linear.weight.copy_(matrix.T)
            if linear.bias is not None:
                linear.bias.zero_()
        output, weights = layer(x, memory, memory, real[:, None], need_weights=True)
    return output, weights[:, 0]


def cross_alone(x, memory, w_q, w_k, w_v, real):
    return cross(x[None], memory[None], w_q, w_k, w_v, real[None])[0][0]


def teacher_forcing(targets, logits, smoothing):
    ids = torch.cat((torch.full_like(targets[:, :1], BOS), targets), dim=1)
    inputs, labels = next_tokens(ids, real=ids != PAD)
    return inputs, labels, smoothed_nll(logits, labels, smoothing=smoothing)


class TableStep(steps.Step):
    """A table as a model: another id, V, is the start, which never comes again."""

    def __init__(self, first, then, max_len):
        rows_of = torch.cat((then, first[None]))  # (V + 1, V)
        never = torch.full((len(rows_of), 1), -math.inf)
        self.table = torch.cat((rows_of, never), dim=1)
        super().__init__(nn.Identity(), len(rows_of), max_len, real=None, cached=False)

    def _prepare(self, B, length):
        self.cache = None

    def _logits(self, ids, real):
        return self.table[ids]


def beam_search(first, then, eos, beams, max_new):
    step, start = TableStep(first, then, max_new + 1), torch.tensor([[len(first)]])
    ids, scores = beam.beam_search(step, start, max_new=max_new, beams=beams, eos=eos)
    (text,) = rows.cut_at(ids[:, 0], eos)
    ended = [eos] if eos in ids[0, 0].tolist() else []
    return [*text, *ended], scores[0, 0]


def phoneme_error_rate(said, listed):
    words = [[str(p) for p in row if p] for row in said.tolist()]
    sounds = [[[str(p) for p in row if p] for row in some if any(row)] for some in listed.tolist()]
    return edits.phoneme_error_rate(words, sounds)


def next_sounds(source, targets, new, begun):
    """The encoder-decoder of the chapter, in small."""
    torch.manual_seed(4)
    sizes = {"d_model": 32, "n_heads": 2, "d_ff": 64, "n_layers": 1, "max_len": 10}
    kind = {"source_vocab_size": 15, "target_vocab_size": 17, "pre_norm": True}
    model = Seq2Seq(Seq2SeqConfig(**kind, **sizes))
    sounds = torch.cat((torch.full_like(targets[:, :1], BOS), targets), dim=1)
    chosen = [torch.randint(len(source), (64,)) for _ in range(STEPS)]
    batches = [(source[batch], sounds[batch]) for batch in chosen]
    how = {"lr": 0.015, "optimizer": muon(model), "device": "cpu"}
    train(model, batches, pronouncing.pronouncing_loss, steps=STEPS, **how)
    last = (begun != PAD).sum(dim=1) - 1
    with evaluating(model):
        logits, _, _ = model(new, begun, masks.real_tokens(new, PAD))
    return logits[torch.arange(len(new)), last].argmax(dim=-1)


# Of each task; a task with numbers of the student's own takes them first.
LIBRARY = {
    "by_hand": by_hand,
    "loop": cross_alone,
    "matrices": cross,
    "teacher": teacher_forcing,
    "beam": beam_search,
    "rate": phoneme_error_rate,
    "pronounce": next_sounds,
}

# In a solution one text is replaced, and exactly these properties are lost.
MISTAKES = {
    "by_hand": [
        (("scores[3] = -math.inf", ""), ["four weights", "a vector"]),
        (('mine["query"] / 2', 'mine["query"]'), ["four weights", "a vector"]),
        (("log_softmax(dim=1)", "log_softmax(dim=0)"), ["a log-prob", "one log-prob"]),
        (("log_p.sum()", "log_p.mean()"), ["one log-prob"]),
    ],
    "loop": [
        (("/ math.sqrt(len(query))", ""), ["queries from x"]),
        (("letter @ w_k", "letter @ w_q"), ["queries from x"]),
        (("if is_real", ""), ["padding is"]),
        (("m @ w_v", "m"), ["a query of", "queries from x", "padding is"]),
    ],
    "matrices": [
        (("scores = scores.masked_fill(~real[:, None, :], -math.inf)", ""), ["padding gets"]),
        (("-math.inf)", "0.0)"), ["padding gets"]),
        (("~real", "real"), ["the output", "the weights", "padding gets"]),
        (("return weights @ value, weights", "return weights @ value, scores"),
         ["the weights", "padding gets"]),
        (("softmax(dim=-1)", "softmax(dim=1)"), ["the output", "the weights", "padding gets"]),
    ],
    "teacher": [
        (("BOS), ", "EOS), "), ["inputs"]),
        (("targets[:, :-1]), dim=1", "targets[:, 1:]), dim=1"), ["inputs"]),
        (("targets.masked_fill(targets == PAD, IGNORE)", "targets.clone()"),
         ["the label of padding", "the mean"]),
        (("right.mean()", "right.sum() / labels.numel()"), ["the mean"]),
        (("-(1 - smoothing) * right", "-right"), ["label smoothing"]),
        (("smoothing * log_p.mean()", "smoothing * log_p.sum(dim=-1).mean()"),
         ["label smoothing"]),
        (("labels != IGNORE", "targets > EOS"),
         ["the loss", "label smoothing", "the mean"]),
    ],
    "beam": [
        (("text[-1] != eos][:beams]", "text[-1] != eos][:1]"), ["two beams", "equally"]),
        (("grown if text[-1] != eos]", "grown]"), ["a text ends", "the mean"]),
        (("(text, log_p / n)", "(text, log_p)"), ["the mean"]),
        (("range(1, max_new + 1)", "range(1, max_new)"),
         ["one beam", "two beams", "the mean", "equally"]),
    ],
    "rate": [
        (("min(above[j - 1] + (x != y), above[j] + 1, row[j - 1] + 1)",
          "above[j - 1] + (x != y)"), ["insertions"]),
        (("(x != y)", "2 * (x != y)"), ["substitutions", "edits of all", "the nearest"]),
        (("edit_distance(word, nearest)\n        phonemes += len(nearest)",
          "edit_distance(word, nearest) / len(nearest)\n        phonemes += 1"),
         ["edits of all"]),
        (("min(sounds, key=lambda sound: edit_distance(word, sound))", "sounds[0]"),
         ["the nearest"]),
    ],
    "pronounce": [
        (("(states, found)", "(states, 0 * found)"), ["better than", "it looks"]),
        (("(states, found)", "(states, memory.mean(dim=1, keepdim=True).expand_as(states))"),
         ["it looks"]),
    ],
}  # fmt: skip
# Their public tests see less: form alone, or a training.
HIDDEN_ONLY = {"by_hand", "pronounce"}
