import math

import pytest
import torch

from attnbook.models.inputs import POSITIONS, InputEmbedding
from attnbook.positions import sinusoidal

B, T, V, D, MAX = 2, 5, 11, 6, 7
ids = torch.tensor([[1, 10, 0, 3, 3], [2, 2, 9, 4, 0]])


def test_what_is_added_to_the_row_of_the_token():
    for positions in POSITIONS:
        embed = InputEmbedding(V, D, MAX, positions=positions)
        rows = embed.tokens.weight[ids]
        wanted = {
            "sinusoidal": lambda: rows * math.sqrt(D) + sinusoidal(MAX, D)[:T],  # noqa: B023
            "learned": lambda: rows + embed.positions.table[:T],  # noqa: B023
        }.get(positions, lambda: rows)()  # noqa: B023
        torch.testing.assert_close(embed(ids), wanted)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_places_are_heeded(positions):
    embed = InputEmbedding(V, D, MAX, positions=positions)
    places = torch.tensor([[0, 0, 0, 1, 2], [2, 3, 4, 5, 6]])
    torch.testing.assert_close(embed(ids, places)[0, 2:], embed(ids[:1, 2:])[0])
    torch.testing.assert_close(embed(ids, torch.arange(T)), embed(ids))


def test_dropout_of_the_sum_in_training_alone():
    embed = InputEmbedding(V, D, MAX, dropout=0.5)
    assert 0.2 < (embed(ids) == 0).float().mean() < 0.8
    assert (embed.eval()(ids) != 0).all()


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("positions", POSITIONS)
class TestBadInput:
    def test_ids(self, positions):
        embed = InputEmbedding(V, D, MAX, positions=positions)
        with pytest.raises(ValueError, match=r"ids must have at most max_len = 7 tokens .*, not 8"):
            embed(torch.zeros(B, 8, dtype=torch.long))
        for bad in (-1, 11):
            with pytest.raises(ValueError, match=f"ids must lie in 0 … 10, but {bad} is among"):
                embed(torch.tensor([[bad, 0]]))
        with pytest.raises(ValueError, match=r"ids must have 2 axes \(B, T\), but its shape is"):
            embed(ids[0])
        with pytest.raises(TypeError, match="ids must hold integers"):
            embed(ids.float())

    def test_settings(self, positions):
        with pytest.raises(ValueError, match="max_len must be at least 1, not 0"):
            InputEmbedding(V, D, 0, positions=positions)
        with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, not 1"):
            InputEmbedding(V, D, MAX, positions=positions, dropout=1)
        with pytest.raises(ValueError, match="positions must be one of 'sinusoidal', 'learned',"):
            InputEmbedding(V, D, MAX, positions=positions.upper())
