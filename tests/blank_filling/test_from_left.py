"""The left-to-right model's loss, and how it fills blanks: from what stands before each alone."""

from itertools import islice

import pytest
import torch

from attnbook import blank_filling as task
from attnbook.blank_filling import from_left
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.objectives.labels import IGNORE
from attnbook.training import evaluate

DOCUMENTS = [
    ["We met here.", "It was cold and it rained all day.", "Nobody spoke.", "Then we left."],
    ["Taxes are high.", "They will fall.", "The debt is paid."],
]
TOKENIZER = task.load_tokenizer()


def batches(n):
    return list(islice(task.PairBatches(DOCUMENTS, TOKENIZER, rows=3, seed=1, share=0.4), n))


def small():
    torch.manual_seed(0)
    sizes = {"vocab_size": task.VOCAB_SIZE, "max_len": 64, "d_model": 12, "n_heads": 3}
    model = GPT(GPTConfig(**sizes, d_ff=20, n_layers=2, positions="rotary", tie_output=False))
    for name, weight in model.named_parameters():
        if weight.ndim == 2 and name != "output.weight":
            torch.nn.init.normal_(weight)  # so that the tokens before change what comes next
    return model.eval().requires_grad_(False)


def rows(batch):
    """The true ids of each row without its padding, and the places that are asked for."""
    for ids, labels, real in zip(batch.ids, batch.labels, batch.real, strict=True):
        asked = labels != IGNORE
        yield torch.where(asked, labels, ids)[real], asked.nonzero()[:, 0].tolist()


def test_the_loss_asks_for_each_next_token_of_the_true_row():
    model = small()
    total = count = 0
    for batch in batches(2):
        here = n = 0
        for ids, _ in rows(batch):
            log_p = model(ids[None])[0][0].log_softmax(dim=-1)  # (T, V)
            here -= sum(float(log_p[t, ids[t + 1]]) for t in range(len(ids) - 1))
            n += len(ids) - 1
        assert not batch.real.all()  # there is padding
        assert from_left.next_piece_loss(model, batch).item() == pytest.approx(here / n, abs=1e-4)
        total, count = total + here, count + n
    mean = evaluate(model, batches(2), from_left.next_piece_nll, device="cpu")
    assert mean == pytest.approx(total / count, abs=1e-4)


@pytest.mark.parametrize("ends_are_likeliest", [False, True])
def test_a_blank_is_filled_from_what_stands_before_it(ends_are_likeliest):
    model = small()
    if ends_are_likeliest:  # the logits of special tokens are far above all others
        torch.nn.init.ones_(model.body.norm.bias)
        torch.nn.init.constant_(model.output.weight[: task.N_SPECIAL], 9.0)
    for batch in batches(2):
        labels, expected, blanks = batch.labels.clone(), 0, 0
        for i, (ids, places) in enumerate(rows(batch)):
            for j, t in enumerate(places):
                best = model(ids[None, :t])[0][0, -1].sort().indices  # (V,)
                best = next(k for k in best.tolist()[::-1] if k not in TOKENIZER.special_ids)
                if j % 2 == 0:  # every other label is what the model says
                    ids[t] = labels[i, t] = best
                expected += int(ids[t] == best)
            blanks += len(places)
        right, n = from_left.filled_from_left(model, batch._replace(labels=labels))
        assert (int(right), int(n)) == (expected, blanks)
        assert 0 < expected < blanks
