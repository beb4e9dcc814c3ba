"""Parity with `tokenizers`, and with BERT's tokenizer in `transformers`."""

import json
from collections import Counter

import pytest
import tokenizers
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from attnbook.data import hkcancor, sotu, zh_vocab
from attnbook.tokenization.from_scratch import apply_bpe, apply_wordpiece, learn_bpe
from attnbook.tokenization.subwords import train_bpe, train_wordpiece, wordpiece_tokenizer

BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False)


def merges_of(backend):
    return [tuple(pair) for pair in json.loads(backend.to_str())["model"]["merges"]]


def words_of(text):
    return [word for word, _ in BYTES.pre_tokenize_str(text)]


def check_bpe(texts, n_merges):
    """The same merges in the same order, and the same pieces of every word."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    theirs = train_bpe(texts, 3 + len(alphabet) + n_merges)._backend
    counts = Counter(word for text in texts for word in words_of(text))
    merges = learn_bpe(counts, n_merges, alphabet)
    assert merges == merges_of(theirs)
    assert len(merges) == n_merges
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    for word in counts:
        assert apply_bpe(word, ranks) == [token.value for token in theirs.model.tokenize(word)]


def check_wordpiece(tokenizer, texts):
    backend = tokenizer._backend
    words = {
        word
        for text in texts
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(
            backend.normalizer.normalize_str(text)
        )
    }
    assert words
    for word in words:
        assert apply_wordpiece(word, tokenizer.vocab) == tokenizer.tokenize(word)


@given(words=st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 9), min_size=1))
def test_merges_of_small_alphabets_where_ties_and_overlaps_abound(words):
    theirs = tokenizers.Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    size = len({c for word in words for c in word}) + 8
    text = " ".join(word for word, count in words.items() for _ in range(count))
    theirs.train_from_iterator(
        [text], trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=[])
    )
    wanted = merges_of(theirs)
    assert learn_bpe(words, len(wanted)) == wanted
    ranks = {pair: rank for rank, pair in enumerate(wanted)}
    for word in words:
        assert apply_bpe(word, ranks) == [token.value for token in theirs.model.tokenize(word)]


@given(word=st.text("abc☃", max_size=9), vocab=st.sets(st.text("#abc", min_size=1, max_size=4)))
def test_wordpieces_of_any_vocabulary(word, vocab):
    vocab |= {"[UNK]"}
    theirs = models.WordPiece(
        {token: i for i, token in enumerate(sorted(vocab))}, unk_token="[UNK]"
    )
    assert apply_wordpiece(word, vocab) == [token.value for token in theirs.tokenize(word)]


SOME = [
    "We the People of the United States, in Order to form a more perfect Union,",
    "establish Justice, insure domestic Tranquility, provide for the common defence,",
    "promote the general Welfare, and secure the Blessings of Liberty",
]


def test_a_sentence():
    check_bpe(SOME, 60)
    check_wordpiece(train_wordpiece(SOME, 80), SOME)


@pytest.fixture(scope="module")
def speeches():
    return [speech.text for speech in sotu.load()[::12]]


@pytest.mark.slow
def test_every_word_of_each_twelfth_speech(speeches):
    check_bpe(speeches, 500)
    check_wordpiece(train_wordpiece(speeches, 2000), speeches)


@pytest.mark.slow
def test_every_word_of_cantonese_talk_in_the_chinese_vocabulary():
    texts = {" ".join(utterance.words) for utterance in hkcancor.load()}
    check_wordpiece(wordpiece_tokenizer(zh_vocab.load()), texts)


@pytest.mark.slow
def test_bert_of_transformers(speeches):
    vocab = zh_vocab.load()
    ours = wordpiece_tokenizer(vocab)
    theirs = transformers.BertTokenizerFast(vocab={token: i for i, token in enumerate(vocab)})
    talk = ["".join(utterance.words) for utterance in hkcancor.load()[:300]]
    english = [s for text in speeches[:5] for s in sotu.split_sentences(text)][:300]
    odd = [
        "",
        "é E\u0301 ñ",
        "👍 👩‍👧",
        "[MASK]中[SEP]",
        "a" * 101,
        "\u3000\u2028\x00",
        "I'm. . ok",
    ]
    for texts, pairs in ((talk, english), (english, None), (odd, odd[::-1])):
        texts = texts[: len(pairs)] if pairs else texts
        for side in ("right", "left"):
            batch = ours(texts, pairs, max_length=24, padding_side=side)
            wanted = theirs(
                texts,
                pairs,
                max_length=24,
                truncation=True,
                padding=True,
                padding_side=side,
                return_tensors="pt",
            )
            for name in ("input_ids", "attention_mask", "token_type_ids"):
                assert batch[name].tolist() == wanted[name].tolist()
            for row in batch["input_ids"]:
                # Their decode also mends the blanks before marks: see wordpiece_tokenizer.
                assert ours.tokens(row) == theirs.convert_ids_to_tokens(row)
    assert ours.special_ids == tuple(sorted(theirs.all_special_ids))
