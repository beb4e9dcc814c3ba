"""Parity with Hugging Face's GPT-2: each hidden state and logit, by copied weights."""

import pytest
import torch
import transformers

from attnbook.models.gpt import GPT, GPTSequenceClassifier
from attnbook.pretrained.gpt2 import config_from_hf, from_hf, to_hf

B, T, V, MAX, C = 4, 8, 19, 10, 6
PAD = V - 1  # never drawn
TOLERANCE = 1e-5
REAL = torch.arange(T) < torch.tensor([8, 1, 5, 7])[:, None]
IDS = torch.randint(PAD, (B, T), generator=torch.Generator().manual_seed(0))
SIDES = {"none": torch.ones_like(REAL), "right": REAL, "left": REAL.flip(1)}
sides = pytest.mark.parametrize("real", SIDES.values(), ids=SIDES)


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=0)


def theirs(kind, activation="gelu_new", n_inner=11, tie=True):
    """A random model of odd sizes: 5 heads of width 3, 7 layers; none of its weights at 0 or 1."""
    config = transformers.GPT2Config(
        vocab_size=V, n_embd=15, n_head=5, n_layer=7, n_inner=n_inner, n_positions=MAX,
        activation_function=activation, num_labels=C, pad_token_id=PAD, bos_token_id=1,
        eos_token_id=2, tie_word_embeddings=tie,
    )  # fmt: skip
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(mean=float("ln_" in name and "weight" in name), std=0.4)
    return model


def ours(model, kind):
    return from_hf(model.state_dict(), config_from_hf(model.config.to_dict()), kind)


def asked(real):
    places = (real.cumsum(1) - 1).clamp(min=0)
    return {
        "input_ids": IDS.masked_fill(~real, PAD),
        "attention_mask": real.long(),
        "position_ids": places,
    }


@torch.no_grad()
def hidden_states(gpt, ids, real):
    """The input of the first layer, the output of each, and that of the last norm at the end."""
    seen = []
    hooks = [gpt.body.embed.register_forward_hook(lambda *x: seen.append(x[2]))]
    hooks += [m.register_forward_hook(lambda *x: seen.append(x[2][0])) for m in gpt.body.layers]
    hooks += [gpt.body.norm.register_forward_hook(lambda *x: seen.append(x[2]))]
    logits, _ = gpt(ids, real)
    for hook in hooks:
        hook.remove()
    return [*seen[:-2], seen[-1]], logits  # theirs has the last layer's normed alone


@sides
@pytest.mark.parametrize("activation", ["gelu_new", "gelu", "relu"])
@torch.no_grad()
def test_language_model(activation, real):
    model = theirs("GPT2LMHeadModel", activation)
    wanted = model(output_hidden_states=True, **asked(real))
    states, logits = hidden_states(ours(model, GPT), asked(real)["input_ids"], real)
    assert len(states) == len(wanted.hidden_states) == 8
    for one, two in zip(states, wanted.hidden_states, strict=True):
        close(one[real], two[real])
    close(logits[real], wanted.logits[real])


@pytest.mark.parametrize(("n_inner", "tie"), [(None, True), (11, False)])
@torch.no_grad()
def test_language_model_of_other_choices(n_inner, tie):
    model = theirs("GPT2LMHeadModel", n_inner=n_inner, tie=tie)
    close(ours(model, GPT)(IDS)[0], model(IDS).logits)


@sides
@torch.no_grad()
def test_sequences(real):
    model = theirs("GPT2ForSequenceClassification")
    wanted = model(**asked(real)).logits
    close(ours(model, GPTSequenceClassifier)(asked(real)["input_ids"], real), wanted)


@pytest.mark.parametrize(
    ("name", "kind", "tie"),
    [
        ("GPT2LMHeadModel", GPT, True),
        ("GPT2LMHeadModel", GPT, False),
        ("GPT2ForSequenceClassification", GPTSequenceClassifier, True),
    ],
)
def test_their_weights_come_back_to_the_bit_and_load(name, kind, tie):
    model, other = theirs(name, tie=tie), theirs(name, tie=tie)
    back, state = to_hf(ours(model, kind)), model.state_dict()
    assert back.keys() == state.keys()
    assert all(torch.equal(x, back[key]) for key, x in state.items())
    other.load_state_dict(back)
    assert all(torch.equal(x, other.state_dict()[key]) for key, x in state.items())
