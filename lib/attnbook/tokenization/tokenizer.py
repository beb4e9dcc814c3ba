"""The one interface to every tokenizer: texts to a batch of tensors, and ids back to text."""

from collections.abc import Sequence
from typing import Literal

import tokenizers
import torch
from jaxtyping import Int
from torch import Tensor

from attnbook import checks


class Tokenizer:
    """What users of Hugging Face know as a tokenizer, around a `tokenizers.Tokenizer`.

    Args:
        backend: how text is cut and joined, and where special tokens go. Settings for padding and
            truncation in it are not used: each call has its own.
        pad: the padding token; a token of the vocabulary.

    Attributes:
        vocab: from each token to its id.
        vocab_size: the number of tokens V; ids lie in 0 … V - 1.
        pad_id: the id of padding.
        special_ids: the ids that are no text, in order: padding, unknown, start, end, mask.

    Raises:
        ValueError: a pad that is not in the vocabulary.

    Chapter: 02_subwords
    """

    def __init__(self, backend: tokenizers.Tokenizer, *, pad: str = "[PAD]") -> None:
        self.vocab = backend.get_vocab()
        self.vocab_size = len(self.vocab)
        if pad not in self.vocab:
            raise ValueError(f"pad must be a token of the vocabulary, not {pad!r}")
        added = backend.get_added_tokens_decoder()
        self.pad_id = self.vocab[pad]
        self.special_ids = tuple(sorted(i for i, token in added.items() if token.special))
        self._backend, self._pad = backend, pad

    def __call__(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        padding: Literal["longest", "max_length"] = "longest",
        padding_side: Literal["right", "left"] = "right",
        add_special_tokens: bool = True,
    ) -> dict[str, Tensor]:
        """A batch of texts, or of pairs of texts, as a model reads it.

        Args:
            texts: B texts.
            pairs: as many second texts, such as the next sentences.
            max_length: the most tokens of a row, special ones included; unlimited unless given.
                Tokens are cut from the end. Of a pair the longer text is cut until both are as
                long; where that is not enough, both are cut, and keep half of the room each (the
                odd token goes to the longer text, to the second one of equal texts).
            padding: up to the longest row of the batch, or up to max_length.
            padding_side: behind the text, or before it (for decoders that go on writing).
            add_special_tokens: whether to frame the texts, such as [CLS] a [SEP] b [SEP].

        Returns:
            `input_ids`, integers (B, T); `attention_mask`, boolean (B, T), True for real tokens,
            found by their number and not by their id (Hugging Face has 1 and 0; this book's masks
            are boolean); `token_type_ids`, integers (B, T), 1 for the tokens of the second text
            and its closing special token, 0 for all others.

        Raises:
            TypeError: texts or pairs that are not a list or tuple of strings.
            ValueError: no texts, pairs of another number, text with half of a surrogate pair, or
                a max_length that is missing or leaves no room for a token of each text.

        Source: Devlin et al. 2019, section 3, for the frame and the types of pairs.
        """
        _check_texts("texts", texts)
        if pairs is not None:
            _check_texts("pairs", pairs)
            if len(pairs) != len(texts):
                raise ValueError(
                    f"pairs must hold {len(texts)} texts as texts does, not {len(pairs)}"
                )
        if padding_side not in ("right", "left"):
            raise ValueError(f"padding_side must be 'right' or 'left', not {padding_side!r}")
        self._set_length(max_length, padding, pairs is not None, add_special_tokens)
        self._backend.enable_padding(
            direction=padding_side,
            pad_id=self.pad_id,
            pad_token=self._pad,
            length=max_length if padding == "max_length" else None,
        )
        rows = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        encoded = self._backend.encode_batch(rows, add_special_tokens=add_special_tokens)
        return {
            "input_ids": torch.tensor([row.ids for row in encoded], dtype=torch.long),  # (B, T)
            "attention_mask": torch.tensor([row.attention_mask for row in encoded]) == 1,  # (B, T)
            "token_type_ids": torch.tensor([row.type_ids for row in encoded], dtype=torch.long),
        }

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text, without special ones around it.

        Raises:
            TypeError, ValueError: as for calling.
        """
        _check_texts("text", [text])
        self._backend.no_padding()
        self._backend.no_truncation()
        return self._backend.encode(text, add_special_tokens=False).tokens

    def tokens(self, ids: Int[Tensor, " T"] | Sequence[int]) -> list[str]:
        """The token of each id, such as for the axes of a figure.

        Raises:
            TypeError, ValueError: ids that are no row of integers, or outside of the vocabulary.
        """
        return [self._backend.id_to_token(i) for i in self._list(ids)]

    def decode(
        self, ids: Int[Tensor, " T"] | Sequence[int], *, skip_special_tokens: bool = True
    ) -> str:
        """The text of one row of ids, shape (T,).

        Where the tokenizer changes the text before it cuts it (small letters, accents taken off,
        blanks), the changed text comes back.

        Raises:
            TypeError, ValueError: ids that are no row of integers, or outside of the vocabulary.
        """
        return self._backend.decode(self._list(ids), skip_special_tokens=skip_special_tokens)

    def _set_length(
        self, max_length: int | None, padding: str, pair: bool, add_special_tokens: bool
    ) -> None:
        if padding not in ("longest", "max_length"):
            raise ValueError(f"padding must be 'longest' or 'max_length', not {padding!r}")
        if max_length is None:
            if padding == "max_length":
                raise ValueError("max_length must be given where padding is 'max_length'")
            self._backend.no_truncation()
            return
        checks.positive(max_length=max_length)
        frame = self._backend.num_special_tokens_to_add(pair) if add_special_tokens else 0
        texts = "two texts" if pair else "a text"
        if max_length < frame + 1 + pair:
            raise ValueError(
                f"max_length must be at least {frame + 1 + pair}, for {frame} special tokens and "
                f"a token of {texts}, not {max_length}"
            )
        self._backend.enable_truncation(max_length, strategy="longest_first")

    def _list(self, ids: Tensor | Sequence[int]) -> list[int]:
        row = ids if isinstance(ids, Tensor) else torch.tensor(ids)
        row = row.long() if row.shape == (0,) else row  # torch takes an empty list for floats
        if row.ndim != 1:
            raise ValueError(f"ids must have 1 axis, but its shape is {checks.shape(row)}")
        checks.ids("ids", row, self.vocab_size)
        return row.tolist()


def _check_texts(name: str, texts: Sequence[str]) -> None:
    if not isinstance(texts, list | tuple):
        raise TypeError(f"{name} must be a list or tuple of strings, not {type(texts).__name__}")
    if not texts:
        raise ValueError(f"{name} must hold at least one text")
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{name} must hold strings, not {text!r} ({type(text).__name__})")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} must be well-formed, but {text!r} has half a surrogate pair"
            ) from error
