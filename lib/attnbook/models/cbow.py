"""Continuous bag of words: a word is what the words around it say it is."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.embeddings import TokenEmbedding


@dataclass(frozen=True, kw_only=True)
class CBOWConfig:
    """The sizes of a `CBOW`: vocab_size V and d_model D.

    Raises:
        TypeError, ValueError: a size that is no int of at least 1.

    Chapter: 01_embeddings
    """

    vocab_size: int
    d_model: int

    def __post_init__(self) -> None:
        checks.positive(vocab_size=self.vocab_size, d_model=self.d_model)


class CBOW(nn.Module):
    """The mean of the context's vectors, and a linear layer from it to the word in the middle.

    Args:
        config: its sizes.

    Attributes:
        config: as given.
        tokens: the vectors of words as context; what is kept after training.
        output: the vectors of words as answers, D -> V without bias.

    Source: Mikolov et al. 2013, section 3.1 (with the full softmax).
    Chapter: 01_embeddings
    """

    def __init__(self, config: CBOWConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)

    def forward(self, context: Int[Tensor, "B n"]) -> Float[Tensor, "B V"]:
        """The context (B, n) -> logits (B, V) of the word that it stands around.

        Args:
            context: ids at the n places around each word, in any order.

        Raises:
            TypeError: ids that are not integers.
            ValueError: an id outside 0 … vocab_size - 1, no context, or not two axes.
        """
        checks.ids("context", context, self.config.vocab_size)
        if context.ndim != 2 or context.shape[1] == 0:
            raise ValueError(
                "context must have 2 axes (B, n) and at least 1 place, but its shape is "
                f"{checks.shape(context)}"
            )
        return self.output(self.tokens(context).mean(dim=1))  # (B, n, D) -> (B, D) -> (B, V)
