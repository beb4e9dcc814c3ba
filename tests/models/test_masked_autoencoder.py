"""A masked autoencoder sees what is kept, paints everything, and its loss is of what is hidden."""

import dataclasses
import json

import pytest
import torch

from attnbook.models.masked_autoencoder import MaskedAutoencoder, MaskedAutoencoderConfig
from attnbook.models.patches import cut_patches
from attnbook.models.vit import ViT, ViTConfig
from attnbook.objectives.masked_patches import mask_patches, patch_loss

B, C, N, P = 2, 3, 8, 18
SIZES = {
    "image_size": (8, 6), "patch_size": (2, 3), "d_model": 15, "n_heads": 5, "d_ff": 11,
    "n_layers": 3, "decoder_d_model": 14, "decoder_n_heads": 7, "decoder_d_ff": 13,
    "decoder_n_layers": 2,
}  # fmt: skip
SPEECH = {"image_size": (N, 12), "patch_size": (1, 12), "n_channels": 1}


def mae(**changes):
    torch.manual_seed(1)
    return MaskedAutoencoder(MaskedAutoencoderConfig(**SIZES | changes))


def drawn(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


IMAGES = drawn(B, C, 8, 6)
KEEP, RESTORE, HIDDEN = mask_patches(B, N, share=0.625, generator=torch.Generator().manual_seed(3))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def test_the_decoder_sees_each_patch_or_its_mask_token_in_its_place():
    model = mae()
    seen = []
    model.decoder.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    predicted = model(IMAGES, KEEP, RESTORE)
    assert predicted.shape == (B, N, P)
    vectors = model.narrow(model.encoder(IMAGES, keep=KEEP)[0])
    wanted = torch.empty(B, 1 + N, 14)
    wanted[:, 0] = vectors[:, 0]
    for b in range(B):
        kept = iter(vectors[b, 1:])
        for n in range(N):
            wanted[b, 1 + n] = model.mask_token[0] if HIDDEN[b, n] else next(kept)
    wanted = wanted + model.positions.table
    close(seen[0], wanted)
    close(predicted, model.output(model.decoder(wanted)[0][:, 1:]))


def test_what_is_hidden_is_not_seen():
    model = mae()
    patches = cut_patches(IMAGES, (2, 3))
    hidden = HIDDEN[:, :, None].expand(B, N, C * 6).unflatten(2, (C, 2, 3))
    hidden = hidden.unflatten(1, (4, 2)).permute(0, 3, 1, 4, 2, 5).reshape(IMAGES.shape)
    changed = torch.where(hidden, 9.0, IMAGES)
    assert torch.equal((cut_patches(changed, (2, 3)) != patches).any(-1), HIDDEN)
    predicted = model(IMAGES, KEEP, RESTORE)
    close(model(changed, KEEP, RESTORE), predicted)
    assert not torch.allclose(model(IMAGES + ~hidden, KEEP, RESTORE), predicted, atol=1e-3)
    lengths = []
    model.encoder.layers[0].register_forward_pre_hook(lambda m, args: lengths.append(args[0].shape))
    model(IMAGES, KEEP, RESTORE)
    assert lengths == [(B, 1 + KEEP.shape[1], 15)]  # the rest costs the encoder nothing


@pytest.mark.parametrize("normalize", [False, True])
def test_it_learns_to_paint_what_is_hidden(normalize):
    # Each image is one number: what is seen says what is hidden.
    model = mae(n_channels=1, patch_size=(1, 3), image_size=(4, 6))
    ramp = torch.arange(3.0).repeat(4, 2)  # so that a patch has a spread
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(150):
        images = torch.randn(16, 1, 1, 1, generator=generator) * ramp
        keep, restore, hidden = mask_patches(16, N, share=0.5, generator=generator)
        target = cut_patches(images, (1, 3))
        loss = patch_loss(model(images, keep, restore), target, hidden, normalize=normalize)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) < 0.2 * sum(losses[:10])


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_padding_of_frames_is_inert(positions):
    frames, lengths = drawn(3, N, 12), torch.tensor([8, 5, 3])
    real = torch.arange(N) < lengths[:, None]
    keep, restore, _ = mask_patches(3, N, share=0.5, generator=torch.Generator().manual_seed(1))
    assert not real.gather(1, keep).all()
    model = mae(**SPEECH, positions=positions)
    changed = torch.where(real[..., None], frames, 9.0)
    one = model(frames[:, None], keep, restore, real)
    two = model(changed[:, None], keep, restore, real)
    assert one.shape == (3, N, 12)
    close(one[real], two[real])
    without = [model(x[:, None], keep, restore)[real] for x in (frames, changed)]
    assert not torch.allclose(*without, atol=1e-4)


