"""Subwords: BPE and WordPiece, trained and run by the library `tokenizers`."""

from collections.abc import Iterable, Sequence

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from attnbook import checks
from attnbook.tokenization.frames import BERT_SPECIAL, SPECIAL, frame
from attnbook.tokenization.tokenizer import Tokenizer


def train_bpe(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Byte-pair encoding over bytes, as in GPT-2: any text goes through and comes back unchanged.

    The text is cut into words (a blank belongs to the word behind it), a word into the bytes of
    its UTF-8; then the merges learned from `texts` join them. A byte is written as one visible
    character, a blank as Ġ. There is nothing unknown. Calling frames a text as [BOS] text [EOS].

    Args:
        texts: what to learn the merges from.
        vocab_size: the number of tokens, at least 260: 4 special tokens and 256 bytes. Small texts
            can give fewer.

    Raises:
        TypeError, ValueError: a vocab_size that is not a whole number or too small.

    Source: Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2, for bytes.
    Chapter: 02_subwords
    """
    special = [token for token in SPECIAL if token != "[UNK]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _check_size(vocab_size, len(special) + len(alphabet))
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return frame(backend, special, "[BOS]", "[EOS]", in_text=False)


def train_wordpiece(texts: Iterable[str], vocab_size: int, *, lowercase: bool = True) -> Tokenizer:
    """A WordPiece vocabulary of one's own, for BERT's way of cutting text (`wordpiece_tokenizer`).

    The vocabulary is grown by BPE's merges, the most frequent pair first, as `tokenizers` does it:
    WordPiece's own criterion, the pair that raises the likelihood of the texts most, was published
    in words only. The first ids are those of [PAD], [UNK], [CLS], [SEP] and [MASK].

    Args:
        texts: what to learn the vocabulary from.
        vocab_size: the number of tokens. Small texts can give fewer; characters of the texts are
            all kept, even where they alone are more.
        lowercase: whether to make letters small and to take accents off.

    Raises:
        TypeError, ValueError: a vocab_size that is not a whole number of at least 6.

    Source: Schuster and Nakajima 2012, section 3; Wu et al. 2016, section 4.1.
    Chapter: 02_subwords
    """
    _check_size(vocab_size, len(BERT_SPECIAL) + 1)
    backend = _bert_backend(models.WordPiece(unk_token="[UNK]"), lowercase)
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=list(BERT_SPECIAL), show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    return frame(backend, BERT_SPECIAL, "[CLS]", "[SEP]", in_text=True)


def wordpiece_tokenizer(vocab: Sequence[str], *, lowercase: bool = True) -> Tokenizer:
    """BERT's tokenizer with a given vocabulary, such as `attnbook.data.zh_vocab.load()`.

    BERT's basic tokenization comes first: control characters dropped, blanks of all kinds made
    one, letters small and accents off (with `lowercase`), words cut at blanks; a punctuation mark
    is a word, and so is each CJK character. Then each word is cut into the longest pieces of the
    vocabulary from left to right, where "##" marks a piece that goes on with a word. A word
    that cannot be cut, or has more than 100 characters, is [UNK] as a whole. Calling frames texts
    as [CLS] a [SEP] and [CLS] a [SEP] b [SEP]; the name of a special token in a text stands for
    it. Decoding puts one blank between words, and takes none away before marks (Hugging Face does).

    Args:
        vocab: the tokens in order of their ids, with [PAD], [UNK], [CLS], [SEP] and [MASK].
        lowercase: as the vocabulary was made; True for the Chinese one, which has no capitals.

    Raises:
        ValueError: a vocabulary with a token twice, or without one of the special tokens.

    Source: Devlin et al. 2019, section 3; Wu et al. 2016, section 4.1.
    Chapter: 02_subwords
    """
    ids = {token: i for i, token in enumerate(vocab)}
    if len(ids) < len(vocab):
        twice = next(token for i, token in enumerate(vocab) if ids[token] != i)
        raise ValueError(f"vocab must hold each token once, but {twice!r} is in it more than once")
    if missing := [token for token in BERT_SPECIAL if token not in ids]:
        raise ValueError(f"vocab must hold {', '.join(BERT_SPECIAL)}, but has no {missing[0]}")
    model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100)
    return frame(_bert_backend(model, lowercase), BERT_SPECIAL, "[CLS]", "[SEP]", in_text=True)


def _bert_backend(model: models.WordPiece, lowercase: bool) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # No clean-up of blanks before punctuation: it would make "a . b" and "a. b" the same.
    backend.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return backend


def _check_size(vocab_size: int, least: int) -> None:
    checks.positive(vocab_size=vocab_size)
    if vocab_size < least:
        raise ValueError(f"vocab_size must be at least {least}, not {vocab_size}")
