"""Token embeddings: the vector of each entry of the vocabulary."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks


class TokenEmbedding(nn.Embedding):
    """A table with one learned row for each token: `v = E x` for a one-hot x is its row x.

    torch's own table, with errors that name what is wrong (on a GPU torch stops with an assertion
    of the device).

    Args:
        vocab_size: number of rows V.
        d_model: width D of a row.
        pad_id: a token whose row is zero and stays zero, if given.
        std: spread of the first, random rows; 0.02 as in BERT and GPT-2.

    Raises:
        ValueError: a size below 1, or a pad_id outside the vocabulary.

    Source: Bengio et al. 2003.
    Chapter: 04_self_attention
    """

    def __init__(
        self, vocab_size: int, d_model: int, *, pad_id: int | None = None, std: float = 0.02
    ) -> None:
        checks.positive(vocab_size=vocab_size, d_model=d_model)
        if pad_id is not None:
            checks.whole(pad_id=pad_id)
            if not 0 <= pad_id < vocab_size:
                raise ValueError(f"pad_id must lie in 0 … {vocab_size - 1}, not {pad_id}")
        super().__init__(vocab_size, d_model, padding_idx=pad_id)
        with torch.no_grad():
            self.weight.mul_(std)  # torch draws them with a spread of 1; a row of zeros stays

    def forward(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch D"]:
        """ids (…) -> their rows (…, D).

        Raises:
            TypeError: ids that are not integers.
            ValueError: an id outside 0 … vocab_size - 1.
        """
        checks.ids("ids", ids, self.num_embeddings)
        return super().forward(ids.long())  # torch refuses the narrow kinds, such as bytes
