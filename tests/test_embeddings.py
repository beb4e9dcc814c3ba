import pytest
import torch

from attnbook.embeddings import TokenEmbedding


def test_a_row_is_the_product_with_a_one_hot_vector():
    embedding = TokenEmbedding(5, 3)
    ids = torch.tensor([[4, 0], [2, 2]])
    one_hot = torch.nn.functional.one_hot(ids, 5).float()
    torch.testing.assert_close(embedding(ids), one_hot @ embedding.weight)
    assert embedding(torch.tensor(1)).shape == (3,)
    assert embedding(torch.empty(2, 0, dtype=torch.long)).shape == (2, 0, 3)


def test_the_row_of_padding_is_zero_and_stays_zero():
    embedding = TokenEmbedding(5, 3, pad_id=2)
    embedding(torch.tensor([2, 1])).sum().backward()
    assert not embedding.weight[2].any()
    assert embedding.weight[1].all()
    assert torch.equal(embedding.weight.grad[[2, 1]], torch.tensor([[0.0] * 3, [1.0] * 3]))


def test_without_padding_every_row_learns():
    embedding = TokenEmbedding(2, 3)
    embedding(torch.tensor([0, 1])).sum().backward()
    assert embedding.weight.grad.all()


def test_two_tables_differ():
    assert not torch.equal(TokenEmbedding(5, 3).weight, TokenEmbedding(5, 3).weight)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32])
def test_ids_of_narrow_kinds_give_the_same_rows(dtype):
    table, ids = TokenEmbedding(200, 3), torch.tensor([[0, 127], [4, 4]])
    assert torch.equal(table(ids.to(dtype)), table(ids))
    if dtype not in (torch.int8, torch.int32):
        with pytest.raises(ValueError, match="ids must lie in 0 … 199, but 250 is among them"):
            table(torch.tensor([250]).to(dtype))


@pytest.mark.usefixtures("plain")
class TestBadInput:
    def test_sizes(self):
        with pytest.raises(ValueError, match="vocab_size must be at least 1, not 0"):
            TokenEmbedding(0, 3)
        with pytest.raises(TypeError, match=r"d_model must be an int, not 3\.0"):
            TokenEmbedding(5, 3.0)

    @pytest.mark.parametrize("pad_id", [-1, 5])
    def test_pad_id(self, pad_id):
        with pytest.raises(ValueError, match=f"pad_id must lie in 0 … 4, not {pad_id}"):
            TokenEmbedding(5, 3, pad_id=pad_id)

    @pytest.mark.parametrize("pad_id", ["[PAD]", 2.0, True])
    def test_pad_id_of_another_kind(self, pad_id):
        with pytest.raises(TypeError, match=r"pad_id must be an int, not .* \("):
            TokenEmbedding(5, 3, pad_id=pad_id)

    @pytest.mark.parametrize("bad", [-1, 5])
    def test_ids_outside_the_vocabulary(self, bad):
        with pytest.raises(ValueError, match=f"ids must lie in 0 … 4, but {bad} is among them"):
            TokenEmbedding(5, 3)(torch.tensor([[0, bad]]))

    @pytest.mark.parametrize("bad", [[1, 2], torch.zeros(2), torch.zeros(2).bool()])
    def test_ids_of_another_kind(self, bad):
        with pytest.raises(TypeError, match=r"ids must (be a tensor|hold integers), not"):
            TokenEmbedding(5, 3)(bad)
