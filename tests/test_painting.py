"""Painting hidden patches: the batches, the loss, the error, and the reader that is made of it."""

import pytest
import torch
from torch import nn

from attnbook.models.masked_autoencoder import MaskedAutoencoder, MaskedAutoencoderConfig
from attnbook.models.patches import cut_patches
from attnbook.painting import PaintBatches, paint_error, paint_loss, reader_of

CONFIG = MaskedAutoencoderConfig(
    image_size=(6, 8),
    patch_size=2,
    n_channels=1,
    d_model=12,
    n_heads=3,
    d_ff=10,
    n_layers=2,
    decoder_d_model=8,
    decoder_n_heads=2,
    decoder_d_ff=7,
    decoder_n_layers=1,
)
IMAGES = torch.rand(10, 1, 6, 8)


class Painter(nn.Module):
    """Says what is in the patches that it was given, and `paper` in the others."""

    config = CONFIG

    def __init__(self, paper=0.0):
        super().__init__()
        self.paper = nn.Parameter(torch.tensor(paper))

    def forward(self, images, keep, restore):
        patches = cut_patches(images, 2)
        out = torch.zeros_like(patches) + self.paper
        place = keep[..., None].expand(-1, -1, 4)
        return out.scatter(1, place, patches.gather(1, place))


def test_batches_have_new_masks_each_time_and_are_the_same_again():
    batches = PaintBatches(IMAGES, 12, steps=3, size=4, seed=5)
    first, again = list(batches), list(batches)
    assert len(batches) == len(first) == 3
    for one, other in zip(first, again, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
        images, keep, restore, hidden = one
        assert images.shape == (4, 1, 6, 8)
        assert (keep.shape, restore.shape, hidden.shape) == ((4, 3), (4, 12), (4, 12))
        assert (hidden.sum(dim=1) == 9).all()
    assert not torch.equal(first[0][3], first[1][3])
    other = next(iter(PaintBatches(IMAGES, 12, steps=1, size=4, seed=6)))
    assert not torch.equal(other[3], first[0][3])


def test_no_image_comes_twice_before_all_have_come():
    seen = torch.cat([b[0] for b in PaintBatches(IMAGES, 12, steps=2, size=5, seed=1)])
    assert len(seen.flatten(1).unique(dim=0)) == 10


def test_hidden_patches_alone_count():
    images, keep, restore, hidden = next(iter(PaintBatches(IMAGES, 12, steps=1, size=7)))
    wanted = cut_patches(images, 2)[hidden].square().mean()  # the visible ones are right
    loss = paint_loss(Painter(), (images, keep, restore, hidden))
    torch.testing.assert_close(loss, wanted)


def test_the_error_is_the_mean_over_all_images_with_masks_of_a_seed():
    ones = torch.ones(6, 1, 6, 8)
    assert paint_error(Painter(0.5), ones, size=3) == pytest.approx(0.25)
    errors = [paint_error(Painter(), IMAGES, seed=seed, size=5) for seed in (1, 1, 2)]
    assert errors[0] == errors[1] != errors[2]
    with pytest.raises(ValueError, match="size must divide the number of images, but 4 and 10"):
        paint_error(Painter(), IMAGES, size=4)


def test_the_reader_has_the_encoder_and_leaves_the_decoder():
    autoencoder = MaskedAutoencoder(CONFIG).eval()
    before = {k: x.clone() for k, x in autoencoder.state_dict().items()}
    reader = reader_of(autoencoder, 5).eval()
    assert reader(IMAGES)[0].shape == (10, 5)
    with torch.no_grad():
        vectors, _ = autoencoder.encoder(IMAGES)
        torch.testing.assert_close(reader(IMAGES)[0], reader.output(vectors[:, 0]))
        for weight in reader.parameters():
            weight.zero_()
    assert all(torch.equal(x, before[k]) for k, x in autoencoder.state_dict().items())
    fresh = reader_of(autoencoder, 5, pretrained=False)
    assert not torch.equal(fresh.embed.weight, autoencoder.encoder.embed.weight)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"size": 11}, {"size": 0}])
def test_wrong_batches_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PaintBatches(IMAGES, 12, **{"steps": 1, "size": 2, **wrong})
