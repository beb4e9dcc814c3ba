import copy
import dataclasses
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.models.recurrent import Recurrent, RecurrentConfig

B, T, V, D, HIDDEN, N = 3, 5, 11, 6, 4, 2


def made(**changes):
    torch.manual_seed(0)
    fields = {"vocab_size": V, "d_model": D, "d_hidden": HIDDEN, "n_layers": N} | changes
    return Recurrent(RecurrentConfig(**fields))


def drawn(*size, seed=0):
    return torch.randint(V, size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-6, rtol=0)


def test_one_step_of_each_cell_by_its_formula():
    model = made(cell="rnn", n_layers=1)
    x, net = model.tokens(torch.tensor([[3]]))[0, 0], model.network
    wanted = torch.tanh(net.weight_ih_l0 @ x + net.bias_ih_l0 + net.bias_hh_l0)
    close(model(torch.tensor([[3]]))[0][0, 0], wanted)

    model = made(cell="lstm", n_layers=1)
    x, net = model.tokens(torch.tensor([[3]]))[0, 0], model.network
    i, _, g, o = (net.weight_ih_l0 @ x + net.bias_ih_l0 + net.bias_hh_l0).chunk(4)
    close(model(torch.tensor([[3]]))[0][0, 0], o.sigmoid() * (i.sigmoid() * g.tanh()).tanh())


@given(
    st.lists(st.integers(1, T), min_size=B, max_size=B),
    st.sampled_from(["rnn", "lstm"]),
    st.booleans(),
)
def test_padding_is_inert(lengths, cell, bidirectional):
    model = made(cell=cell, bidirectional=bidirectional)
    ids = drawn(B, T)
    states, last = model(ids, torch.tensor(lengths))
    n = HIDDEN * (1 + bidirectional)
    assert states.shape == (B, T, n)
    for b, length in enumerate(lengths):
        alone, alone_last = model(ids[b : b + 1, :length])
        close(states[b, :length], alone[0])
        close(last[b], alone_last[0])
        assert not states[b, length:].any()
        close(last[b, :HIDDEN], states[b, length - 1, :HIDDEN])
        if bidirectional:  # the way back ends at the first token
            close(last[b, HIDDEN:], states[b, 0, HIDDEN:])


def test_one_direction_knows_no_future_and_two_do():
    ids = drawn(B, T)
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % V
    for bidirectional in (False, True):
        model = made(bidirectional=bidirectional)
        same = torch.allclose(model(ids)[0][:, :-1], model(other)[0][:, :-1], atol=1e-7)
        assert same != bidirectional


def test_dropout_of_inputs_and_between_layers_in_training_alone():
    ids = drawn(B, T)
    for n_layers in (1, 2):  # torch warns of dropout in a single layer: no warning comes
        model = made(dropout=0.5, n_layers=n_layers)
        assert not torch.equal(model(ids)[0], model(ids)[0])
        model.eval()
        assert torch.equal(model(ids)[0], model(ids)[0])
        assert model.network.dropout == (0.5 if n_layers > 1 else 0.0)


def test_state_dict_and_deepcopy():
    ids, model = drawn(B, T), made()
    other = made()
    torch.nn.init.normal_(other.tokens.weight)
    other.load_state_dict(model.state_dict())
    for twin in (other, copy.deepcopy(model)):
        assert torch.equal(twin(ids)[0], model(ids)[0])


def test_config_to_json_and_back():
    config = made(cell="rnn", bidirectional=True, dropout=0.25).config
    assert RecurrentConfig(**json.loads(json.dumps(dataclasses.asdict(config)))) == config


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_config(self):
        with pytest.raises(ValueError, match="cell must be one of 'rnn', 'lstm', not 'gru'"):
            made(cell="gru")
        with pytest.raises(TypeError, match="bidirectional must be True or False, not 'yes'"):
            made(bidirectional="yes")
        for name in ("vocab_size", "d_model", "d_hidden", "n_layers"):
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                made(**{name: 0})
        with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, not 1"):
            made(dropout=1)

    def test_ids(self):
        model = made()
        with pytest.raises(ValueError, match="ids must lie in 0 … 10, but 11 is among them"):
            model(torch.tensor([[0, 11]]))
        with pytest.raises(ValueError, match=r"ids must have 2 axes .* its shape is \(3,\)"):
            model(drawn(3))

    def test_lengths(self):
        model, ids = made(), drawn(2, T)
        for bad in ([0, 3], [3, 6]):
            with pytest.raises(ValueError, match=rf"lengths must lie in 1 … T = 5, not \[{bad[0]}"):
                model(ids, torch.tensor(bad))
        with pytest.raises(ValueError, match=r"lengths must have the shape \(B,\) = \(2,\), not"):
            model(ids, torch.tensor([1, 2, 3]))
        with pytest.raises(TypeError, match="lengths must hold integers"):
            model(ids, torch.ones(2))

    @pytest.mark.parametrize("kind", [torch.uint8, torch.uint16, torch.int32])
    def test_ids_and_lengths_of_a_narrow_kind(self, kind):
        model, ids, lengths = made(), drawn(2, T), torch.tensor([3, 5])
        for narrow, wide in zip(
            model(ids.to(kind), lengths.to(kind)), model(ids, lengths), strict=True
        ):
            assert torch.equal(narrow, wide)
        with pytest.raises(ValueError, match=r"lengths must lie in 1 … T = 5, not \[0, 6\]"):
            model(ids, torch.tensor([0, 6]).to(kind))
