import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import masks
from attnbook.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from attnbook.positions import RotaryPositions

B, H, T, S, D, D_FF = 2, 3, 5, 7, 12, 11


def drawn(*size, seed=0, dtype=torch.float32):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def with_random_norms(layer):
    for name, p in layer.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(p, mean=1.0)
    return layer


# --- the layers by their formulas, and by hand-made weights


def test_encoder_layer_by_its_formula():
    x, mask = drawn(B, T, D), masks.causal(T)
    for pre_norm in (False, True):
        layer = with_random_norms(EncoderLayer(D, H, D_FF, pre_norm=pre_norm))
        norm_1, norm_2 = layer.around_attention.norm, layer.around_feed_forward.norm

        def attend(h, layer=layer):
            return layer.attention(h, h, h, mask)[0]

        if pre_norm:
            h = x + attend(norm_1(x))
            wanted = h + layer.feed_forward(norm_2(h))
        else:
            h = norm_1(x + attend(x))
            wanted = norm_2(h + layer.feed_forward(h))
        close(layer(x, mask)[0], wanted)


@pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer])
def test_where_the_norms_stand(make):
    x = 5 + 3 * drawn(B, T, D)
    rest = () if make is EncoderLayer else (drawn(B, S, D),)
    # As in the text of the module: the paper's order leaves a normed output …
    output = make(D, H, D_FF, pre_norm=False)(x, *rest)[0]
    close(output.mean(-1), torch.zeros(B, T))
    close(output.std(-1, correction=0), torch.ones(B, T))
    # … and pre-norm a straight path, on which nothing happens where the updates are zero.
    # Nothing is dropped from the path itself either.
    layer = make(D, H, D_FF, pre_norm=True, dropout=0.5)
    for name, p in layer.named_parameters():
        if "w_o" in name or "w_2" in name:
            torch.nn.init.zeros_(p)
    assert torch.equal(layer(x, *rest)[0], x)


@pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer])
def test_post_norm_is_the_default_as_in_the_paper(make):
    layer = make(D, H, D_FF)
    assert not any(m.pre_norm for m in layer.modules() if isinstance(m, Residual))


@pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer])
def test_layers_made_one_after_another_do_not_share_their_first_values(make):
    one, two = make(D, H, D_FF), make(D, H, D_FF)
    for (name, p), q in zip(one.named_parameters(), two.parameters(), strict=True):
        assert p is not q
        assert "norm" in name or not torch.equal(p, q)


def test_the_weights_are_those_of_the_attention():
    x, memory = drawn(B, T, D), drawn(B, S, D, seed=1)
    mask, memory_mask = masks.causal(T), masks.padding(torch.tensor([4, 7]), S)
    _, weights = EncoderLayer(D, H, D_FF)(x, mask, need_weights=True)
    assert weights.shape == (B, H, T, T)
    assert torch.equal(weights > 0, mask.expand(B, H, T, T))
    output = DecoderLayer(D, H, D_FF)(x, memory, mask, memory_mask, need_weights=True)
    _, weights, cross = output
    assert torch.equal(weights > 0, mask.expand(B, H, T, T))
    assert torch.equal(cross > 0, memory_mask[:, None].expand(B, H, T, S))


@pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer])
def test_rotate_serves_the_self_attention(make):
    x = drawn(B, T, D)
    rest = () if make is EncoderLayer else (drawn(B, S, D, seed=1),)
    layer = make(D, H, D_FF, rotate=RotaryPositions(D // H))
    assert not torch.allclose(layer(x.flip(1), *rest)[0], layer(x, *rest)[0].flip(1), atol=1e-3)
    if make is DecoderLayer:  # the memory's order means nothing to cross-attention
        close(layer(x, rest[0].flip(1))[0], layer(x, *rest)[0])
        assert layer.cross_attention.rotate is None


# --- properties


def layers(pre_norm=False, dropout=0.0, rotate=None):
    """Both layers as functions of (x, mask), and the modules."""
    memory = drawn(B, S, D, seed=8)
    encoder = EncoderLayer(D, H, D_FF, pre_norm=pre_norm, dropout=dropout, rotate=rotate)
    decoder = DecoderLayer(D, H, D_FF, pre_norm=pre_norm, dropout=dropout, rotate=rotate)
    return [
        (lambda x, mask=None: encoder(x, mask)[0], encoder),
        (lambda x, mask=None: decoder(x, memory.to(x.dtype), mask)[0], decoder),
    ]


@given(now=st.integers(0, T - 1), pre_norm=st.booleans(), training=st.booleans(),
       rotary=st.booleans())  # fmt: skip
def test_the_future_cannot_change_the_past(now, pre_norm, training, rotary):
    for run, layer in layers(pre_norm, rotate=RotaryPositions(D // H) if rotary else None):
        layer.train(training)
        x = drawn(B, T, D)
        changed = x.clone()
        changed[:, now + 1 :] = drawn(B, T - now - 1, D, seed=3)
        close(run(x, masks.causal(T))[:, : now + 1], run(changed, masks.causal(T))[:, : now + 1])
        if now + 1 < T:  # without the mask it can
            assert not torch.allclose(run(x)[:, : now + 1], run(changed)[:, : now + 1])


@given(st.permutations(range(T)), st.booleans())
def test_permuting_the_input_permutes_the_output(order, pre_norm):
    for run, _ in layers(pre_norm):
        x = drawn(B, T, D)
        close(run(x[:, order]), run(x)[:, order])


@given(st.lists(st.integers(0, T), min_size=B, max_size=B), st.booleans())
def test_what_stands_in_the_padding_changes_nothing(lengths, pre_norm):
    mask = masks.padding(torch.tensor(lengths), T)
    x = drawn(B, T, D)
    real = mask.transpose(1, 2)
    for run, _ in layers(pre_norm):
        output, other = run(x, mask), run(torch.where(real, x, drawn(B, T, D, seed=4)), mask)
        close(torch.where(real, output, 0), torch.where(real, other, 0))


def test_padding_of_the_memory_changes_nothing():
    layer, x, memory = DecoderLayer(D, H, D_FF), drawn(B, T, D), drawn(B, S, D, seed=1)
    mask = masks.padding(torch.tensor([4, 4]), S)
    output = layer(x, memory, None, mask)[0]
    close(output, layer(x, memory[:, :4])[0])
    close(output, layer(x, torch.where(mask.transpose(1, 2), memory, 50), None, mask)[0])


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_row_that_sees_nothing_keeps_gradients_finite(pre_norm):
    for run, layer in layers(pre_norm):
        x = drawn(B, T, D).requires_grad_()
        mask = masks.causal(T) & masks.padding(torch.tensor([3, 0]), T)
        output = run(x, mask)
        assert output.isfinite().all()
        output.square().sum().backward()
        for p in (x, *layer.parameters()):
            assert p.grad.isfinite().all()
    nothing = torch.zeros(B, 1, S, dtype=torch.bool)
    layer = DecoderLayer(D, H, D_FF, pre_norm=pre_norm)
    output, _, cross = layer(drawn(B, T, D), drawn(B, S, D), None, nothing, need_weights=True)
    assert output.isfinite().all()
    assert not cross.any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_finite_in_half_precision_and_far_from_zero(dtype, pre_norm):
    for run, layer in layers(pre_norm):
        assert run(drawn(B, T, D) + 100).isfinite().all()
        layer.to(dtype)
        output = run((drawn(B, T, D) + 100).to(dtype), masks.causal(T))
        assert output.dtype == dtype
        assert output.isfinite().all()


def test_dropout_is_on_in_training_and_off_in_evaluation():
    x = drawn(B, T, D)
    for run, layer in layers(dropout=0.5):
        assert not torch.equal(run(x), run(x))
        layer.eval()
        assert torch.equal(run(x), run(x))
        quiet = run(x)
        for m in layer.modules():  # every dropout hangs on the mode, none is left out
            if hasattr(m, "dropout"):
                assert (m.dropout.p if isinstance(m.dropout, torch.nn.Module) else m.dropout) == 0.5
            if isinstance(m, torch.nn.Dropout):
                m.p = 0.0
        for m in layer.modules():
            if isinstance(getattr(m, "dropout", None), float):
                m.dropout = 0.0
        close(layer.train() and run(x), quiet)


# --- bad input


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_sizes(self):
        with pytest.raises(ValueError, match="d_ff must be at least 1, not 0"):
            FeedForward(4, 0)
        with pytest.raises(TypeError, match="d_model must be an int, not True"):
            FeedForward(True, 4)
        with pytest.raises(ValueError, match="d_model must be at least 1, not -1"):
            Residual(-1, pre_norm=True)
        for make in (EncoderLayer, DecoderLayer):
            with pytest.raises(ValueError, match="5 does not divide 12"):
                make(12, 5, 24)
            with pytest.raises(TypeError, match=r"d_ff must be an int, not 24\.0"):
                make(12, 3, 24.0)

    @pytest.mark.parametrize("p", [-0.5, 1.0, 2])
    def test_dropout(self, p):
        for make in (
            lambda: FeedForward(4, 8, dropout=p),
            lambda: Residual(4, pre_norm=True, dropout=p),
            lambda: EncoderLayer(4, 2, 8, dropout=p),
            lambda: DecoderLayer(4, 2, 8, dropout=p),
        ):
            with pytest.raises(
                ValueError, match=f"dropout must be at least 0 and below 1, not {p}"
            ):
                make()

    @pytest.mark.parametrize("pre_norm", [True, False])
    def test_inputs(self, pre_norm):
        x = torch.zeros(B, T, D)
        for run in (
            FeedForward(D, D_FF),
            EncoderLayer(D, H, D_FF, pre_norm=pre_norm),
            lambda x: DecoderLayer(D, H, D_FF, pre_norm=pre_norm)(x, torch.zeros(B, S, D)),
        ):
            with pytest.raises(ValueError, match=r"last axis of x must be 12.*\(2, 5, 11\)"):
                run(x[..., :-1])
            with pytest.raises(TypeError, match="x must hold floating-point numbers, not"):
                run(x.long())
            with pytest.raises(TypeError, match=r"x must be torch\.float32 as the weights are"):
                run(x.double())
            with pytest.raises(TypeError, match="x must be a tensor, not list"):
                run([0.0])

    def test_memory(self):
        x, layer = torch.zeros(B, T, D), DecoderLayer(D, H, D_FF)
        with pytest.raises(ValueError, match=r"last axis of memory must be 12.*\(2, 7, 6\)"):
            layer(x, torch.zeros(B, S, 6))
        with pytest.raises(ValueError, match="memory must have 3 axes, not 2"):
            layer(x, torch.zeros(S, D))
        with pytest.raises(
            ValueError, match=r"axes of memory must be those of x: .* \(1, 7, 12\), x's \(2, 5"
        ):
            layer(x, torch.zeros(1, S, D))
        with pytest.raises(TypeError, match="memory must be a tensor, not NoneType"):
            layer(x, None)
        with pytest.raises(TypeError, match=r"memory must be torch\.float32 as the weights are"):
            layer(x, torch.zeros(B, S, D).double())

    def test_masks(self):
        x, memory = torch.zeros(B, T, D), torch.zeros(B, S, D)
        encoder, decoder = EncoderLayer(D, H, D_FF), DecoderLayer(D, H, D_FF)
        wide = torch.ones(T, S, dtype=torch.bool)
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 5, 5\).*\(5, 7\)"):
            encoder(x, wide)
        with pytest.raises(ValueError, match=r"^mask must broadcast to \(2, 5, 5\).*\(5, 7\)"):
            decoder(x, memory, wide)
        with pytest.raises(ValueError, match=r"memory_mask must broadcast to \(2, 5, 7\).*\(5, 5"):
            decoder(x, memory, None, masks.causal(T))
        with pytest.raises(ValueError, match=r"memory_mask must broadcast to \(2, 3, 5, 7\)"):
            decoder(x, memory, None, wide[None, None].expand(B, 2, T, S))
        with pytest.raises(TypeError, match="memory_mask must be boolean, True where"):
            decoder(x, memory, None, torch.ones(T, S))
