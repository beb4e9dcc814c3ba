"""Special tokens: which there are, and where they stand around one text or two."""

from collections.abc import Sequence

import tokenizers
from tokenizers import AddedToken, processors

from attnbook.tokenization.tokenizer import Tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[BOS]", "[EOS]")
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def frame(
    backend: tokenizers.Tokenizer, special: Sequence[str], first: str, last: str, *, in_text: bool
) -> Tokenizer:
    """Give `backend` its special tokens, and the frames `first a last` and `first a last b last`.

    `in_text` says whether the name of a special token in a text stands for that token, as "[MASK]"
    does for BERT.
    """
    backend.add_special_tokens([AddedToken(token, special=True) for token in special])
    backend.encode_special_tokens = not in_text
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in (first, last)],
    )
    return Tokenizer(backend)
