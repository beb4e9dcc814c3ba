import math

import pytest
import torch

from attnbook.objectives.labels import IGNORE, mean_nll, smoothed_nll, summed_nll


def test_by_hand():
    # Two classes with logits ln 3 and 0: probabilities 3/4 and 1/4.
    logits = torch.tensor([[math.log(3), 0.0]]).repeat(4, 1)
    labels = torch.tensor([0, 1, IGNORE, 0])
    total, count = summed_nll(logits, labels)
    assert count == 3
    assert total.item() == pytest.approx(2 * math.log(4 / 3) + math.log(4))
    assert mean_nll(logits, labels).item() == pytest.approx(total.item() / 3)


def test_ignore_is_what_torch_ignores_by_itself():
    assert torch.nn.CrossEntropyLoss().ignore_index == IGNORE


def test_a_model_that_knows_nothing_loses_ln_V():
    assert mean_nll(torch.zeros(2, 3, 7), torch.full((2, 3), 6)).item() == pytest.approx(
        math.log(7)
    )


@pytest.mark.parametrize("label", range(5))
def test_no_class_is_dropped(label):
    """Class 0 is as real as any: it may be padding's id, but it may also be the end's."""
    logits = torch.zeros(1, 5).index_fill(1, torch.tensor(label), 2.0)
    total, count = summed_nll(logits, torch.tensor([label]))
    assert count == 1
    assert total.item() == pytest.approx(math.log(4 + math.e**2) - 2)


def test_what_is_ignored_changes_neither_the_loss_nor_the_gradient():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    labels = torch.tensor([[1, IGNORE, 0], [IGNORE, 4, IGNORE]])
    loss = mean_nll(logits, labels)
    loss.backward()
    asked = labels != IGNORE
    assert (logits.grad[~asked] == 0).all()
    assert (logits.grad[asked] != 0).all()
    alone = mean_nll(logits[asked], labels[asked])
    torch.testing.assert_close(loss, alone)


def test_half_precision_is_summed_in_float32():
    logits = torch.zeros(3000, 2, dtype=torch.bfloat16)
    total, _ = summed_nll(logits, torch.zeros(3000, dtype=torch.int32))
    assert total.dtype == torch.float32
    assert total.item() == pytest.approx(3000 * math.log(2), rel=1e-5)
    assert summed_nll(torch.zeros(1, 2).double(), torch.tensor([0]))[0].dtype == torch.float64


def test_nothing_sums_to_zero_but_has_no_mean():
    logits = torch.zeros(2, 3)
    assert summed_nll(logits, torch.full((2,), IGNORE)) == (0, 0)
    assert summed_nll(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long)) == (0, 0)
    with pytest.raises(
        ValueError, match=r"labels must hold at least one .* IGNORE = -100, .* 2 are"
    ):
        mean_nll(logits, torch.full((2,), IGNORE))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("loss", [mean_nll, summed_nll])
class TestBadInput:
    @pytest.mark.parametrize("size", [(2,), (2, 4), (2, 3, 5), (3, 2)])
    def test_shapes(self, loss, size):
        with pytest.raises(ValueError, match=r"labels must have the shape .* logits' \(2, 3, 5\)"):
            loss(torch.zeros(2, 3, 5), torch.zeros(size, dtype=torch.long))

    def test_a_bare_number(self, loss):
        with pytest.raises(ValueError, match="labels must have the shape"):
            loss(torch.tensor(1.0), torch.tensor(0))

    @pytest.mark.parametrize("label", [-1, 5, -101])
    def test_a_label_that_is_no_class(self, loss, label):
        with pytest.raises(ValueError, match=rf"labels must lie in 0 … 4, but {label} is among"):
            loss(torch.zeros(2, 5), torch.tensor([0, label]))

    def test_kinds(self, loss):
        with pytest.raises(TypeError, match="logits must hold floating-point numbers"):
            loss(torch.zeros(2, 5, dtype=torch.long), torch.tensor([0, 1]))
        with pytest.raises(TypeError, match="labels must hold integers"):
            loss(torch.zeros(2, 5), torch.tensor([0.0, 1.0]))


def test_smoothing_by_hand():
    # Probabilities 3/4 and 1/4, of which 0.9 + 0.05 and 0.05 are wanted.
    logits = torch.tensor([[math.log(3), 0.0], [5.0, 5.0]])
    wanted = 0.95 * math.log(4 / 3) + 0.05 * math.log(4)
    loss = smoothed_nll(logits, torch.tensor([0, IGNORE]), smoothing=0.1)
    assert loss.item() == pytest.approx(wanted)


def test_smoothing_is_torchs_and_none_is_the_cross_entropy():
    logits, labels = torch.randn(3, 5, 7), torch.randint(7, (3, 5))
    labels[0, 2:] = IGNORE
    wanted = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), label_smoothing=0.3
    )
    torch.testing.assert_close(smoothed_nll(logits, labels, smoothing=0.3), wanted)
    torch.testing.assert_close(
        smoothed_nll(logits, labels, smoothing=0.0), mean_nll(logits, labels)
    )
    with pytest.raises(ValueError, match="smoothing must be at least 0 and below 1, not 1"):
        smoothed_nll(logits, labels, smoothing=1.0)
