"""Characters as tokens: the smallest vocabulary, the longest sequences."""

from collections.abc import Iterable

import tokenizers
from tokenizers import decoders, models

from attnbook.tokenization.frames import SPECIAL, frame
from attnbook.tokenization.tokenizer import Tokenizer


def character_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """A tokenizer whose tokens are the characters (Unicode code points) of the texts.

    The first ids are those of [PAD], [UNK], [BOS] and [EOS]; the characters follow in the order
    of their code points. A character that is not in the texts is read as [UNK]. Calling frames a
    text as [BOS] text [EOS]. The name of a special token in a text is read letter by letter.

    Raises:
        ValueError: texts without a single character.

    Chapter: 02_subwords
    """
    alphabet = sorted({character for text in texts for character in text})
    if not alphabet:
        raise ValueError("texts must hold at least one character")
    vocab = {token: i for i, token in enumerate([*SPECIAL, *alphabet])}
    # BPE that has learned nothing leaves characters, ten times faster than words of one character.
    backend = tokenizers.Tokenizer(models.BPE(vocab, [], unk_token="[UNK]"))
    backend.decoder = decoders.Fuse()
    return frame(backend, SPECIAL, "[BOS]", "[EOS]", in_text=False)
