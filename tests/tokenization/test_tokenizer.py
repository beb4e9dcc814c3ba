"""One interface: what comes out of a batch, whatever cuts the texts."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.tokenization.subwords import train_bpe
from attnbook.tokenization.tokenizer import Tokenizer

LETTERS = st.text("abcdefg", max_size=12)
BATCHES = st.lists(LETTERS, min_size=1, max_size=4)
PAIRS = st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=4)


@pytest.fixture(params=["characters", "bpe", "wordpiece"])
def tokenizer(request):
    return request.getfixturevalue(request.param)


def spread(letters):
    """Each letter a word, so that WordPiece has as many tokens as letters."""
    return " ".join(letters)


def rows(batch):
    """The real tokens of each row."""
    return [
        ids[mask].tolist()
        for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
    ]


def test_a_batch_by_hand(wordpiece):
    batch = wordpiece(["new!", "a"], ["b 中", ""])
    cls, sep, new, mark, a, b, zh = (
        wordpiece.vocab[token] for token in ("[CLS]", "[SEP]", "new", "!", "a", "b", "中")
    )
    assert batch["input_ids"].tolist() == [
        [cls, new, mark, sep, b, zh, sep],
        [cls, a, sep, sep, 0, 0, 0],
    ]
    assert batch["attention_mask"].tolist() == [[True] * 7, [True] * 4 + [False] * 3]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0]]
    assert batch["input_ids"].dtype == batch["token_type_ids"].dtype == torch.long
    assert batch["attention_mask"].dtype == torch.bool


def test_one_text_is_framed_and_of_one_type(tokenizer):
    batch = tokenizer(["new"])
    first, *_, last = tokenizer.tokens(batch["input_ids"][0])
    assert (first, last) in [("[CLS]", "[SEP]"), ("[BOS]", "[EOS]")]
    assert not batch["token_type_ids"].any()
    assert tokenizer.decode(batch["input_ids"][0]) == "new"
    framed = tokenizer.decode(batch["input_ids"][0], skip_special_tokens=False)
    assert framed.replace(" ", "") == f"{first}new{last}"


def test_padding_that_is_also_the_end_is_told_by_its_place():
    """As in GPT-2: the end of a text counts, the padding behind it does not."""
    tokenizer = Tokenizer(train_bpe(["a b"], 259)._backend, pad="[EOS]")
    batch = tokenizer(["a", "aaa"])
    assert batch["input_ids"][0, 2:].tolist() == [tokenizer.vocab["[EOS]"]] * 3
    assert batch["attention_mask"][0].tolist() == [True, True, True, False, False]


@given(batch=BATCHES, length=st.integers(3, 20), special=st.booleans())
def test_both_paddings_hold_the_same_rows(wordpiece, batch, length, special):
    texts = [spread(letters) for letters in batch]
    options = {"max_length": length, "add_special_tokens": special}
    right = wordpiece(texts, **options)
    left = wordpiece(texts, **options, padding_side="left")
    full = wordpiece(texts, **options, padding="max_length")
    assert rows(right) == rows(left) == rows(full)
    longest = max(map(len, rows(right)))
    assert right["input_ids"].shape == left["input_ids"].shape == (len(texts), longest)
    assert {x.shape for x in full.values()} == {(len(texts), length)}
    for sided, start in ((right, 0), (left, -1)):
        for row, (ids, mask) in enumerate(
            zip(sided["input_ids"], sided["attention_mask"], strict=True)
        ):
            n = len(rows(right)[row])
            assert mask[start] if n else not mask.any()
            assert mask.sum() == n
            assert (mask.diff().sum() <= 1).all()  # one block
            assert (ids[~mask] == wordpiece.pad_id).all()


@given(batch=BATCHES, length=st.integers(3, 20))
def test_a_text_is_cut_from_its_end(wordpiece, batch, length):
    for letters, row in zip(
        batch, rows(wordpiece(list(map(spread, batch)), max_length=length)), strict=True
    ):
        assert wordpiece.decode(row) == spread(letters[: length - 2])
        assert wordpiece.tokens(row)[0] == "[CLS]"
        assert wordpiece.tokens(row)[-1] == "[SEP]"


def kept(n, m, room):
    """How much of two texts is kept, one token cut after the other from the longer one."""
    longer_is_first = n > m
    while n + m > room:
        if n > m or (n == m and not longer_is_first):
            n -= 1
        else:
            m -= 1
    return n, m


@given(batch=PAIRS, length=st.integers(5, 20))
def test_of_a_pair_the_longer_text_is_cut_first(wordpiece, batch, length):
    texts, pairs = ([spread(pair[i]) for pair in batch] for i in (0, 1))
    out = wordpiece(texts, pairs, max_length=length)
    for i, (a, b) in enumerate(batch):
        n, m = kept(len(a), len(b), length - 3)
        mask, types = out["attention_mask"][i], out["token_type_ids"][i]
        ids = out["input_ids"][i]
        assert wordpiece.decode(ids[mask & (types == 0)]) == spread(a[:n])
        assert wordpiece.decode(ids[mask & (types == 1)]) == spread(b[:m])
        assert mask.sum() == n + m + 3
        assert not types[~mask].any()


def test_a_call_does_not_change_the_next(tokenizer):
    plain = tokenizer(["new", "a"])
    tokenizer(["new"], max_length=3, padding="max_length", padding_side="left")
    again = tokenizer(["new", "a"])
    assert all(torch.equal(plain[name], again[name]) for name in plain)
    tokenizer(["new"], max_length=4, padding="max_length")
    assert "[PAD]" not in tokenizer.tokenize("a")
    tokenizer(["new"], max_length=3)
    assert "".join(tokenizer.tokenize("lowest")).replace("##", "") == "lowest"


def test_settings_that_came_with_the_backend_are_not_used():
    """Files of tokenizers carry the lengths of their models."""
    backend = train_bpe(["a b"], 259)._backend
    backend.enable_truncation(2)
    backend.enable_padding(length=9)
    tokenizer = Tokenizer(backend)
    assert tokenizer.tokenize("abc") == ["a", "b", "c"]
    assert tokenizer(["abc"])["input_ids"].shape == (1, 5)


def test_empty_texts(tokenizer):
    batch = tokenizer(["", ""])
    assert batch["input_ids"].shape == (2, 2)
    assert batch["attention_mask"].all()
    bare = tokenizer(["", ""], add_special_tokens=False)
    assert {x.shape for x in bare.values()} == {(2, 0)}
    assert bare["input_ids"].dtype == torch.long
    assert tokenizer.tokenize("") == []
    assert tokenizer.decode([]) == tokenizer.decode(batch["input_ids"][0]) == ""
    assert tokenizer.decode(bare["input_ids"][0]) == ""


def test_the_special_ids_are_those_that_are_no_text(tokenizer):
    names = tokenizer.tokens(tokenizer.special_ids)
    assert names[0] == "[PAD]"
    assert tokenizer.pad_id == tokenizer.special_ids[0] == 0
    assert all(name.startswith("[") and name.endswith("]") for name in names)
    assert tokenizer.decode(tokenizer.special_ids) == ""
    others = set(tokenizer.vocab) - set(names)
    assert len(others) + len(names) == tokenizer.vocab_size
    assert tokenizer.vocab["a"] not in tokenizer.special_ids


@pytest.mark.usefixtures("plain")
class TestBadInput:
    @pytest.mark.parametrize(
        ("texts", "error", "message"),
        [
            ("a text", TypeError, "texts must be a list or tuple of strings, not str"),
            (["a", 1], TypeError, r"texts must hold strings, not 1 \(int\)"),
            ([], ValueError, "texts must hold at least one text"),
            (["a\ud83d"], ValueError, "texts must be well-formed, but .* has half a surrogate"),
        ],
    )
    def test_texts(self, tokenizer, texts, error, message):
        with pytest.raises(error, match=message):
            tokenizer(texts)

    def test_pairs(self, tokenizer):
        with pytest.raises(ValueError, match="pairs must hold 2 texts as texts does, not 1"):
            tokenizer(["a", "b"], ["c"])
        with pytest.raises(TypeError, match="pairs must be a list or tuple of strings, not str"):
            tokenizer(["a", "b"], "cd")

    def test_max_length(self, tokenizer):
        with pytest.raises(
            ValueError, match=r"max_length must be at least 3, for 2 special .* not 2"
        ):
            tokenizer(["a"], max_length=2)
        with pytest.raises(ValueError, match=r"must be at least 5, for 3 special tokens .* not 4"):
            tokenizer(["a"], ["b"], max_length=4)
        with pytest.raises(ValueError, match=r"must be at least 2, for 0 special tokens .* not 1"):
            tokenizer(["a"], ["b"], max_length=1, add_special_tokens=False)
        with pytest.raises(TypeError, match=r"max_length must be an int, not 3\.5"):
            tokenizer(["a"], max_length=3.5)

    def test_padding(self, tokenizer):
        with pytest.raises(ValueError, match="max_length must be given where padding is"):
            tokenizer(["a"], padding="max_length")
        with pytest.raises(ValueError, match="padding must be 'longest' or 'max_length', not True"):
            tokenizer(["a"], padding=True)
        with pytest.raises(ValueError, match="padding_side must be 'right' or 'left', not 'both'"):
            tokenizer(["a"], padding_side="both")

    def test_tokenize(self, tokenizer):
        with pytest.raises(TypeError, match=r"text must hold strings, not \['a'\] \(list\)"):
            tokenizer.tokenize(["a"])

    def test_ids(self, tokenizer):
        for method in (tokenizer.decode, tokenizer.tokens):
            with pytest.raises(ValueError, match="ids must have 1 axis, but its shape is"):
                method(torch.zeros(2, 3, dtype=torch.long))
            with pytest.raises(ValueError, match="ids must lie in 0 …"):
                method([tokenizer.vocab_size])
            with pytest.raises(ValueError, match="ids must lie in 0 …"):
                method([-1])
            with pytest.raises(TypeError, match="ids must hold integers"):
                method(torch.zeros(2))
            with pytest.raises(TypeError, match="ids must hold integers"):
                method([0.5])

    def test_pad(self, bpe):
        with pytest.raises(ValueError, match="pad must be a token of the vocabulary, not '<pad>'"):
            Tokenizer(bpe._backend, pad="<pad>")
