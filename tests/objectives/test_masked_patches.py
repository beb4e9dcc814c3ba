import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.objectives.chosen import choose
from attnbook.objectives.masked_patches import mask_patches, patch_loss


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@given(st.integers(1, 4), st.integers(2, 30), st.floats(0.05, 0.9), st.integers(0, 9))
def test_keep_and_restore(B, L, share, seed):
    if round(L * share) >= L:
        return
    keep, restore, hidden = mask_patches(B, L, share=share, generator=seeded(seed))
    K = keep.shape[1]
    assert (K, restore.shape, hidden.shape) == (L - int(hidden[0].sum()), (B, L), (B, L))
    assert abs(L - K - L * share) <= 0.5001 or L - K == 1
    for b in range(B):
        assert keep[b].tolist() == [i for i in range(L) if not hidden[b, i]]
    # As the docstring uses them: encode the visible, fill up, put in order.
    x = torch.arange(B * L * 3.0).reshape(B, L, 3)
    visible = torch.take_along_dim(x, keep[..., None], dim=1)
    everything = torch.cat((visible, torch.full((B, L - K, 3), -1.0)), dim=1)
    everything = torch.take_along_dim(everything, restore[..., None], dim=1)
    assert torch.equal(everything, x.masked_fill(hidden[..., None], -1.0))


def test_the_share_of_the_paper():
    keep, _, _ = mask_patches(2, 196, generator=seeded())
    assert keep.shape == (2, 49)  # 75 % of 14 x 14 hidden


def test_patches_are_as_likely_rows_and_draws_differ_and_a_seed_repeats_them():
    generator = seeded()
    hidden = mask_patches(8_000, 5, share=0.4, generator=generator)[2]
    deviation = (8_000 * 0.4 * 0.6) ** 0.5
    assert ((hidden.sum(0) - 3_200).abs() < 4.5 * deviation).all()
    assert not torch.equal(hidden[:4_000], hidden[4_000:])
    assert not torch.equal(mask_patches(8_000, 5, share=0.4, generator=generator)[2], hidden)
    assert torch.equal(mask_patches(8_000, 5, share=0.4, generator=seeded())[2], hidden)


def test_loss_by_hand():
    target = torch.tensor([[[1.0, 3.0], [5.0, 5.0], [0.0, 0.0]]])
    predicted = torch.tensor([[[2.0, 5.0], [5.0, 5.0], [100.0, 100.0]]])
    hidden = torch.tensor([[True, True, False]])
    assert patch_loss(predicted, target, hidden).item() == (1 + 4 + 0 + 0) / 4
    # Normalised: (1, 3) has mean 2 and variance 2; (5, 5) becomes (0, 0).
    r = 0.5**0.5
    wanted = ((2 + r) ** 2 + (5 - r) ** 2 + 25 + 25) / 4
    loss = patch_loss(predicted, target, hidden, normalize=True)
    assert loss.item() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("normalize", [False, True])
def test_what_is_visible_changes_neither_the_loss_nor_the_gradient(normalize):
    predicted = torch.randn(2, 5, 3, requires_grad=True)
    target = torch.randn(2, 5, 3)
    _, _, hidden = mask_patches(2, 5, share=0.6, generator=seeded())
    loss = patch_loss(predicted, target, hidden, normalize=normalize)
    loss.backward()
    assert (predicted.grad[~hidden] == 0).all()
    assert (predicted.grad[hidden] != 0).all()
    other = torch.where(hidden[..., None], target, torch.full_like(target, 9.0))
    assert patch_loss(predicted, other, hidden, normalize=normalize) == loss


def test_normalized_targets_do_not_hang_on_brightness_and_contrast():
    target = torch.randn(2, 4, 7)
    hidden = torch.ones(2, 4, dtype=torch.bool)
    one = patch_loss(torch.zeros(2, 4, 7), target, hidden, normalize=True)
    two = patch_loss(torch.zeros(2, 4, 7), 30 * target + 5, hidden, normalize=True)
    torch.testing.assert_close(one, two, atol=1e-4, rtol=0)
    assert one.item() == pytest.approx(6 / 7, rel=1e-4)  # spread 1 with the divisor P - 1


def test_frames_of_utterances_of_different_lengths():
    real = torch.arange(20) < torch.tensor([[20], [7], [1]])
    hidden = choose(real, 0.15, generator=seeded())
    assert hidden.sum(1).tolist() == [3, 1, 1]
    assert not (hidden & ~real).any()
    frames, predicted = torch.randn(3, 20, 12), torch.zeros(3, 20, 12)
    torch.testing.assert_close(
        patch_loss(predicted, frames, hidden), frames[hidden].square().mean()
    )


def test_the_results_are_on_the_device_of_the_generator():
    generator = seeded()
    with torch.device("meta"):  # where all goes that is made without a device
        got = mask_patches(2, 5, share=0.4, generator=generator)
    for ours, wanted in zip(got, mask_patches(2, 5, share=0.4, generator=seeded()), strict=True):
        assert torch.equal(ours, wanted)


@pytest.mark.usefixtures("plain")
class TestBadInput:
    x, hidden = torch.zeros(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)

    def test_mask_patches(self):
        with pytest.raises(ValueError, match=r"share must leave a patch, but 0\.9 of 4 hides them"):
            mask_patches(2, 4, share=0.9, generator=seeded())
        with pytest.raises(ValueError, match="share must be above 0 and below 1, not 75"):
            mask_patches(2, 4, share=75, generator=seeded())
        with pytest.raises(ValueError, match="batch_size must be at least 1, not 0"):
            mask_patches(0, 4, generator=seeded())
        with pytest.raises(ValueError, match="n_patches must be at least 1, not 0"):
            mask_patches(2, 0, generator=seeded())
        with pytest.raises(TypeError, match=r"generator must be a torch\.Generator, not NoneType"):
            mask_patches(2, 4, generator=None)

    def test_patch_loss(self):
        with pytest.raises(ValueError, match="target must have the shape of predicted"):
            patch_loss(self.x, self.x[:1], self.hidden)
        for hidden in (self.hidden[:1], self.hidden[:, :, None]):
            with pytest.raises(
                ValueError, match=r"\(B, L, P\) and hidden \(B, L\), not \(2, 3, 4\)"
            ):
                patch_loss(self.x, self.x, hidden)
        with pytest.raises(ValueError, match=r"\(B, L, P\) and hidden \(B, L\), not \(2, 3\)"):
            patch_loss(self.x[..., 0], self.x[..., 0], self.hidden)
        with pytest.raises(TypeError, match="hidden must be boolean"):
            patch_loss(self.x, self.x, self.hidden.long())
        with pytest.raises(ValueError, match="hidden must be True at least once"):
            patch_loss(self.x, self.x, ~self.hidden)
        with pytest.raises(ValueError, match="normalize needs patches of at least 2 numbers"):
            patch_loss(self.x[..., :1], self.x[..., :1], self.hidden, normalize=True)
        with pytest.raises(TypeError, match="target must hold floating-point numbers"):
            patch_loss(self.x, self.x.long(), self.hidden)
