"""Parity with Hugging Face's BERT: each hidden state and logit, by copied weights."""

import pytest
import torch
import transformers

from attnbook.data import minilm, sotu
from attnbook.models.bert import Bert, mean_pool
from attnbook.models.bert_heads import (
    BertPretraining,
    BertQuestionAnswerer,
    BertSequenceClassifier,
    BertTokenClassifier,
)
from attnbook.pretrained.bert import config_from_hf, from_hf, to_hf

B, T, V, MAX, P, C = 4, 8, 19, 10, 3, 6
TOLERANCE = 1e-5
REAL = torch.arange(T) < torch.tensor([8, 1, 5, 7])[:, None]


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=0)


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


IDS, SEGMENTS = drawn(B, T), drawn(B, T, high=P, seed=1)
ARGUMENTS = {
    "plain": {},
    "padding": {"attention_mask": REAL.long()},
    "segments": {"token_type_ids": SEGMENTS},
    "both": {"attention_mask": REAL.long(), "token_type_ids": SEGMENTS},
}
arguments = pytest.mark.parametrize("given", ARGUMENTS.values(), ids=ARGUMENTS)


def theirs(kind, activation="gelu", **more):
    """A random model of odd sizes: 5 heads of width 3, 7 layers; none of its weights at 0 or 1."""
    config = transformers.BertConfig(
        vocab_size=V, hidden_size=15, num_attention_heads=5, num_hidden_layers=7, pad_token_id=None,
        intermediate_size=11, max_position_embeddings=MAX, type_vocab_size=P, hidden_act=activation,
        num_labels=2 if kind == "BertForQuestionAnswering" else C,
    )  # fmt: skip
    model = getattr(transformers, kind)(config, **more).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(mean=float("LayerNorm.weight" in name), std=0.4)
    return model


def ours(model, kind, *, pooler):
    return from_hf(model.state_dict(), config_from_hf(model.config.to_dict(), pooler=pooler), kind)


def real_of(given):
    return REAL if "attention_mask" in given else torch.ones(B, T, dtype=torch.bool)


def asked(given):
    """The same arguments as ours."""
    return (REAL if "attention_mask" in given else None), given.get("token_type_ids")


@torch.no_grad()
def hidden_states(bert, ids, real, segments):
    """The input of the first layer, and the output of each."""
    seen = []
    hooks = [m.register_forward_hook(lambda *x: seen.append(x[2])) for m in (bert.embed,)]
    hooks += [m.register_forward_hook(lambda *x: seen.append(x[2][0])) for m in bert.layers]
    output, weights = bert(ids, real, segments, need_weights=True)
    for hook in hooks:
        hook.remove()
    assert torch.equal(seen[-1], output)
    return seen, weights


@arguments
@pytest.mark.parametrize("activation", ["gelu", "relu", "gelu_new"])
@pytest.mark.parametrize("pooler", [True, False])
@torch.no_grad()
def test_the_body(pooler, activation, given):
    model = theirs("BertModel", activation, add_pooling_layer=pooler)
    model.set_attn_implementation("eager")  # the one that gives the weights
    bert, real = ours(model, Bert, pooler=pooler), real_of(given)
    wanted = model(IDS, output_hidden_states=True, output_attentions=True, **given)
    states, weights = hidden_states(bert, IDS, *asked(given))
    assert len(states) == len(wanted.hidden_states) == 8
    for one, two in zip(states, wanted.hidden_states, strict=True):
        close(one[real], two[real])
    for one, two in zip(weights, wanted.attentions, strict=True):
        close(one.transpose(1, 2)[real], two.transpose(1, 2)[real])  # (B, T, H, S) -> (n, H, S)
    if pooler:
        close(bert.pool(states[-1]), wanted.pooler_output)


@torch.no_grad()
def test_padding_on_the_left():
    model = theirs("BertModel")
    real, ids = REAL.flip(1), IDS.flip(1)
    places = (real.cumsum(1) - 1).clamp(min=0)
    wanted = model(ids, attention_mask=real.long(), position_ids=places).last_hidden_state
    close(ours(model, Bert, pooler=True)(ids, real)[0][real], wanted[real])


