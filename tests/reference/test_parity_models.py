"""Parity of the whole stacks with torch's, by copied weights."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnbook import masks
from attnbook.models.decoder import Decoder, DecoderConfig
from attnbook.models.encoder import Encoder, EncoderConfig
from attnbook.models.inputs import POSITIONS
from attnbook.models.recurrent import Recurrent, RecurrentConfig
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig

B, H, T, S, D, D_FF, N, V, V_SOURCE, MAX = 2, 3, 5, 7, 12, 11, 4, 17, 13, 9
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "max_len": MAX}
PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]
KINDS = ["none", "causal", "padding", "combined"]
ADDED = [name for name in POSITIONS if name != "rotary"]  # torch has no rotary positions


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def close(ours, theirs, tolerance):
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=0)


def one_mask(kind, length, lengths):
    """Our mask, torch's attention mask and its key padding mask."""
    causal, padding = masks.causal(length), masks.padding(torch.tensor(lengths), length)
    key_padding = masks.to_torch(padding)[:, 0]
    return {
        "none": (None, None, None),
        "causal": (causal, masks.to_torch(causal), None),
        "padding": (padding, None, key_padding),
        "combined": (causal & padding, masks.to_torch(causal), key_padding),
    }[kind]


def with_random_weights(model):
    for name, p in model.named_parameters():
        if "norm" in name:  # they start at 1 and 0: all would be alike
            nn.init.normal_(p, mean=1.0)
        elif "tokens" in name:  # rows as small as at the start make their gradients large
            nn.init.normal_(p)
    return model


def copied(ours, theirs, copy_attention):
    """Bring torch's stack to the weights of ours; the norms come in the order of use."""
    for one, two in zip(ours.layers, theirs.layers, strict=True):
        around = [one.around_feed_forward.norm]
        if hasattr(one, "cross_attention"):
            copy_attention(one.self_attention, two.self_attn)
            copy_attention(one.cross_attention, two.multihead_attn)
            around = [one.around_self.norm, one.around_cross.norm, *around]
        else:
            copy_attention(one.attention, two.self_attn)
            around = [one.around_attention.norm, *around]
        two.linear1.load_state_dict(one.feed_forward.w_1.state_dict())
        two.linear2.load_state_dict(one.feed_forward.w_2.state_dict())
        for i, norm in enumerate(around, 1):
            getattr(two, f"norm{i}").load_state_dict(norm.state_dict())
    if theirs.norm is not None:
        theirs.norm.load_state_dict(ours.norm.state_dict())
    return theirs


def torchs(kind, pre_norm, dtype):
    layer, stack = {
        "encoder": (nn.TransformerEncoderLayer, nn.TransformerEncoder),
        "decoder": (nn.TransformerDecoderLayer, nn.TransformerDecoder),
    }[kind]
    layer = layer(D, H, D_FF, 0.0, batch_first=True, norm_first=pre_norm, dtype=dtype)
    norm = nn.LayerNorm(D, dtype=dtype) if pre_norm else None
    more = {"enable_nested_tensor": False} if kind == "encoder" else {}
    return stack(layer, N, norm, **more)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", ADDED)
def test_encoder(kind, dtype, tolerance, pre_norm, positions, copy_attention):
    config = EncoderConfig(vocab_size=V, pre_norm=pre_norm, positions=positions, **SIZES)
    ours = with_random_weights(Encoder(config)).to(dtype)
    theirs = copied(ours, torchs("encoder", pre_norm, dtype), copy_attention)
    mask, attention_mask, key_padding = one_mask(kind, T, [3, 5])
    ids = drawn(B, T)
    output, _ = ours(ids, mask)
    wanted = theirs(ours.embed(ids), attention_mask, key_padding)
    close(output, wanted, tolerance)

    table = ours.embed.tokens.weight
    upstream = torch.randn(B, T, D, dtype=dtype)
    (one,) = torch.autograd.grad(output, table, upstream)
    (two,) = torch.autograd.grad(wanted, table, upstream)
    close(one, two, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory_kind", ["none", "padding"])
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", ADDED)
def test_decoder(kind, memory_kind, dtype, tolerance, pre_norm, positions, copy_attention):
    config = DecoderConfig(vocab_size=V, pre_norm=pre_norm, positions=positions, **SIZES)
    ours = with_random_weights(Decoder(config)).to(dtype)
    theirs = copied(ours, torchs("decoder", pre_norm, dtype), copy_attention)
    mask, attention_mask, key_padding = one_mask(kind, T, [3, 5])
    memory_mask, _, memory_padding = one_mask(memory_kind, S, [7, 4])
    ids, memory = drawn(B, T), torch.randn(B, S, D, dtype=dtype, requires_grad=True)
    output, _, _ = ours(ids, memory, mask, memory_mask)
    wanted = theirs(
        ours.embed(ids),
        memory,
        tgt_mask=attention_mask,
        tgt_key_padding_mask=key_padding,
        memory_key_padding_mask=memory_padding,
    )
    close(output, wanted, tolerance)

    inputs = ours.embed.tokens.weight, memory
    upstream = torch.randn(B, T, D, dtype=dtype)
    one = torch.autograd.grad(output, inputs, upstream)
    two = torch.autograd.grad(wanted, inputs, upstream)
    for x, y in zip(one, two, strict=True):
        close(x, y, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_seq2seq(dtype, tolerance, pre_norm, padded, training, copy_attention):
    config = Seq2SeqConfig(
        source_vocab_size=V_SOURCE, target_vocab_size=V, pre_norm=pre_norm, **SIZES
    )
    ours = with_random_weights(Seq2Seq(config)).to(dtype).train(training)
    stacks = [torchs(kind, pre_norm, dtype) for kind in ("encoder", "decoder")]
    theirs = nn.Transformer(
        D, H, custom_encoder=stacks[0], custom_decoder=stacks[1], batch_first=True
    ).train(training)
    for one, two in zip((ours.encoder, ours.decoder), stacks, strict=True):
        copied(one, two, copy_attention)  # only now: nn.Transformer draws new weights for them
    source, target = drawn(B, S, high=V_SOURCE), drawn(B, T)
    source_mask, _, source_padding = one_mask("padding" if padded else "none", S, [7, 4])
    wanted = theirs(
        ours.encoder.embed(source),
        ours.decoder.embed(target),
        tgt_mask=masks.to_torch(masks.causal(T)),
        src_key_padding_mask=source_padding,
        memory_key_padding_mask=source_padding,
    )
    wanted = F.linear(wanted, ours.decoder.embed.tokens.weight)
    close(ours(source, target, source_mask)[0], wanted, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize(("cell", "torchs_own"), [("rnn", nn.RNN), ("lstm", nn.LSTM)])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_recurrent(cell, torchs_own, bidirectional, n_layers, dtype, tolerance):
    config = RecurrentConfig(
        vocab_size=V, d_model=D, d_hidden=8, n_layers=n_layers, cell=cell,
        bidirectional=bidirectional,
    )  # fmt: skip
    ours = Recurrent(config).to(dtype)
    theirs = torchs_own(D, 8, n_layers, batch_first=True, bidirectional=bidirectional, dtype=dtype)
    theirs.load_state_dict(ours.network.state_dict())
    ids = drawn(B, T)
    wanted, state = theirs(ours.tokens(ids))
    state = state[0] if cell == "lstm" else state
    for lengths in (None, torch.full((B,), T)):
        states, last = ours(ids, lengths)
        close(states, wanted, tolerance)
        close(last, torch.cat(list(state[-2:] if bidirectional else state[-1:]), -1), tolerance)
