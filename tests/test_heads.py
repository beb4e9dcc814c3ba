import pytest
import torch

from attnbook import heads
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig

SIZES = {"d_model": 12, "n_heads": 3, "d_ff": 7, "n_layers": 2, "max_len": 11}


def gpt():
    model = GPT(GPTConfig(**SIZES, vocab_size=13, positions="rotary")).eval()
    for layer in heads.attentions(model):  # the start is so small that a head hardly counts
        torch.nn.init.normal_(layer.w_o.weight)
    return model


IDS = torch.randint(13, (2, 5), generator=torch.Generator().manual_seed(1))


def test_the_layers_are_found_in_order():
    model = gpt()
    assert heads.attentions(model) == [layer.attention for layer in model.body.layers]
    pair = Seq2Seq(Seq2SeqConfig(**SIZES, source_vocab_size=17, target_vocab_size=19))
    assert len(heads.attentions(pair)) == 2 + 2 * 2  # the encoder's, then self and cross


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (0, 2), (1, 1)])
def test_a_silent_head_is_one_whose_part_of_w_o_is_zero(layer, head):
    model, cut = gpt(), gpt()
    cut.load_state_dict(model.state_dict())
    with torch.no_grad():
        heads.attentions(cut)[layer].w_o.weight[:, 4 * head : 4 * (head + 1)] = 0
    wanted, whole = cut(IDS)[0], model(IDS)[0]
    with heads.without_heads(model, [(layer, head)]):
        silent = model(IDS)[0]
    torch.testing.assert_close(silent, wanted)
    assert (silent - whole).abs().max() > 1e-3
    assert torch.equal(model(IDS)[0], whole)  # and afterwards it is back


def test_all_heads_of_a_layer_leave_its_bias():
    model = gpt()
    layer = heads.attentions(model)[1]
    torch.nn.init.normal_(layer.w_o.bias)
    x = torch.randn(2, 5, 12)
    with heads.without_heads(model, [(1, 0), (1, 1), (1, 2)]):
        output, _ = layer(x, x, x)
    torch.testing.assert_close(output, layer.w_o.bias.expand(2, 5, 12))


def test_the_head_is_back_after_an_error():
    model = gpt()
    whole = model(IDS)[0]
    with pytest.raises(KeyError), heads.without_heads(model, [(0, 1)]):
        raise KeyError
    assert torch.equal(model(IDS)[0], whole)


def test_a_head_that_there_is_not():
    for wrong, message in (((2, 0), "layer below 2"), ((-1, 0), "layer"), ((0, 3), "head below 3")):
        with pytest.raises(ValueError, match=message), heads.without_heads(gpt(), [wrong]):
            pass


def prefix_matching_loop(ids, weights, at):
    scores = []
    for b, row in enumerate(ids.tolist()):
        for t, token in enumerate(row):
            earlier = [s for s in range(t) if row[s] == token]
            if earlier and at[b, t]:
                scores.append(sum(weights[b, :, t, s + 1] for s in earlier))
    return torch.stack(scores).mean(dim=0)


def test_prefix_matching_is_what_the_loop_counts():
    ids = torch.randint(4, (3, 7))
    weights = torch.rand(3, 5, 7, 7).tril()
    all_places = torch.ones(3, 7, dtype=torch.bool)
    odd = torch.arange(7).expand(3, 7) % 2 == 1
    for at in (all_places, odd):
        wanted = prefix_matching_loop(ids, weights, at)
        torch.testing.assert_close(heads.prefix_matching(ids, weights, at), wanted)
    wanted = prefix_matching_loop(ids, weights, all_places)
    torch.testing.assert_close(heads.prefix_matching(ids, weights), wanted)


def test_prefix_matching_by_hand():
    ids = torch.tensor([[5, 8, 5]])  # the second 5 should look at the 8
    weights = torch.tensor([[[[1, 0, 0], [0.5, 0.5, 0], [0.125, 0.75, 0.125]]]])
    assert heads.prefix_matching(ids, weights).tolist() == [0.75]
    with pytest.raises(ValueError, match="comes again"):
        heads.prefix_matching(torch.tensor([[5, 8, 6]]), weights)
    with pytest.raises(ValueError, match="comes again"):
        heads.prefix_matching(ids, weights, torch.tensor([[True, True, False]]))
    with pytest.raises(TypeError):
        heads.prefix_matching(ids, weights, torch.tensor([[1, 1, 1]]).bool().float())


def test_prefix_matching_wants_shapes_that_fit(plain):
    with pytest.raises(ValueError, match=r"\(B, H, T, T\)"):
        heads.prefix_matching(torch.tensor([[5, 8, 5]]), torch.ones(1, 2, 3, 4))
