"""The policy gradient is, on average over draws, the gradient of the mean score."""

import itertools
import math

import pytest
import torch

from attnbook.objectives.labels import IGNORE
from attnbook.objectives.policy import policy_gradient_loss


def test_by_hand():
    # Probabilities 3/4 and 1/4; the first text is one token long, the second two.
    logits = torch.tensor([math.log(3), 0.0]).expand(2, 2, 2)
    drawn = torch.tensor([[0, IGNORE], [1, 0]])
    loss = policy_gradient_loss(logits, drawn, torch.tensor([0.5, -0.2]))
    wanted = -(0.5 * math.log(3 / 4) - 0.2 * (math.log(1 / 4) + math.log(3 / 4))) / 2
    assert loss.item() == pytest.approx(wanted)


@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_its_mean_over_all_texts_is_the_gradient_of_the_mean_score(baseline):
    """Every text of two tokens out of three, each with its probability: no draw is needed."""
    torch.manual_seed(0)
    logits = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    texts = list(itertools.product(range(3), repeat=2))
    scores = torch.rand(len(texts), dtype=torch.float64)
    log_p = logits.log_softmax(dim=-1)
    p = torch.stack([(log_p[0, a] + log_p[1, b]).exp() for a, b in texts])
    (wanted,) = torch.autograd.grad((p * scores).sum(), logits)
    got = torch.zeros_like(wanted)
    for text, share, score in zip(texts, p.detach(), scores, strict=True):
        loss = policy_gradient_loss(logits[None], torch.tensor([text]), score[None] - baseline)
        got -= share * torch.autograd.grad(loss, logits, retain_graph=True)[0]
    torch.testing.assert_close(got, wanted)


def test_what_is_behind_the_end_changes_nothing():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    drawn = torch.tensor([[1, IGNORE, IGNORE], [4, 0, 2]])
    policy_gradient_loss(logits, drawn, torch.ones(2)).backward()
    assert (logits.grad[0, 1:] == 0).all()
    assert (logits.grad[0, 0] != 0).all()
    assert (logits.grad[1] != 0).all()


def test_no_gradient_flows_into_the_advantages():
    advantages = torch.ones(1, requires_grad=True)
    logits = torch.zeros(1, 2, 3, requires_grad=True)
    policy_gradient_loss(logits, torch.tensor([[0, 1]]), advantages).backward()
    assert advantages.grad is None


@pytest.mark.usefixtures("plain")
def test_bad_input():
    logits, drawn, advantages = torch.zeros(2, 3, 5), torch.zeros(2, 3).long(), torch.zeros(2)
    with pytest.raises(ValueError, match=r"\(B, T, V\), \(B, T\) and \(B,\), not .* and \(3,\)"):
        policy_gradient_loss(logits, drawn, torch.zeros(3))
    with pytest.raises(ValueError, match=r"drawn .*5"):
        policy_gradient_loss(logits, drawn + 5, advantages)
    with pytest.raises(ValueError, match="a mean of none is NaN"):
        policy_gradient_loss(logits[:0], drawn[:0], advantages[:0])
    with pytest.raises(TypeError, match="drawn must hold integers"):
        policy_gradient_loss(logits, drawn.float(), advantages)
