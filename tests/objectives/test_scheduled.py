"""Of the tokens that a model reads in training, a share are its own."""

import pytest
import torch

from attnbook.objectives.scheduled import scheduled_inputs

V = 11


def sure(tokens):
    """Logits of a model that is certain: of `tokens` at their places, shape (B, T, V)."""
    return torch.nn.functional.one_hot(tokens, V) * 100.0


def draws(number=3):
    return torch.Generator().manual_seed(number)


def test_a_word_of_its_own_stands_one_place_behind_its_logits():
    inputs = torch.zeros(2, 5, dtype=torch.long)
    written = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    mixed = scheduled_inputs(inputs, sure(written), 0.999999, generator=draws())
    assert mixed.tolist() == [[0, 1, 2, 3, 4], [0, 6, 7, 8, 9]]


def test_without_a_share_all_stays():
    inputs = torch.randint(V, (3, 7))
    assert torch.equal(
        scheduled_inputs(inputs, torch.randn(3, 7, V), 0.0, generator=draws()), inputs
    )


def test_the_share_is_a_probability_of_each_place():
    inputs = torch.zeros(400, 51, dtype=torch.long)
    logits = sure(torch.ones(400, 51, dtype=torch.long))
    mixed = scheduled_inputs(inputs, logits, 0.3, generator=draws())
    assert (mixed[:, 0] == 0).all()
    assert mixed[:, 1:].float().mean().item() == pytest.approx(0.3, abs=0.015)
    rows = mixed.sum(dim=1)
    assert rows.min() < rows.max()  # not as many in each row


def test_words_are_drawn_from_the_distribution():
    logits = torch.tensor([0.2, 0.5, 0.3]).log().expand(300, 31, 3)
    inputs = torch.full((300, 31), 9)
    mixed = scheduled_inputs(inputs, logits, 0.999999, generator=draws())[:, 1:]
    shares = [(mixed == token).float().mean().item() for token in range(3)]
    assert shares == pytest.approx([0.2, 0.5, 0.3], abs=0.02)


def test_the_generator_goes_on_and_no_gradient_flows():
    inputs, logits = torch.zeros(4, 9, dtype=torch.long), torch.randn(4, 9, V, requires_grad=True)
    generator = draws()
    first, second = (scheduled_inputs(inputs, logits, 0.5, generator=generator) for _ in "ab")
    assert not torch.equal(first, second)
    assert torch.equal(first, scheduled_inputs(inputs, logits, 0.5, generator=draws()))
    assert not first.requires_grad


@pytest.mark.usefixtures("plain")
def test_bad_input():
    inputs, logits = torch.zeros(2, 3, dtype=torch.long), torch.zeros(2, 3, V)
    with pytest.raises(ValueError, match=r"\(B, T\) and logits \(B, T, V\), not .*\(2, 4, 11\)"):
        scheduled_inputs(inputs, torch.zeros(2, 4, V), 0.5, generator=draws())
    with pytest.raises(ValueError, match=r"at least 0 and below 1, not 1\.5"):
        scheduled_inputs(inputs, logits, 1.5, generator=draws())
    with pytest.raises(TypeError, match="inputs must hold integers"):
        scheduled_inputs(inputs.float(), logits, 0.5, generator=draws())
    with pytest.raises(TypeError, match="generator"):
        scheduled_inputs(inputs, logits, 0.5, generator=3)