@arguments
@torch.no_grad()
def test_pretraining(given):
    model = theirs("BertForPreTraining")
    tokens, follows = ours(model, BertPretraining, pooler=True)(IDS, *asked(given))
    wanted, real = model(IDS, **given), real_of(given)
    close(tokens[real], wanted.prediction_logits[real])
    close(follows, wanted.seq_relationship_logits)


@arguments
@torch.no_grad()
def test_masked_tokens_alone(given):
    model = theirs("BertForMaskedLM")
    tokens, follows = ours(model, BertPretraining, pooler=False)(IDS, *asked(given))
    close(tokens[real_of(given)], model(IDS, **given).logits[real_of(given)])
    assert follows is None


@arguments
@torch.no_grad()
def test_sequences(given):
    model = theirs("BertForSequenceClassification")
    logits = ours(model, BertSequenceClassifier, pooler=True)(IDS, *asked(given))
    assert logits.shape == (B, C)
    close(logits, model(IDS, **given).logits)


@arguments
@torch.no_grad()
def test_tokens(given):
    model = theirs("BertForTokenClassification")
    logits = ours(model, BertTokenClassifier, pooler=False)(IDS, *asked(given))
    assert logits.shape == (B, T, C)
    close(logits[real_of(given)], model(IDS, **given).logits[real_of(given)])


@arguments
@torch.no_grad()
def test_answers(given):
    model = theirs("BertForQuestionAnswering")
    start, end = ours(model, BertQuestionAnswerer, pooler=False)(IDS, *asked(given))
    wanted, real = model(IDS, **given), real_of(given)
    close(start[real], wanted.start_logits[real])
    close(end[real], wanted.end_logits[real])


@pytest.mark.parametrize(
    ("name", "kind", "pooler"),
    [
        ("BertModel", Bert, True),
        ("BertForPreTraining", BertPretraining, True),
        ("BertForMaskedLM", BertPretraining, False),
        ("BertForSequenceClassification", BertSequenceClassifier, True),
        ("BertForTokenClassification", BertTokenClassifier, False),
        ("BertForQuestionAnswering", BertQuestionAnswerer, False),
    ],
)
def test_their_weights_come_back_to_the_bit_and_load(name, kind, pooler):
    model, other = theirs(name), theirs(name)
    back = to_hf(ours(model, kind, pooler=pooler))
    state = model.state_dict()
    assert back.keys() == state.keys()
    assert all(torch.equal(x, back[key]) for key, x in state.items())
    other.load_state_dict(back)
    assert all(torch.equal(x, other.state_dict()[key]) for key, x in state.items())


# --- the real weights


@pytest.fixture(scope="module")
def mini():
    return from_hf(minilm.load_weights(), config_from_hf(minilm.load_config()))


@pytest.mark.slow
@torch.no_grad()
def test_two_sentences_of_like_meaning(mini):
    batch = minilm.load_tokenizer()(["A man is eating food.", "A man is eating a piece of bread."])
    real = batch["attention_mask"]
    one, two = mean_pool(mini(batch["input_ids"], real)[0], real)
    assert round(torch.cosine_similarity(one, two, dim=0).item(), 4) == 0.7553


@pytest.mark.slow
@torch.no_grad()
def test_200_real_sentences(mini):
    model = transformers.BertModel(transformers.BertConfig(**minilm.load_config())).eval()
    weights = minilm.load_weights()
    del weights["embeddings.position_ids"]  # no weight: transformers has no such key any more
    model.load_state_dict(weights)
    _, _, test = sotu.split(sotu.load())
    sentences = [s for speech in test for s in sotu.split_sentences(speech.text)]
    sentences = sentences[:: len(sentences) // 200][:200]
    assert len(set(sentences)) == 200
    tokenizer = minilm.load_tokenizer()
    for start in range(0, 200, 25):
        texts = sentences[start : start + 25]
        for pairs in (None, texts[::-1]) if start == 0 else (None,):
            batch = tokenizer(texts, pairs, max_length=96)
            real = batch["attention_mask"]
            assert not real.all()
            wanted = model(**batch | {"attention_mask": real.long()}, output_hidden_states=True)
            states, _ = hidden_states(mini, batch["input_ids"], real, batch["token_type_ids"])
            for one, two in zip(states, wanted.hidden_states, strict=True):
                close(one[real], two[real])
            close(mini.pool(states[-1]), wanted.pooler_output)
