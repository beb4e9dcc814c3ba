"""Each of the 21,128 tokens has the id that BERT gave it."""

import pytest

from attnbook.data import zh_vocab
from attnbook.data.zh_vocab import load


def test_only_a_line_feed_ends_a_token(tmp_path, monkeypatch):
    folder = tmp_path / "cn_clip" / "clip"
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_bytes("[PAD]\n\u2028\n##\u2028\n \r\n中\n".encode())
    monkeypatch.setattr(zh_vocab, "fetch", lambda name: tmp_path)
    assert load() == ["[PAD]", "\u2028", "##\u2028", " \r", "中"]


@pytest.mark.slow
def test_the_vocabulary_as_it_is():
    vocab = load()
    assert len(vocab) == len(set(vocab)) == 21_128
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert [vocab.index(name) for name in names] == [0, 100, 101, 102, 103]
    assert (vocab[343], vocab[13_502], vocab[-1]) == ("\u2028", "##\u2028", "##😎")
    assert (vocab.index("一"), vocab.index("我")) == (671, 2769)
    assert [t for t in vocab if t != t.lower()] == [*names, "<S>", "<T>"]
