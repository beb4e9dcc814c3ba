"""The key-value cache, alone and under each model: bit by bit is the same as all at once."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import masks
from attnbook.attention import MultiHeadAttention
from attnbook.cache import AttentionCache, KeyValueCache, by_layer
from attnbook.models.decoder import Decoder, DecoderConfig
from attnbook.models.gpt import GPT, GPTConfig
from attnbook.models.inputs import POSITIONS, mask_and_places
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig

B, H, T, S, D, D_FF, N, V, V_SOURCE, MAX = 2, 3, 7, 5, 12, 11, 4, 17, 13, 9
SIZES = {"d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": N, "max_len": MAX}
few = settings(max_examples=10)  # each builds whole models
CHOICES = {"pre_norm": st.booleans(), "positions": st.sampled_from(POSITIONS)}
# How T tokens are cut into calls, one or more tokens at a time.
CUTS = st.sets(st.integers(1, T - 1)).map(lambda inner: [0, *sorted(inner), T])
PADS = st.lists(st.integers(0, T - 1), min_size=B, max_size=B)


def rough(model):
    """With weights so large that no difference is lost in rounding."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" not in name:
                p.normal_(std=0.4, generator=generator)
    return model.eval()


def gpt(**changes):
    return rough(GPT(GPTConfig(**{"vocab_size": V, **SIZES, **changes})))


def seq2seq(**changes):
    sizes = {"source_vocab_size": V_SOURCE, "target_vocab_size": V, **SIZES}
    return rough(Seq2Seq(Seq2SeqConfig(**sizes | changes)))


def drawn(*size, high=V, seed=0):
    return torch.randint(high, size, generator=torch.Generator().manual_seed(seed))