def test_the_decoder_does_not_look_at_padding_that_is_hidden():
    model = mae(**SPEECH)
    real = torch.arange(N).expand(B, N) < 6
    keep = torch.arange(3).expand(B, 3)
    restore = torch.arange(N).expand(B, N)
    frames = drawn(B, 1, N, 12)
    predicted = model(frames, keep, restore, real)
    with torch.no_grad():
        model.positions.table[7:] += 5  # the places of the padding, behind the class token's
    close(model(frames, keep, restore, real)[:, :6], predicted[:, :6])
    assert not torch.allclose(model(frames, keep, restore)[:, :6], predicted[:, :6], atol=1e-3)


def test_every_parameter_gets_a_gradient():
    model = mae()
    patch_loss(model(IMAGES, KEEP, RESTORE), cut_patches(IMAGES, (2, 3)), HIDDEN).backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_the_encoder_goes_on_as_a_classifier():
    model = mae()
    assert type(model.encoder.config) is ViTConfig
    classifier = ViT(dataclasses.replace(model.encoder.config, n_classes=5))
    lost = classifier.load_state_dict(model.encoder.state_dict(), strict=False)
    assert (sorted(lost.missing_keys), lost.unexpected_keys) == (
        ["output.bias", "output.weight"],
        [],
    )
    close(classifier(IMAGES)[0], classifier.output(model.encoder(IMAGES)[0][:, 0]))


def test_settings_reach_both_stacks():
    model = mae(dropout=0.25, norm_eps=0.3, activation="relu", n_layers=4)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {0.3}
    assert len(norms) == 2 * (4 + 2) + 2
    for stack, width, heads, inner in ((model.encoder, 15, 5, 11), (model.decoder, 14, 7, 13)):
        for layer in stack.layers:
            a = layer.attention
            assert (a.d_model, a.n_heads, a.dropout) == (width, heads, 0.25)
            assert layer.feed_forward.w_1.out_features == inner


def test_config_to_json_and_back():
    config = mae().config
    again = MaskedAutoencoderConfig(**json.loads(json.dumps(dataclasses.asdict(config))))
    assert again == config
    assert mae(decoder_d_ff=3).config != config


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_config(self):
        for name in ("decoder_d_model", "decoder_n_heads", "decoder_d_ff", "decoder_n_layers"):
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                mae(**{name: 0})
        with pytest.raises(ValueError, match="decoder_n_heads must divide decoder_d_model, but 5"):
            mae(decoder_n_heads=5)
        for wrong in ({"n_classes": 5}, {"pooler": True}):
            with pytest.raises(ValueError, match="needs n_classes None and pooler False, not"):
                mae(**wrong)

    def test_forward(self):
        model = mae()
        with pytest.raises(ValueError, match=r"restore must have .* \(B, N\) = \(2, 8\), not"):
            model(IMAGES, KEEP, RESTORE[:, :5])
        with pytest.raises(ValueError, match="restore must lie in 0 … 7, but 8 is among them"):
            model(IMAGES, KEEP, RESTORE + 1)
        with pytest.raises(ValueError, match=r"images must have the shape \(B, 3, 8, 6\) of the"):
            model(IMAGES[:, :, :6], KEEP, RESTORE)


def test_a_restore_of_other_patches_is_refused():
    model = mae()
    for restore in (RESTORE.flip(1), torch.zeros_like(RESTORE), RESTORE.clamp(max=N - 2)):
        with pytest.raises(ValueError, match="restore must bring the patches of keep back"):
            model(IMAGES, KEEP, restore)
