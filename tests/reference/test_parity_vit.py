"""Parity with `transformers`: ViT with random weights, both ways, and the masked autoencoder."""

import dataclasses
import json
import re

import pytest
import torch
import transformers
from safetensors.torch import load_file

from attnbook.models.masked_autoencoder import MaskedAutoencoder, MaskedAutoencoderConfig
from attnbook.models.patches import cut_patches
from attnbook.objectives.masked_patches import patch_loss
from attnbook.pretrained.vit import config_from_hf, from_hf, to_hf

B, C, V = 3, 2, 6
IMAGE, PATCH = (12, 21), (4, 3)
SIZES = {
    "hidden_size": 15, "num_attention_heads": 5, "num_hidden_layers": 7, "intermediate_size": 11,
    "image_size": list(IMAGE), "patch_size": list(PATCH), "num_channels": C, "num_labels": V,
}  # fmt: skip
KINDS = ("body", "pooler", "classifier")


def random_weights(model):
    for name, p in model.named_parameters():
        norm = "norm" in name and name.endswith("weight")
        torch.nn.init.normal_(p, mean=1.0 if norm else 0.0, std=0.4)
    return model.eval()


def theirs_of(kind, **changes):
    config = transformers.ViTConfig(**SIZES | changes)
    if kind == "classifier":
        model = transformers.ViTForImageClassification(config)
    else:
        model = transformers.ViTModel(config, add_pooling_layer=kind == "pooler")
    return random_weights(model)


def ours_of(theirs, kind):
    # As a file of theirs is read: a model without a pooler is saved as a ViTModel too.
    names = ["ViTForImageClassification"] if kind == "classifier" else ["ViTModel"]
    config = config_from_hf({**theirs.config.to_dict(), "architectures": names})
    if kind == "body":
        config = dataclasses.replace(config, pooler=False)
    return from_hf(theirs.state_dict(), config)


def hidden_states(model, images):
    states = []
    handles = [
        layer.register_forward_hook(lambda module, args, out: states.append(out[0]))
        for layer in model.layers
    ]
    first = model.layers[0].register_forward_pre_hook(lambda module, args: states.append(args[0]))
    output = model(images)[0]
    for handle in (first, *handles):
        handle.remove()
    return states, output


