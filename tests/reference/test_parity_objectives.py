"""Parity of the losses with torch's, and of BLEU with sacrebleu called as its authors call it."""

import pytest
import sacrebleu
import torch
from torch import nn

from attnbook.metrics.bleu import corpus_bleu
from attnbook.objectives.labels import IGNORE, mean_nll
from attnbook.objectives.masked_patches import patch_loss

PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
def test_mean_nll(dtype, tolerance):
    ours = torch.randn(3, 5, 7, dtype=dtype, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    labels = torch.randint(7, (3, 5)).masked_fill(torch.rand(3, 5) < 0.3, IGNORE)
    loss = mean_nll(ours, labels)
    wanted = nn.CrossEntropyLoss()(theirs.transpose(1, 2), labels)  # classes second
    torch.testing.assert_close(loss, wanted, atol=tolerance, rtol=0)
    loss.backward()
    wanted.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=tolerance, rtol=0)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
def test_patch_loss(dtype, tolerance):
    ours = torch.randn(3, 5, 7, dtype=dtype, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    target, hidden = torch.randn(3, 5, 7, dtype=dtype), torch.rand(3, 5) < 0.6
    loss = patch_loss(ours, target, hidden, normalize=True)
    # torch's layer norm takes the divisor P, the authors' code P - 1.
    normal = nn.functional.layer_norm(target, (7,), eps=0) * (6 / 7) ** 0.5
    wanted = nn.MSELoss()(theirs[hidden], normal[hidden])
    torch.testing.assert_close(loss, wanted, atol=max(tolerance, 1e-5), rtol=0)
    loss.backward()
    wanted.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=max(tolerance, 1e-5), rtol=0)


@pytest.mark.parametrize("tokenize", ["13a", "zh"])
def test_bleu(tokenize):
    hypotheses = ["Turn on the light in room 2.", "It's 20.5 °C.", "打开2号房间的灯。"]
    streams = [
        ["Switch on the light in room 2.", "It is 20.5 °C.", "打开二号房间的灯。"],
        ["Turn the light in room 2 on!", "20.5 °C it is.", "请打开2号房间的灯"],
    ]
    references = [list(texts) for texts in zip(*streams, strict=True)]
    wanted = sacrebleu.corpus_bleu(hypotheses, streams, tokenize=tokenize).score
    assert corpus_bleu(hypotheses, references, tokenize=tokenize) == wanted
