import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import masks

sizes = st.integers(1, 7)


def as_rows(mask):
    """Rows of 1 and 0, to be read beside the expected picture."""
    return ["".join(str(int(x)) for x in row) for row in mask]


def test_causal_by_hand():
    assert as_rows(masks.causal(3)) == ["100", "110", "111"]
    assert as_rows(masks.causal(2, 5)) == ["11110", "11111"]
    assert as_rows(masks.causal(1, 4)) == ["1111"]


def test_window_by_hand():
    assert as_rows(masks.window(4, 1)) == ["1100", "1110", "0111", "0011"]
    assert as_rows(masks.window(2, 1, 5)) == ["00111", "00011"]
    assert as_rows(masks.window(3, 0)) == ["100", "010", "001"]
    assert as_rows(masks.causal(4) & masks.window(4, 1)) == ["1000", "1100", "0110", "0011"]


@given(sizes, sizes, st.integers(0, 8))
def test_causal_and_window_are_the_last_rows_of_the_square(T, more, width):
    S = T + more
    for small, large in [
        (masks.causal(T, S), masks.causal(S)),
        (masks.window(T, width, S), masks.window(S, width)),
    ]:
        assert torch.equal(small, large[-T:])
        assert small.dtype == torch.bool


@given(sizes, st.integers(0, 8))
def test_window_by_its_definition(T, width):
    mask = masks.window(T, width)
    for i in range(T):
        for j in range(T):
            assert mask[i, j] == (abs(i - j) <= width)


def test_padding_by_hand():
    mask = masks.padding(torch.tensor([2, 0, 3]), 3)
    assert mask.shape == (3, 1, 3)
    assert as_rows(mask[:, 0]) == ["110", "000", "111"]
    assert masks.padding(torch.empty(0, dtype=torch.long), 3).shape == (0, 1, 3)


def test_real_tokens_by_hand():
    ids = torch.tensor([[0, 0, 7, 5], [4, 0, 6, 0]])
    mask = masks.real_tokens(ids, 0)
    assert mask.shape == (2, 1, 4)
    assert as_rows(mask[:, 0]) == ["0011", "1010"]
    assert as_rows(masks.real_tokens(ids, 7)[:, 0]) == ["1101", "1111"]


def test_padding_leaves_an_end_token_that_has_the_id_of_padding():
    ids = torch.tensor([[5, 6, 0, 0, 0]])  # 0 ends the sequence once, then pads it
    assert as_rows(masks.padding(torch.tensor([3]), 5)[0]) == ["11100"]
    assert as_rows(masks.real_tokens(ids, 0)[0]) == ["11000"]


def test_causal_and_padding_combine_to_both():
    both = masks.causal(3) & masks.padding(torch.tensor([2, 3]), 3)
    assert both.shape == (2, 3, 3)
    assert as_rows(both[0]) == ["100", "110", "110"]
    assert as_rows(both[1]) == ["100", "110", "111"]


def test_to_torch_turns_the_meaning_around_and_back():
    mask = masks.causal(2, 3)
    assert as_rows(masks.to_torch(mask)) == ["001", "000"]
    assert torch.equal(masks.to_torch(masks.to_torch(mask)), mask)


def test_masks_are_made_on_the_device_asked_for():
    meta = torch.device("meta")
    assert masks.causal(3, device=meta).device == meta
    assert masks.window(3, 1, device="meta").device == meta
    lengths, ids = torch.tensor([1]), torch.tensor([[7, 0]])
    with meta:  # what is made without a device goes there, but these follow their argument
        assert masks.padding(lengths, 3).device.type == "cpu"
        assert masks.real_tokens(ids, 0).device.type == "cpu"


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize("make", [masks.causal, lambda T, S=None: masks.window(T, 1, S)])
    def test_sizes(self, make):
        with pytest.raises(ValueError, match="T must be at least 1, not 0"):
            make(0)
        with pytest.raises(ValueError, match="S must be at least 1, not -2"):
            make(3, -2)
        with pytest.raises(TypeError, match=r"T must be an int, not 3\.0 \(float\)"):
            make(3.0)
        with pytest.raises(TypeError, match="T must be an int, not True"):
            make(True)
        with pytest.raises(ValueError, match=r"S must be at least T: 5 queries.* last of 4 keys"):
            make(5, 4)

    def test_width(self):
        with pytest.raises(ValueError, match="width must be at least 0, not -1"):
            masks.window(3, -1)
        for width in (1.0, True):
            with pytest.raises(TypeError, match=f"width must be an int, not {width}"):
                masks.window(3, width)

    @pytest.mark.parametrize("lengths", [[-1, 2], [2, 6]])
    def test_lengths_out_of_range(self, lengths):
        with pytest.raises(ValueError, match=r"lengths must lie in 0 … S = 5, not \[.*\]"):
            masks.padding(torch.tensor(lengths), 5)

    def test_lengths_of_another_kind(self):
        with pytest.raises(TypeError, match="lengths must be a tensor, not list"):
            masks.padding([1, 2], 5)
        with pytest.raises(TypeError, match=r"lengths must hold integers, not torch\.float32"):
            masks.padding(torch.tensor([1.0]), 5)
        for bad in (torch.tensor(3), torch.tensor([[3]])):
            with pytest.raises(TypeError, match="lengths must have 1 axis, but its shape is"):
                masks.padding(bad, 5)
        with pytest.raises(ValueError, match="S must be at least 1, not 0"):
            masks.padding(torch.tensor([0]), 0)

    def test_ids(self):
        with pytest.raises(TypeError, match=r"ids must hold integers, not torch\.float32"):
            masks.real_tokens(torch.zeros(2, 3), 0)
        with pytest.raises(ValueError, match=r"ids must have 2 axes \(B, S\).*\(3,\)"):
            masks.real_tokens(torch.zeros(3, dtype=torch.long), 0)

    @pytest.mark.parametrize("pad_id", [None, "[PAD]", 0.0])
    def test_pad_id(self, pad_id):
        with pytest.raises(TypeError, match="pad_id must be an int, not"):
            masks.real_tokens(torch.zeros(2, 3, dtype=torch.long), pad_id)

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16])
    def test_narrow_kinds_count_as_wide_ones(self, dtype):
        ids = torch.tensor([[7, 255, 0]]).to(dtype)
        assert masks.real_tokens(ids, -1).tolist() == [[[True, True, True]]]
        assert masks.padding(torch.tensor([2]).to(dtype), 3).tolist() == [[[True, True, False]]]
        with pytest.raises(ValueError, match=r"lengths must lie in 0 … S = 3, not \[255\]"):
            masks.padding(torch.tensor([255]).to(dtype), 3)

    @pytest.mark.parametrize("mask", [torch.ones(2, 2), [[True]], torch.ones(2, 2).long()])
    def test_to_torch(self, mask):
        with pytest.raises(TypeError, match=r"mask must be (a boolean tensor|boolean)"):
            masks.to_torch(mask)
