"""What holds for a ViT: its patches, its class token, its end, and images of another size."""

import copy
import dataclasses
import json
import math

import pytest
import torch
import torch.nn.functional as F

from attnbook.models.patches import cut_patches
from attnbook.models.vit import ViT, ViTConfig

B, C, H, D, D_FF, LAYERS, V = 2, 3, 5, 15, 11, 4, 7
IMAGE, PATCH = (8, 9), (4, 3)
N, P = 6, 36
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": LAYERS}


def vit(**changes):
    torch.manual_seed(1)
    sizes = {"image_size": IMAGE, "patch_size": PATCH, **SIZES}
    return ViT(ViTConfig(**sizes | changes))


def drawn(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


IMAGES = drawn(B, C, *IMAGE)


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def test_it_is_the_stack_over_patches_and_a_class_token():
    model = vit()
    x = F.linear(cut_patches(IMAGES, PATCH), model.embed.weight.flatten(1), model.embed.bias)
    x = torch.cat([model.class_token.expand(B, 1, D), x], dim=1) + model.positions.table
    for layer in model.layers:
        x, _ = layer(x)
    vectors, weights = model(IMAGES)
    assert vectors.shape == (B, 1 + N, D)
    assert weights is None
    close(vectors, F.layer_norm(x, (D,), eps=1e-12))  # as fresh: gain 1, bias 0


def test_the_logits_are_read_off_the_class_token():
    model, body = vit(n_classes=V), vit()
    body.load_state_dict({k: v for k, v in model.state_dict().items() if "output" not in k})
    vectors, _ = body(IMAGES)
    logits, _ = model(IMAGES)
    assert logits.shape == (B, V)
    close(logits, model.output(vectors[:, 0]))
    close(body.pool(vectors), vectors[:, 0])


def test_the_pooler():
    model = vit(pooler=True, n_classes=V)
    vectors = drawn(B, 1 + N, D)
    pooled = torch.tanh(vectors[:, 0] @ model.pooler.weight.T + model.pooler.bias)
    close(model.pool(vectors), pooled)
    seen = []
    model.output.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    logits, _ = model(IMAGES)
    close(logits, model.output(seen[0]))
    assert seen[0].abs().max() <= 1  # a tanh is in between


def test_the_defaults_are_those_of_the_released_models():
    config = vit().config
    assert (config.pre_norm, config.activation, config.norm_eps) == (True, "gelu", 1e-12)
    assert (config.positions, config.pooler, config.qkv_bias) == ("learned", False, True)
    assert (config.grid, config.n_patches, config.d_patch) == ((2, 3), N, P)


@pytest.mark.parametrize("keep", [False, True])
def test_the_weights_on_request(keep):
    model = vit()
    places = torch.tensor([[0, 4], [1, 5]]) if keep else None
    vectors, weights = model(IMAGES, keep=places, need_weights=True)
    close(vectors, model(IMAGES, keep=places)[0])
    T = 3 if keep else 1 + N
    assert [w.shape for w in weights] == [(B, H, T, T)] * LAYERS
    for w in weights:
        close(w.sum(-1), torch.ones(B, H, T))
    assert not torch.allclose(weights[0], weights[1])


# --- patches that are looked at


def test_what_is_left_out_changes_nothing_and_the_order_is_that_of_keep():
    model, keep = vit(), torch.tensor([[4, 0], [5, 2]])
    vectors, _ = model(IMAGES, keep=keep)
    assert vectors.shape == (B, 3, D)
    other = IMAGES.clone()
    other[0, :, 4:, :3] = 9.0  # patch 3 of the first image
    other[1, :, :4, :6] = 9.0  # patches 0 and 1 of the second
    close(model(other, keep=keep)[0], vectors)
    close(model(IMAGES, keep=keep.flip(1))[0], vectors[:, [0, 2, 1]])
    every = torch.arange(N).expand(B, N)
    close(model(IMAGES, keep=every)[0], model(IMAGES)[0])
    assert not torch.allclose(model(IMAGES)[0][:, 0], vectors[:, 0], atol=1e-3)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_padding_is_inert(keep, positions):
    frames, lengths = drawn(3, 7, 12), torch.tensor([7, 3, 4])
    real = torch.arange(7) < lengths[:, None]
    model = vit(image_size=(7, 12), patch_size=(1, 12), n_channels=1, positions=positions)
    places = torch.tensor([[0, 2, 6], [5, 1, 2], [6, 3, 4]]) if keep else None
    one = model(frames[:, None], keep=places, real=real)[0]
    changed = torch.where(real[..., None], frames, 9.0)
    two = model(changed[:, None], keep=places, real=real)[0]
    close(one, two)  # not even at padding's own places does it count
    # and without the mask it is not
    assert not torch.allclose(
        model(frames[:, None])[0][1:, 0], model(changed[:, None])[0][1:, 0], atol=1e-4
    )


@pytest.mark.parametrize("keep", [False, True])
def test_a_nan_in_padding_does_not_spread(keep):
    model = vit(image_size=(7, 5), patch_size=(1, 5), n_channels=1)
    real = torch.arange(7) < torch.tensor([3, 6])[:, None]
    frames = drawn(2, 7, 5)
    broken = torch.where(real[..., None], frames, torch.nan)
    places = torch.tensor([[0, 4], [6, 5]]) if keep else None
    one, _ = model(frames[:, None], keep=places, real=real)
    two, _ = model(broken[:, None], keep=places, real=real)
    seen = real.gather(1, places) if keep else real
    assert torch.equal(one[:, 0], two[:, 0])
    assert torch.equal(one[:, 1:][seen], two[:, 1:][seen])


def test_a_short_utterance_is_what_it_is_without_padding():
    short = {"patch_size": (1, 12), "n_channels": 1, "positions": "sinusoidal"}
    frames = drawn(2, 1, 7, 12)
    long, model = vit(image_size=(7, 12), **short), vit(image_size=(4, 12), **short)
    real = (torch.arange(7) < 4).expand(2, 7)
    close(long(frames, real=real)[0][:, :5], model(frames[:, :, :4])[0])


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_the_order_of_patches_matters_but_for_no_positions(positions):
    model = vit(positions=positions)
    swapped = torch.cat([IMAGES[:, :, 4:], IMAGES[:, :, :4]], dim=2)
    same = torch.allclose(model(swapped)[0][:, 0], model(IMAGES)[0][:, 0], atol=1e-5)
    assert same == (positions == "none")


# --- how it is built


def test_settings_reach_every_layer():
    model = vit(dropout=0.25, norm_eps=0.3, activation="relu", qkv_bias=False)
    assert model.dropout.p == 0.25
    norms = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {0.3}
    assert len(norms) == 2 * LAYERS + 1
    for layer in model.layers:
        a = layer.attention
        assert a.w_q.bias is a.w_k.bias is a.w_v.bias is None
        assert a.w_o.bias is not None
        assert a.dropout == 0.25
        assert layer.feed_forward.activation is F.relu
    assert model(IMAGES)[0].shape == (B, 1 + N, D)
    assert not any("w_q.bias" in name for name in model.state_dict())
    assert vit().layers[0].attention.w_q.bias is not None


def test_dropout_of_the_input_in_training_alone():
    model = vit(dropout=0.5)
    seen = []
    model.layers[0].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    model(IMAGES)
    model.eval()(IMAGES)
    shares = [(x == 0).float().mean().item() for x in seen]
    assert 0.3 < shares[0] < 0.7
    assert shares[1] == 0


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_every_parameter_gets_a_gradient_and_the_first_loss_is_that_of_a_guess(positions):
    model = vit(n_classes=V, pooler=True, positions=positions)
    images, labels = drawn(64, C, *IMAGE), torch.arange(64) % V
    loss = F.cross_entropy(model(images)[0], labels)
    assert abs(loss.item() - math.log(V)) < 0.3
    loss.backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_state_dict_and_deepcopy():
    model, other = vit(n_classes=V), vit(n_classes=V)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(1)
    other.load_state_dict(model.state_dict())
    for twin in (other, copy.deepcopy(model)):
        assert torch.equal(twin(IMAGES)[0], model(IMAGES)[0])


def test_config_to_json_and_back():
    config = vit(n_classes=V, pooler=True, image_size=[8, 9]).config
    again = ViTConfig(**json.loads(json.dumps(dataclasses.asdict(config))))
    assert again == config
    assert (again.image_size, again.patch_size) == (IMAGE, PATCH)
    assert vit(image_size=12, patch_size=3).config.grid == (4, 4)
    assert vit().config != config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.n_classes = 3
    with pytest.raises(TypeError, match="positional"):
        ViTConfig(IMAGE)


# --- bad input


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_an_image_that_the_patch_does_not_divide(self):
        for image in ((9, 9), (8, 10)):
            with pytest.raises(ValueError, match=f"4 x 3 does not divide {image[0]} x {image[1]}"):
                vit(image_size=image)

    def test_an_image_of_another_size(self):
        model = vit()
        wanted = r"images must have the shape \(B, 3, 8, 9\) of the config, not "
        for shape in ((B, C, 9, 9), (B, C, 8, 12), (B, 1, 8, 9), (C, 8, 9), (B, C, 9, 8)):
            with pytest.raises(ValueError, match=wanted + rf"\({', '.join(map(str, shape))}\)"):
                model(drawn(*shape))

    def test_config(self):
        for name in SIZES:
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                vit(**{name: 0})
        for name in ("n_channels", "n_classes"):
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                vit(**{name: 0})
        for name in ("pooler", "qkv_bias", "pre_norm"):
            with pytest.raises(TypeError, match=f"{name} must be True or False, not 1"):
                vit(**{name: 1})
        with pytest.raises(ValueError, match=r"positions must be one of .*, not 'rotary'"):
            vit(positions="rotary")
        with pytest.raises(ValueError, match=r"image_size must be one number or two.*\[8\]"):
            vit(image_size=[8])

    def test_dtype(self):
        with pytest.raises(TypeError, match=r"one dtype .*images torch\.float64"):
            vit()(IMAGES.double())
        with pytest.raises(TypeError, match="images must hold floating-point numbers"):
            vit()(IMAGES.byte())

    def test_keep_and_real(self):
        model = vit()
        with pytest.raises(ValueError, match="keep must lie in 0 … 5, but 6 is among them"):
            model(IMAGES, keep=torch.tensor([[6], [0]]))
        with pytest.raises(TypeError, match="keep must hold integers"):
            model(IMAGES, keep=torch.ones(B, N, dtype=torch.bool))
        for shape in ((3, 2), (B,)):
            with pytest.raises(ValueError, match=r"keep must have .* \(B, K\) with B = 2, not "):
                model(IMAGES, keep=torch.zeros(shape, dtype=torch.long))
        with pytest.raises(TypeError, match="real must be boolean"):
            model(IMAGES, real=torch.ones(B, N))
        for shape in ((3, N), (B, N + 1), (N,)):
            with pytest.raises(ValueError, match=r"real must have .* \(B, N\) = \(2, 6\), not "):
                model(IMAGES, real=torch.ones(shape, dtype=torch.bool))
