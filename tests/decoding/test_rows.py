import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.decoding.rows import cut_at, left_padded


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=4))
def test_left_padding_keeps_every_prompt_at_the_end(prompts):
    ids, real = left_padded(prompts, pad_id=7)
    assert ids.shape == real.shape == (len(prompts), max(map(len, prompts)))
    for prompt, row, mask in zip(prompts, ids, real, strict=True):
        assert row[mask].tolist() == row[-len(prompt) :].tolist() == prompt
        assert (row[~mask] == 7).all()


def test_padding_is_0_unless_given():
    ids, real = left_padded([[5], [6, 7, 8]])
    assert ids.tolist() == [[0, 0, 5], [6, 7, 8]]
    assert real.int().tolist() == [[0, 0, 1], [1, 1, 1]]


def test_cut_at_the_first_end():
    ids = torch.tensor([[4, 2, 5, 2], [2, 2, 2, 2], [1, 3, 4, 5]])
    assert cut_at(ids, 2) == [[4], [], [1, 3, 4, 5]]


@pytest.mark.usefixtures("plain")
def test_bad_input():
    for prompts in ([], [[1], []]):
        with pytest.raises(ValueError, match="prompts must each have a token, but their lengths"):
            left_padded(prompts)
    with pytest.raises(TypeError, match="pad_id must be an int, not None"):
        left_padded([[1]], None)
    with pytest.raises(TypeError, match="eos must be an int, not None"):
        cut_at(torch.zeros(1, 1).long(), None)
    with pytest.raises(TypeError, match="ids must hold integers"):
        cut_at(torch.zeros(1, 1), 1)