def numbers(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def close(x, y):
    torch.testing.assert_close(x, y, atol=1e-5, rtol=0)


def left_padded(pads):
    return torch.arange(T) >= torch.tensor(pads)[:, None]  # (B, T)


# --- by itself


def test_it_gives_all_so_far_in_the_order_of_coming():
    cache = AttentionCache(B, H, 7, 4)
    k, v = numbers(B, H, 7, 4), numbers(B, H, 7, 4, seed=1)
    storage = cache.keys.data_ptr(), cache.values.data_ptr()
    for start, end in [(0, 3), (3, 3), (3, 4), (4, 7)]:
        keys, values = cache.extend(k[:, :, start:end], v[:, :, start:end])
        assert torch.equal(keys, k[:, :, :end])
        assert torch.equal(values, v[:, :, :end])
        assert cache.length == end
        assert (keys.data_ptr(), values.data_ptr()) == storage  # nothing was copied


def test_rows_are_re_ordered_everywhere():
    cache = KeyValueCache(N, B, H, MAX, 4, memory_len=S)
    real = torch.tensor([[True, True, False], [False, True, True]])
    cache.expect(drawn(B, 3), real)
    k = numbers(B, H, 3, 4)
    for layer in (*cache.layers, *cache.memory_layers):
        layer.extend(k, k + 1)
    rows = torch.tensor([1, 0, 1])
    cache.select(rows)
    k, new = torch.cat([k[rows], numbers(3, H, 1, 4, seed=1)], dim=2), numbers(3, H, 1, 4, seed=1)
    wanted = torch.cat([real[rows], torch.ones(3, 1).bool()], dim=1)
    assert torch.equal(cache.expect(drawn(3, 1)), wanted)
    for layer in (*cache.layers, *cache.memory_layers):
        keys, values = layer.extend(new, new + 1)
        assert torch.equal(keys, k)
        assert torch.equal(values, k + 1)
    assert cache.length == 4


@given(CUTS, st.booleans())
def test_attention_that_reads_bit_by_bit(cuts, need_weights):
    attention, x = rough(MultiHeadAttention(D, H)), numbers(B, T, D)
    cache = AttentionCache(B, H, T, D // H)
    wanted, weights = attention(x, x, x, masks.causal(T), need_weights=need_weights)
    with torch.no_grad():
        for start, end in pairwise(cuts):
            new = x[:, start:end]
            output, w = attention(
                new, new, new, masks.causal(end - start, end), cache=cache,
                need_weights=need_weights,
            )  # fmt: skip
            close(output, wanted[:, start:end])
            if need_weights:
                close(w, weights[:, :, start:end, :end])


# --- under the models


@few
@given(cuts=CUTS, pads=PADS, padded=st.booleans(), **CHOICES)
def test_gpt_reads_bit_by_bit_what_it_reads_as_a_whole(cuts, pads, padded, **choices):
    model, ids = gpt(**choices), drawn(B, T)
    real = left_padded(pads if padded else [0] * B)
    cache = model.cache(B)
    with torch.no_grad():
        wanted, weights = model(ids, real if padded else None, need_weights=True)
        for start, end in pairwise(cuts):
            now = real[:, start:end]
            logits, w = model(
                ids[:, start:end], now if padded else None, cache=cache, need_weights=True
            )
            close(logits[now], wanted[:, start:end][now])
            for ours, theirs in zip(w, weights, strict=True):
                close(ours, theirs[:, :, start:end, :end])
    assert cache.length == T
    for b, pad in enumerate(pads if padded else ()):  # and alone, without the padding
        close(wanted[b, pad:], model(ids[b : b + 1, pad:])[0][0])


@few
@given(cuts=CUTS, pads=PADS, source_length=st.integers(1, S), **CHOICES)
def test_seq2seq_reads_bit_by_bit_what_it_reads_as_a_whole(cuts, pads, source_length, **choices):
    model, source, target = seq2seq(**choices), drawn(B, S, high=V_SOURCE), drawn(B, T)
    mask, real = masks.padding(torch.tensor([source_length, S]), S), left_padded(pads)
    with torch.no_grad():
        memory = model.encode(source, mask)
        wanted = model.decode(target, memory, mask, real=real)[0]
        cache = model.cache(memory)
        for start, end in pairwise(cuts):
            now = real[:, start:end]
            logits, own, cross = model.decode(
                target[:, start:end], memory, mask, real=now, cache=cache, need_weights=True
            )
            close(logits[now], wanted[:, start:end][now])
            assert own[0].shape == (B, H, end - start, end)
            assert cross[0].shape == (B, H, end - start, S)
        for b, pad in enumerate(pads):
            alone = model.decode(target[b : b + 1, pad:], memory[b : b + 1], mask[b : b + 1])[0]
            close(wanted[b, pad:], alone[0])
            whole = model(source[b : b + 1], target[b : b + 1, pad:], mask[b : b + 1])[0]
            close(wanted[b, pad:], whole[0])


def test_the_memory_is_projected_once():
    model, target = seq2seq(), drawn(B, T)
    with torch.no_grad():
        memory = model.encode(drawn(B, S, high=V_SOURCE))
        cache = model.cache(memory)
        rows = []
        for layer in model.decoder.layers:
            for w in (layer.cross_attention.w_k, layer.cross_attention.w_v):
                w.register_forward_hook(lambda _, inputs, __: rows.append(inputs[0].shape[1]))
        for t in range(3):
            model.decode(target[:, t : t + 1], memory, cache=cache)
    assert rows == [S] * 2 * N + [0] * 2 * N * 2


@pytest.mark.parametrize("positions", POSITIONS)
def test_rows_of_a_running_model_are_re_ordered(positions):
    model, ids, real = gpt(positions=positions), drawn(B, T), left_padded([2, 0])
    rows, new = torch.tensor([1, 0, 0]), drawn(3, 1, seed=5)
    with torch.no_grad():
        cache = model.cache(B)
        model(ids, real, cache=cache)
        cache.select(rows)
        logits = model(new, cache=cache)[0]
        whole = torch.cat([ids[rows], new], dim=1), torch.cat([real[rows], new >= 0], dim=1)
        close(logits[:, 0], model(*whole)[0][:, -1])


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_full_cache_says_so_and_the_last_place_is_taken(positions):
    model, ids = gpt(positions=positions), drawn(B, MAX)
    with torch.no_grad():
        for limit in (MAX, MAX - 2):
            cache = model.cache(B, limit)
            assert cache.max_len == limit
            model(ids[:, : limit - 1], cache=cache)
            close(model(ids[:, limit - 1 : limit], cache=cache)[0][:, 0],
                  model(ids[:, :limit])[0][:, -1])  # fmt: skip
            with pytest.raises(ValueError, match=f"max_len = {limit} places, of which {limit} are"):
                model(ids[:, :1], cache=cache)
            assert cache.length == limit


def test_mask_and_places_of_a_batch_with_padding_on_the_left():
    ids, real = drawn(B, 3), torch.tensor([[False, True, True], [True, True, True]])
    mask, where = mask_and_places(ids)
    assert torch.equal(mask, masks.causal(3))
    assert where is None
    cache = KeyValueCache(1, B, H, MAX, 4)
    mask, where = mask_and_places(ids, real, cache)
    assert where.tolist() == [[0, 0, 1], [0, 1, 2]]
    assert mask.int().tolist() == [[[0, 0, 0], [0, 1, 0], [0, 1, 1]],
                                   [[1, 0, 0], [1, 1, 0], [1, 1, 1]]]  # fmt: skip
    cache.layers[0].extend(*[numbers(B, H, 3, 4)] * 2)
    mask, where = mask_and_places(ids[:, :2], None, cache)
    assert where.tolist() == [[2, 3], [3, 4]]
    assert mask[0].int().tolist() == [[0, 1, 1, 1, 0], [0, 1, 1, 1, 1]]


def test_mask_and_places_without_padding_have_no_more_than_is_needed():
    ids, cache = drawn(B, 3), KeyValueCache(1, B, H, MAX, 4)
    mask, where = mask_and_places(ids, None, cache)
    assert torch.equal(mask, masks.causal(3))
    assert where is None
    cache.layers[0].extend(*[numbers(B, H, 3, 4)] * 2)
    mask, where = mask_and_places(ids[:, :2], None, cache)
    assert torch.equal(mask, masks.causal(2, 5))
    assert where.tolist() == [3, 4]
    cache.layers[0].extend(*[numbers(B, H, 2, 4)] * 2)
    mask, where = mask_and_places(ids[:, :1], None, cache)
    assert (mask, where.tolist()) == (None, [5])
    # Padding that comes late is padding, and what was there before it is not.
    late = torch.tensor([[False], [True]])
    mask, where = mask_and_places(ids[:, :1], late, cache)
    assert mask.int().tolist() == [[[1, 1, 1, 1, 1, 0]], [[1] * 6]]
    assert where.tolist() == [[4], [5]]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_cache_has_the_dtype_of_its_model(dtype):
    ids = drawn(B, T)
    with torch.no_grad():
        for model in (gpt().to(dtype), seq2seq().to(dtype)):
            if isinstance(model, GPT):
                assert model(ids, cache=model.cache(B))[0].dtype == dtype
            else:
                memory = model.encode(drawn(B, S, high=V_SOURCE))
                assert model.decode(ids, memory, cache=model.cache(memory))[0].dtype == dtype


# --- bad input


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_sizes(self):
        sizes = {"B": B, "n_heads": H, "max_len": MAX, "d_head": 4}
        for name in sizes:
            with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
                AttentionCache(**sizes | {name: 0})
        for wrong in ({"n_layers": 0}, {"memory_len": 0}):
            with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least 1, not 0"):
                KeyValueCache(**{"n_layers": N} | sizes | wrong)
        with pytest.raises(ValueError, match="max_len must be at most 9, not 10"):
            gpt().cache(B, MAX + 1)
        with pytest.raises(ValueError, match="max_len must be at most 9, not 10"):
            seq2seq().cache(numbers(B, S, D), MAX + 1)
        with pytest.raises(ValueError, match="max_len must be at least 1, not 0"):
            gpt().cache(B, 0)

    def test_keys_and_values(self):
        cache, x = AttentionCache(B, H, MAX, 4), torch.zeros(B, H, 2, 4)
        for size in [(3, H, 2, 4), (B, 1, 2, 4), (B, H, 2, 1), (H, 2, 4)]:
            with pytest.raises(ValueError, match=r"key must fit the cache, .*\(2, 3, T, 4\), but"):
                cache.extend(torch.zeros(size), x)
            with pytest.raises(ValueError, match=r"value must fit the cache"):
                cache.extend(x, torch.zeros(size))
        with pytest.raises(ValueError, match="value must have the shape of key"):
            cache.extend(x, torch.zeros(B, H, 3, 4))
        with pytest.raises(TypeError, match=r"one dtype.*key torch.float64.*cache torch.float32"):
            cache.extend(x.double(), x.double())
        with pytest.raises(TypeError, match=r"one dtype.*value torch.float64.*cache torch.float32"):
            cache.extend(x, x.double())
        with pytest.raises(RuntimeError, match=r"a cache keeps no gradients: .* torch.no_grad\(\)"):
            cache.extend(x.requires_grad_(), x)
        assert cache.length == 0

    def test_another_model(self):
        ids = drawn(B, T)
        with torch.no_grad():
            with pytest.raises(ValueError, match="cache must have 4 layers, not 3"):
                gpt()(ids, cache=gpt(n_layers=3).cache(B))
            with pytest.raises(ValueError, match="the cache was made for 3 sequences, but"):
                gpt()(ids, cache=gpt().cache(3))
            model = Decoder(DecoderConfig(vocab_size=V, **SIZES))
            with pytest.raises(ValueError, match=r"4 memory_layers \(give memory_len\), not 0"):
                model(ids, numbers(B, S, D), cache=KeyValueCache(N, B, H, MAX, D // H))
        with pytest.raises(RuntimeError, match="a cache keeps no gradients"):
            gpt()(ids, cache=gpt().cache(B))
        assert by_layer(None, 3) == [None] * 3

    def test_rows_and_real(self):
        cache = KeyValueCache(N, B, H, MAX, 4)
        with pytest.raises(ValueError, match="rows must lie in 0 … 1, but 2 is among them"):
            cache.select(torch.tensor([0, 2]))
        with pytest.raises(TypeError, match="rows must hold integers"):
            cache.select(torch.tensor([True, False]))
        with pytest.raises(TypeError, match="real must be boolean"):
            cache.expect(drawn(B, 2), torch.ones(B, 2))
        with pytest.raises(ValueError, match="real must have the shape of ids"):
            cache.expect(drawn(B, 2), torch.ones(B, 3).bool())
        with pytest.raises(ValueError, match="max_len = 9 places, of which 0 are filled: 10 more"):
            cache.expect(drawn(B, 10))
        for size in ((B,), (B, 2, 2), (B + 1, 2)):
            with pytest.raises(ValueError, match=r"made for 2 sequences, but ids has the shape \("):
                cache.expect(drawn(*size))

    @pytest.mark.parametrize("positions", POSITIONS)
    def test_a_cache_longer_than_the_model(self, positions):
        model = gpt(positions=positions)
        cache = KeyValueCache(N, B, H, MAX + 1, D // H)
        with torch.no_grad():
            model(drawn(B, MAX), cache=cache)
            with pytest.raises(ValueError, match=r"places must .* but 9 is among them"):
                model(drawn(B, 1), cache=cache)


@pytest.mark.usefixtures("plain")
def test_rows_of_narrow_dtypes_are_places_and_no_mask():
    for dtype in (torch.uint8, torch.int16):
        cache = KeyValueCache(1, 3, H, MAX, D)
        cache.layers[0].keys[:] = torch.arange(3.0)[:, None, None, None]
        cache.real[0, 0] = False
        cache.select(torch.tensor([2, 0, 1], dtype=dtype))
        assert cache.layers[0].keys[:, 0, 0, 0].tolist() == [2, 0, 1]
        assert cache.real[:, 0].tolist() == [True, False, True]
        cache.layers[0].select(torch.tensor([1, 1, 0], dtype=dtype))
        assert cache.layers[0].keys[:, 0, 0, 0].tolist() == [0, 0, 2]
