"""The recurrent networks before attention: one state, carried along from token to token."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnbook import checks
from attnbook.embeddings import TokenEmbedding

_CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM}


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """The sizes and choices of a `Recurrent`.

    Args:
        vocab_size: number of tokens V.
        d_model: width D of a token's vector.
        d_hidden: width of the state, in each direction.
        n_layers: number of layers.
        cell: "rnn" (Elman's, with tanh) or "lstm".
        bidirectional: whether a second network reads each sequence from its end.
        dropout: share dropped in training, of the token vectors and between layers.

    Raises:
        TypeError: a size that is no int, a bidirectional that is no bool.
        ValueError: a size below 1, a dropout outside [0, 1), or a cell of no such name.

    Chapter: 03_recurrence
    """

    vocab_size: int
    d_model: int
    d_hidden: int
    n_layers: int = 1
    cell: str = "lstm"
    bidirectional: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(
            vocab_size=self.vocab_size,
            d_model=self.d_model,
            d_hidden=self.d_hidden,
            n_layers=self.n_layers,
        )
        checks.choice("cell", self.cell, _CELLS)
        checks.flag(bidirectional=self.bidirectional)
        checks.probability(dropout=self.dropout)


class Recurrent(nn.Module):
    """Token embedding, then torch's RNN or LSTM, which does not see the padding.

    Args:
        config: its sizes and choices.

    Attributes:
        config: as given.
        tokens: the `TokenEmbedding`.
        network: torch's module.

    Source: Elman 1990; Hochreiter and Schmidhuber 1997; Schuster and Paliwal 1997.
    Chapter: 03_recurrence
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        c = self.config = config
        self.tokens = TokenEmbedding(c.vocab_size, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        self.network = _CELLS[c.cell](
            c.d_model,
            c.d_hidden,
            c.n_layers,
            batch_first=True,
            bidirectional=c.bidirectional,
            dropout=c.dropout if c.n_layers > 1 else 0.0,  # torch warns: it would drop nothing
        )

    def forward(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[Float[Tensor, "B T n"], Float[Tensor, "B n"]]:
        """ids (B, T) -> the states (B, T, n) and the last state (B, n) of the last layer.

        n is d_hidden, or twice that with both directions: forwards first, then backwards.

        Args:
            ids: token ids, padding behind the real tokens.
            lengths: number of real tokens of each sequence, 1 … T; all T unless given.

        Returns:
            The state at each token, zeros at padding; and the state after the last real token
            (backwards: after the first), in which the whole sequence has been read.

        Raises:
            TypeError: ids or lengths that are not integers.
            ValueError: an id outside 0 … vocab_size - 1, a length outside 1 … T, or shapes that
                do not fit.
        """
        checks.ids("ids", ids, self.config.vocab_size)
        if ids.ndim != 2:
            raise ValueError(f"ids must have 2 axes (B, T), but its shape is {checks.shape(ids)}")
        B, T = ids.shape
        if lengths is None:
            lengths = torch.full((B,), T)
        checks.integers("lengths", lengths)
        if checks.shape(lengths) != (B,):
            raise ValueError(
                f"lengths must have the shape (B,) = ({B},), not {checks.shape(lengths)}"
            )
        lengths = lengths.long()  # torch has no minimum for some of the narrow kinds
        if B and (int(lengths.min()) < 1 or int(lengths.max()) > T):
            raise ValueError(f"lengths must lie in 1 … T = {T}, not {lengths.tolist()}")

        x = self.dropout(self.tokens(ids))  # (B, T, D)
        # Packed: each sequence ends where it ends, and backwards begins there.
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, state = self.network(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=T)  # (B, T, n)
        last = state[0] if self.config.cell == "lstm" else state  # (layers x directions, B, d)
        directions = 2 if self.config.bidirectional else 1
        return states, last[-directions:].transpose(0, 1).flatten(1)  # (B, T, n), (B, n)
