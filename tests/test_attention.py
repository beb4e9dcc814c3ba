import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnbook import masks
from attnbook.attention import MultiHeadAttention, attention, fused_attention
from attnbook.positions import RotaryPositions

B, H, T, S, D = 2, 3, 5, 7, 12  # no two alike: no axis can stand in for another
HALF = [torch.bfloat16, torch.float16]


def drawn(*size, seed=0, dtype=torch.float32):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def some_mask(*size, seed=0):
    """Half of it True at random; about one short row in eight is masked whole."""
    return drawn(*size, seed=seed) > 0


def test_by_hand():
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    key = torch.tensor([[math.log(3), 1.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
    value = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    # Scores 2 ln 3 / sqrt(4) = ln 3 and 0: the weights are as 3 to 1.
    output, weights = attention(query, key, value)
    torch.testing.assert_close(weights, torch.tensor([[0.75, 0.25]]))
    torch.testing.assert_close(output, torch.tensor([[3.0, 2.0]]))


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
@pytest.mark.parametrize("function", [attention, fused_attention])
def test_any_leading_axes(function, leading):
    query, key, value = drawn(*leading, T, 4), drawn(*leading, S, 4), drawn(*leading, S, 6)
    output = function(query, key, value)
    output, weights = output if function is attention else (output, None)
    assert output.shape == (*leading, T, 6)
    assert weights is None or weights.shape == (*leading, T, S)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_weights_sum_to_one_over_what_may_be_attended(batch, T, S, seed):
    mask = some_mask(batch, T, S, seed=seed)
    query, key = drawn(batch, T, 4, seed=seed), drawn(batch, S, 4, seed=seed + 1)
    _, weights = attention(3 * query, key, key, mask)
    assert (weights >= 0).all()
    assert not weights[~mask].any()
    assert (weights[mask] > 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_the_fused_path_gives_the_same(batch, T, S, seed):
    query = drawn(batch, T, 4, seed=seed, dtype=torch.float64)
    key = drawn(batch, S, 4, seed=seed + 1, dtype=torch.float64)
    value = drawn(batch, S, 3, seed=seed + 2, dtype=torch.float64)
    for mask in (None, some_mask(batch, T, S, seed=seed), some_mask(T, S), some_mask(batch, 1, S)):
        torch.testing.assert_close(
            fused_attention(query, key, value, mask),
            attention(query, key, value, mask)[0],
            atol=1e-12,
            rtol=0,
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALF])
@pytest.mark.parametrize("function", [attention, fused_attention])
def test_a_fully_masked_row_is_zero_with_zero_gradients(function, dtype):
    query, key, value = (drawn(2, n, 4, seed=n).to(dtype).requires_grad_() for n in (T, S, S))
    mask = torch.ones(2, T, S, dtype=torch.bool)
    mask[0, 1] = mask[1] = False
    output = function(query, key, value, mask)
    output = output[0] if function is attention else output
    assert not output[0, 1].any()
    assert not output[1].any()
    assert output[0, 0].all()
    output.sum().backward()
    for x in (query, key, value):
        assert x.grad.isfinite().all()
        assert not x.grad[1].any()
    assert not query.grad[0, 1].any()
    assert query.grad[0, 0].any()


@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
@pytest.mark.parametrize("size", [(), (1,), (S,), (1, S), (T, 1)])
def test_a_mask_of_fewer_axes_stands_for_all(leading, size):
    query, key, value = drawn(*leading, T, 4), drawn(*leading, S, 4), drawn(*leading, S, 6)
    mask = some_mask(*size, seed=3)
    wanted, _ = attention(query, key, value, mask.expand(*leading, T, S))
    for output in (attention(query, key, value, mask)[0], fused_attention(query, key, value, mask)):
        torch.testing.assert_close(output, wanted, atol=1e-6, rtol=0)


def test_a_kernel_that_gives_nan_for_such_a_row_is_never_asked_for_one(monkeypatch):
    # As torch's kernels on some devices and in some versions, forward and backward.
    def kernel(query, key, value, mask, dropout_p):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return scores.masked_fill(~mask, -math.inf).softmax(-1) @ value

    monkeypatch.setattr("attnbook.attention.F.scaled_dot_product_attention", kernel)
    query, key = drawn(2, T, 4).requires_grad_(), drawn(2, S, 4, seed=1).requires_grad_()
    mask = torch.ones(2, T, S, dtype=torch.bool)
    mask[0, 1] = mask[1] = False
    output = fused_attention(query, key, key, mask)
    torch.testing.assert_close(output, attention(query, key, key, mask)[0])
    output.sum().backward()
    assert query.grad.isfinite().all()
    assert key.grad.isfinite().all()
    assert not query.grad[1].any()


@pytest.mark.parametrize("dtype", [torch.float32, *HALF])
@pytest.mark.parametrize("function", [attention, fused_attention])
@pytest.mark.parametrize("masked", [True, False])
def test_large_scores_stay_finite(function, dtype, masked):
    query, key = (drawn(T, 4) + 100).to(dtype), (drawn(S, 4, seed=1) + 100).to(dtype)
    output = function(query, key, key, some_mask(T, S) if masked else None)
    output = output[0] if function is attention else output
    assert output.isfinite().all()
    assert (output <= 105).all()  # a mean of the values, whatever the scores
    assert (output[some_mask(T, S).any(-1)] >= 95).all()


def test_what_is_masked_weighs_nothing_beside_very_low_scores():
    # In half precision a mask of -1e9 is -inf or an overflow, and one of -1e4 is above such scores.
    query, key = torch.full((1, 1), -200.0), torch.tensor([[250.0], [0.0], [251.0]])
    mask = torch.tensor([[True, False, True]])
    for dtype in (torch.float32, torch.bfloat16):
        _, weights = attention(query.to(dtype), key.to(dtype), key.to(dtype), mask)
        assert weights.tolist() == [[1, 0, 0]]


def test_dropout_drops_its_share_and_scales_up_the_rest():
    query = key = drawn(1, 400, 8)
    value = torch.eye(400)[None]  # the output is then the weights after dropout
    for dropped, weights in [
        attention(query, key, value, dropout=0.25),
        (fused_attention(query, key, value, dropout=0.25), attention(query, key, value)[1]),
    ]:
        kept = dropped != 0
        assert 0.74 < kept.float().mean() < 0.76
        torch.testing.assert_close(dropped[kept], weights[kept] / 0.75)
        torch.testing.assert_close(weights.sum(-1), torch.ones(1, 400))


# --- MultiHeadAttention


def test_each_head_attends_in_its_own_slice_of_the_width():
    module = MultiHeadAttention(D, H).double()
    x, memory = drawn(B, T, D).double(), drawn(B, S, D, seed=1).double()
    output, weights = module(x, memory, memory, need_weights=True)
    assert weights.shape == (B, H, T, S)
    d_head, heads = D // H, []
    for h in range(H):
        cut = slice(h * d_head, (h + 1) * d_head)
        head, by_hand = attention(
            module.w_q(x)[..., cut], module.w_k(memory)[..., cut], module.w_v(memory)[..., cut]
        )
        torch.testing.assert_close(weights[:, h], by_hand)
        heads.append(head)
    torch.testing.assert_close(output, module.w_o(torch.cat(heads, dim=-1)))


def test_one_head_is_plain_attention_between_projections():
    module = MultiHeadAttention(D, 1)
    x = drawn(B, T, D)
    output, weights = module(x, x, x)
    assert weights is None  # the fused kernel runs unless they are asked for
    head, _ = attention(module.w_q(x), module.w_k(x), module.w_v(x))
    torch.testing.assert_close(output, module.w_o(head))


def test_values_may_come_from_elsewhere_than_keys():
    module = MultiHeadAttention(D, H)
    x, key, value = drawn(B, T, D), drawn(B, S, D, seed=1), drawn(B, S, D, seed=2)
    output, _ = module(x, key, value)
    assert not torch.allclose(output, module(x, key, key)[0])
    assert not torch.allclose(output, module(x, value, value)[0])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["T S", "1 S", "B T S", "B 1 S", "B H T S", "1 H T S", "B 1 T S"])
def test_a_mask_of_each_shape_reaches_the_weights(kind, need_weights, training):
    sizes = [{"B": B, "H": H, "T": T, "S": S, "1": 1}[letter] for letter in kind.split()]
    mask = some_mask(*sizes)
    full = mask if mask.ndim == 4 else mask.expand(B, T, S)[:, None]
    full = full.expand(B, H, T, S)
    module = MultiHeadAttention(D, H).train(training)
    x, memory = drawn(B, T, D), drawn(B, S, D, seed=1)
    output, weights = module(x, memory, memory, mask, need_weights=need_weights)
    if need_weights:
        assert torch.equal(weights > 0, full)
    else:
        assert weights is None
    wanted, _ = module(x, memory, memory, full, need_weights=True)
    torch.testing.assert_close(output, wanted, atol=1e-6, rtol=0)


def test_the_places_of_a_rotation_are_on_the_device_of_the_inputs():
    module, x = MultiHeadAttention(D, H, rotate=RotaryPositions(D // H)), drawn(B, S, D)
    with torch.device("meta"):  # where all goes that is made without a device
        output, _ = module(x, x, x)
    assert torch.equal(output, module(x, x, x)[0])


@given(
    st.integers(1, 5), st.integers(0, 4), st.booleans(), st.booleans(), st.booleans(),
    st.integers(0, 10**6),
)  # fmt: skip
def test_the_future_cannot_change_the_past(T, before, training, rotary, need_weights, seed):
    S = before + T
    module = MultiHeadAttention(8, 2, rotate=RotaryPositions(4) if rotary else None)
    module.train(training)
    x = drawn(2, S, 8, seed=seed)
    now = seed % T  # the future of query `now` is changed
    changed = x.clone()
    changed[:, before + now + 1 :] += 10
    first, second = (
        module(y[:, before:], y, y, masks.causal(T, S), need_weights=need_weights)[0]
        for y in (x, changed)
    )
    torch.testing.assert_close(first[:, : now + 1], second[:, : now + 1], atol=1e-6, rtol=0)
    if now + 1 < T:
        assert not torch.allclose(first[:, now + 1 :], second[:, now + 1 :])


@pytest.mark.parametrize("rotary", [True, False])
def test_the_last_queries_behind_a_cache_give_the_last_rows_of_the_whole(rotary):
    module = MultiHeadAttention(D, H, rotate=RotaryPositions(D // H) if rotary else None)
    x = drawn(B, S, D)
    whole, weights = module(x, x, x, masks.causal(S), need_weights=True)
    for T in range(1, S + 1):
        part, some = module(x[:, -T:], x, x, masks.causal(T, S), need_weights=True)
        torch.testing.assert_close(part, whole[:, -T:], atol=1e-6, rtol=0)
        torch.testing.assert_close(some, weights[:, :, -T:], atol=1e-6, rtol=0)


@given(st.permutations(range(S)), st.booleans())
def test_permuting_the_input_permutes_the_output(order, need_weights):
    module = MultiHeadAttention(D, H)
    x, order = drawn(B, S, D), torch.tensor(order)
    mask = some_mask(B, S, S)
    output, _ = module(x, x, x, mask, need_weights=need_weights)
    y = x[:, order]
    permuted, _ = module(y, y, y, mask[:, order][:, :, order], need_weights=need_weights)
    torch.testing.assert_close(permuted, output[:, order], atol=1e-6, rtol=0)


def test_with_rotary_positions_the_order_counts():
    module = MultiHeadAttention(D, H, rotate=RotaryPositions(D // H))
    x = drawn(B, S, D)
    y = x.flip(1)
    assert not torch.allclose(module(y, y, y)[0], module(x, x, x)[0].flip(1), atol=1e-3)


@given(st.lists(st.integers(0, S), min_size=B, max_size=B), st.booleans())
def test_what_stands_in_the_padding_changes_nothing(lengths, need_weights):
    module = MultiHeadAttention(D, H)
    x, memory = drawn(B, T, D), drawn(B, S, D, seed=1)
    mask = masks.padding(torch.tensor(lengths), S)
    output, _ = module(x, memory, memory, mask, need_weights=need_weights)
    other = torch.where(mask.transpose(1, 2), memory, drawn(B, S, D, seed=2))
    assert torch.equal(module(x, other, other, mask, need_weights=need_weights)[0], output)
    for b, n in enumerate(lengths):  # nor does how much of it there is
        if n:
            alone, _ = module(x[b : b + 1], memory[b : b + 1, :n], memory[b : b + 1, :n])
            torch.testing.assert_close(alone[0], output[b], atol=1e-6, rtol=0)
        else:
            torch.testing.assert_close(output[b], module.w_o.bias.expand(T, D))


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_query_that_sees_nothing_gives_the_bias_alone(need_weights):
    module = MultiHeadAttention(D, H)
    x = drawn(B, T, D).requires_grad_()
    mask = masks.padding(torch.tensor([T, 0]), T)
    output, weights = module(x, x, x, mask, need_weights=need_weights)
    assert torch.equal(output[1], module.w_o.bias.expand(T, D))
    assert weights is None or not weights[1].any()
    output.sum().backward()
    assert x.grad[0].any()
    assert not x.grad[1].any()
    assert all(p.grad.isfinite().all() for p in module.parameters())


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_is_on_in_training_and_off_in_evaluation(need_weights):
    module = MultiHeadAttention(D, H, dropout=0.5)
    x = drawn(B, T, D)

    def run():
        return module(x, x, x, need_weights=need_weights)[0]

    assert not torch.equal(run(), run())
    module.eval()
    assert torch.equal(run(), run())
    module.dropout = 0.0
    assert torch.equal(
        module.train()(x, x, x, need_weights=need_weights)[0], module.eval() and run()
    )


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("need_weights", [True, False])
def test_half_precision_stays_finite_and_close(dtype, need_weights):
    module = MultiHeadAttention(D, H, rotate=RotaryPositions(D // H))
    x, mask = drawn(B, T, D), masks.causal(T) & masks.padding(torch.tensor([3, 0]), T)
    wanted, _ = module(x, x, x, mask)
    module.to(dtype)
    x = x.to(dtype).requires_grad_()
    output, _ = module(x, x, x, mask, need_weights=need_weights)
    assert output.dtype == dtype
    torch.testing.assert_close(output.float(), wanted, atol=0.03, rtol=0)
    (output + 100 * module(x + 100, x + 100, x + 100, mask)[0]).sum().backward()
    assert x.grad.isfinite().all()


def test_under_autocast_torch_chooses_the_dtypes():
    module = MultiHeadAttention(D, H)
    x = drawn(B, T, D)
    with torch.autocast("cpu", torch.bfloat16):
        output, _ = module(x, x.bfloat16(), x.bfloat16(), masks.causal(T))
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(
        output.float(), module(x, x, x, masks.causal(T))[0], atol=0.03, rtol=0
    )


def test_the_projections_do_not_share_their_first_values():
    one, two = MultiHeadAttention(D, H), MultiHeadAttention(D, H)
    weights = [w.weight for m in (one, two) for w in (m.w_q, m.w_k, m.w_v, m.w_o)]
    for i, w in enumerate(weights):
        assert not any(torch.equal(w, other) for other in weights[:i])


def test_bias_and_names_of_the_parameters():
    names = {f"w_{x}.{kind}" for x in "qkvo" for kind in ("weight", "bias")}
    assert set(MultiHeadAttention(D, H).state_dict()) == names
    assert set(MultiHeadAttention(D, H, bias=False).state_dict()) == {
        name for name in names if name.endswith("weight")
    }
    assert all(isinstance(m, nn.Linear) for m in MultiHeadAttention(D, H).children())


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("function", [attention, fused_attention])
class TestBadInput:
    def test_kind(self, function):
        x = torch.zeros(3, 4)
        with pytest.raises(TypeError, match="key must be a tensor, not list"):
            function(x, [[1.0]], x)
        with pytest.raises(TypeError, match=r"value must hold floating-point.*torch\.int64"):
            function(x, x, x.long())
        with pytest.raises(TypeError, match=r"one dtype.*key torch\.float64 on cpu"):
            function(x, x.double(), x)

    def test_shapes(self, function):
        x = torch.zeros(2, 3, 4)
        with pytest.raises(ValueError, match=r"query needs at least 2 axes.*\(4,\)"):
            function(x[0, 0], x, x)
        with pytest.raises(ValueError, match=r"leading axes of value.*\(1, 3, 4\).*\(2, 3, 4\)"):
            function(x, x, x[:1])
        with pytest.raises(ValueError, match=r"leading axes of key.*\(3, 4\).*\(2, 3, 4\)"):
            function(x, x[0], x[0])
        with pytest.raises(ValueError, match=r"last axis of key must be 4.*\(2, 3, 3\)"):
            function(x, x[..., :3], x)
        with pytest.raises(ValueError, match=r"one value a key: value has 2.*\(2, 2, 4\).*key 3"):
            function(x, x, x[:, :2])

    @pytest.mark.parametrize("fill", [0, 1, -math.inf])
    def test_a_mask_of_numbers(self, function, fill):
        x = torch.zeros(3, 4)
        with pytest.raises(TypeError, match=r"mask must be boolean, True.*torch\.float32"):
            function(x, x, x, torch.full((3, 3), float(fill)))
        if fill != -math.inf:
            with pytest.raises(TypeError, match=r"mask must be boolean.*int64.*mask == 1"):
                function(x, x, x, torch.full((3, 3), fill))

    @pytest.mark.parametrize("size", [(3, 4), (2, 3), (4, 3, 5), (2, 2, 3, 5), (5, 3)])
    def test_a_mask_that_does_not_fit(self, function, size):
        query, key = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 3, 5\)"):
            function(query, key, key, torch.ones(size, dtype=torch.bool))

    @pytest.mark.parametrize("p", [-0.1, 1.0, 50])
    def test_dropout(self, function, p):
        x = torch.zeros(3, 4)
        with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1, not {p}"):
            function(x, x, x, dropout=p)


@pytest.mark.usefixtures("plain")
class TestBadModule:
    def test_sizes(self):
        with pytest.raises(ValueError, match=r"n_heads must divide d_model.*5 does not divide 12"):
            MultiHeadAttention(12, 5)
        for bad in (0, -4):
            with pytest.raises(ValueError, match=f"n_heads must be at least 1, not {bad}"):
                MultiHeadAttention(12, bad)
        with pytest.raises(TypeError, match=r"d_model must be an int, not 12\.0 \(float\)"):
            MultiHeadAttention(12.0, 3)
        with pytest.raises(TypeError, match="n_heads must be an int, not True"):
            MultiHeadAttention(12, True)

    @pytest.mark.parametrize("p", [-0.1, 1.0, 10])
    def test_dropout(self, p):
        with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1, not {p}"):
            MultiHeadAttention(12, 3, dropout=p)

    @pytest.mark.parametrize("name", ["query", "key", "value"])
    def test_inputs(self, name):
        good = {key: torch.zeros(2, 3, 12) for key in ("query", "key", "value")}
        module = MultiHeadAttention(12, 3)
        with pytest.raises(TypeError, match=f"{name} must be a tensor, not list"):
            module(**good | {name: [[[0.0] * 12]]})
        with pytest.raises(TypeError, match=f"{name} must hold floating-point numbers"):
            module(**good | {name: torch.zeros(2, 3, 12).long()})
        with pytest.raises(ValueError, match=rf"last axis of {name} must be 12.*\(2, 3, 11\)"):
            module(**good | {name: torch.zeros(2, 3, 11)})
        with pytest.raises(ValueError, match=rf"{name} must have 3 axes, not 2.*\(3, 12\)"):
            module(**good | {name: torch.zeros(3, 12)})

    def test_sizes_that_do_not_fit_together(self):
        x, module = torch.zeros(2, 3, 12), MultiHeadAttention(12, 3)
        with pytest.raises(ValueError, match=r"one value a key: value has 2 .*key 3"):
            module(x, x, x[:, :2])
        with pytest.raises(ValueError, match=r"axes of key must be .*\(1, 3, 12\), query's \(2"):
            module(x, x[:1], x[:1])
        with pytest.raises(ValueError, match=r"leading axes of value must be .*\(1, 3, 12\)"):
            module(x, x, x[:1])
        with pytest.raises(
            TypeError, match=r"key must be torch\.float32 as the weights are, not .*64"
        ):
            module(x, x.double(), x.double())

    def test_masks(self):
        x, module = torch.zeros(2, 3, 12), MultiHeadAttention(12, 3)
        with pytest.raises(TypeError, match="mask must be a boolean tensor or None, not list"):
            module(x, x, x, [[True]])
        with pytest.raises(TypeError, match="mask must be boolean"):
            module(x, x, x, torch.zeros(3, 3))
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 3, 3\).*\(3, 2\)"):
            module(x, x, x, torch.ones(3, 2, dtype=torch.bool))
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 3, 3, 3\).*\(2, 2, 3"):
            module(x, x, x, torch.ones(2, 2, 3, 3, dtype=torch.bool))
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 3, 3\).*\(1, 1, 1, 3"):
            module(x, x, x, torch.ones(1, 1, 1, 3, 3, dtype=torch.bool))

    def test_rotation_behind_too_few_keys(self):
        module = MultiHeadAttention(12, 3, rotate=RotaryPositions(4))
        x = torch.zeros(2, 3, 12)
        with pytest.raises(ValueError, match="3 queries cannot be the last of 2 keys"):
            module(x, x[:, :2], x[:, :2])