def close(x, y, tolerance=1e-5):
    torch.testing.assert_close(x, y, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("qkv_bias", [True, False])
@pytest.mark.parametrize("hidden_act", ["gelu", "gelu_new", "relu"])
def test_all_hidden_states_and_the_end(kind, qkv_bias, hidden_act):
    theirs = theirs_of(kind, qkv_bias=qkv_bias, hidden_act=hidden_act)
    ours = ours_of(theirs, kind)
    images = torch.randn(B, C, *IMAGE)
    wanted = theirs(images, output_hidden_states=True)
    states, output = hidden_states(ours, images)
    assert len(states) == 1 + 7
    body = theirs.vit if kind == "classifier" else theirs
    for one, two in zip(states[:-1], wanted.hidden_states[:-1], strict=True):
        close(one, two)
    close(ours.norm(states[-1]), body(images).last_hidden_state)
    if kind == "classifier":
        close(output, wanted.logits)
    else:
        close(output, wanted.last_hidden_state)
    if kind == "pooler":
        close(ours.pool(output), wanted.pooler_output)


def test_the_attention_weights_and_the_gradients():
    theirs = theirs_of("classifier", attn_implementation="eager").double()
    ours = ours_of(theirs, "classifier")
    images = torch.randn(B, C, *IMAGE, dtype=torch.float64)
    wanted = theirs(images, output_attentions=True)
    logits, weights = ours(images, need_weights=True)
    for one, two in zip(weights, wanted.attentions, strict=True):
        close(one, two)
    upstream = torch.randn(B, V, dtype=torch.float64)
    wanted.logits.backward(upstream)
    logits.backward(upstream)
    grads = {name: p.grad for name, p in theirs.named_parameters()}
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(p.grad)
    for name, grad in to_hf(ours).items():
        close(grad, grads[name])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_there_and_back_to_the_bit(kind, dtype):
    theirs = theirs_of(kind).to(dtype)
    state = theirs.state_dict()
    ours = ours_of(theirs, kind)
    assert not ours.training
    again = to_hf(ours)
    assert again.keys() == state.keys()
    for name, tensor in state.items():
        assert again[name].dtype == dtype
        assert torch.equal(again[name], tensor)
    with torch.no_grad():
        for p in theirs.parameters():
            p.zero_()
    assert all(p.any() for p in ours.parameters())  # copies there
    with torch.no_grad():
        for p in ours.parameters():
            p.zero_()
    assert all(tensor.any() for tensor in again.values())  # and back
    theirs.load_state_dict(again)


@pytest.mark.parametrize("kind", ["pooler", "classifier"])
def test_the_files_of_released_models(kind, tmp_path):
    theirs = theirs_of(kind)
    theirs.save_pretrained(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    assert any("attention.attention.query" in name for name in state)  # the older names
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    images = torch.randn(B, C, *IMAGE)
    ours = from_hf(state, config_from_hf(config))
    assert (ours.pooler is None, ours.output is None) == (kind != "pooler", kind == "pooler")
    close(ours(images)[0], theirs(images)[0])


def masked_autoencoders():
    """Theirs and ours with the same random weights; its numbers of a patch stand in another order.

    Theirs paints a patch pixel by pixel, with its channels side by side.
    """
    c = transformers.ViTMAEConfig(
        hidden_size=20, num_attention_heads=5, num_hidden_layers=3, intermediate_size=11,
        image_size=12, patch_size=4, num_channels=C, mask_ratio=0.6, decoder_hidden_size=12,
        decoder_num_attention_heads=3, decoder_num_hidden_layers=2, decoder_intermediate_size=13,
    )  # fmt: skip
    theirs = random_weights(transformers.ViTMAEForPreTraining(c))
    ours = MaskedAutoencoder(
        MaskedAutoencoderConfig(
            d_model=20, n_heads=5, n_layers=3, d_ff=11, image_size=12, patch_size=4, n_channels=C,
            decoder_d_model=12, decoder_n_heads=3, decoder_n_layers=2, decoder_d_ff=13,
        )
    ).eval()  # fmt: skip
    state = theirs.state_dict()
    body = {name.removeprefix("vit."): t for name, t in state.items() if name.startswith("vit.")}
    ours.encoder = from_hf(body, ours.encoder.config)
    by_channel = torch.arange(4 * 4 * C).view(4, 4, C).permute(2, 0, 1).flatten()
    with torch.no_grad():
        ours.narrow.load_state_dict(theirs.decoder.decoder_embed.state_dict())
        ours.mask_token.copy_(theirs.decoder.mask_token[0])
        ours.positions.table.copy_(theirs.decoder.decoder_pos_embed[0])
        ours.output.weight.copy_(theirs.decoder.decoder_pred.weight[by_channel])
        ours.output.bias.copy_(theirs.decoder.decoder_pred.bias[by_channel])
    # The decoder's layers have the names of a ViT's: a ViT carries them over.
    layers = {
        re.sub(
            "^decoder.decoder_(layers|norm)", lambda m: {"norm": "layernorm"}.get(m[1], m[1]), n
        ): t
        for n, t in state.items()
        if n.startswith(("decoder.decoder_layers", "decoder.decoder_norm"))
    }
    small = dataclasses.replace(
        ours.encoder.config, d_model=12, n_heads=3, n_layers=2, d_ff=13, patch_size=12
    )
    rest = {n: torch.zeros(1, s, 12) for n, s in (("cls_token", 1), ("position_embeddings", 2))}
    rest |= {
        "patch_embeddings.projection.weight": torch.zeros(12, C, 12, 12),
        "patch_embeddings.projection.bias": torch.zeros(12),
    }
    carrier = from_hf(layers | {f"embeddings.{n}": t for n, t in rest.items()}, small)
    ours.decoder.layers, ours.decoder.norm = carrier.layers, carrier.norm
    return theirs, ours, by_channel


@pytest.mark.parametrize("normalize", [False, True])
def test_the_masked_autoencoder(normalize):
    theirs, ours, by_channel = masked_autoencoders()
    theirs.config.norm_pix_loss = normalize
    images, noise = torch.randn(B, C, 12, 12), torch.rand(B, 9)
    wanted = theirs(images, noise=noise)
    order = noise.argsort(dim=1)
    keep, restore = order[:, :3], order.argsort(dim=1)  # 60 % of 9 hidden, rounded up as theirs
    hidden = torch.ones(B, 9, dtype=torch.bool).scatter(1, keep, False)
    assert torch.equal(hidden, wanted.mask.bool())
    vectors, _ = ours.encoder(images, keep=keep)
    close(vectors, theirs.vit(images, noise=noise).last_hidden_state)
    predicted = ours(images, keep, restore)
    close(predicted, wanted.logits[..., by_channel])
    target = cut_patches(images, 4)
    assert torch.equal(target, theirs.patchify(images)[..., by_channel])
    close(patch_loss(predicted, target, hidden, normalize=normalize), wanted.loss)
