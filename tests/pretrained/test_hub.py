"""The hub with stand-ins: what is asked of it, what is refused, and what the errors say."""

import importlib.metadata
import inspect
import json
import re
import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from attnbook.pretrained.hub import REVISIONS, HubError, from_hub, hub_file

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(folder, file):
    folder.mkdir(parents=True, exist_ok=True)
    if file.endswith(".json"):
        (folder / file).write_text(json.dumps({"hidden_size": 3, "name": "é"}), encoding="utf-8")
    else:
        save_file({"wte.weight": torch.arange(6.0).view(2, 3)}, folder / file)
    return folder / file


@pytest.fixture
def calls(tmp_path, root, monkeypatch):
    """Stands for huggingface_hub: writes what it is asked for, and notes it."""
    asked = []

    def hf_hub_download(repo_id, filename, *, revision):
        asked.append((repo_id, filename, revision))
        return str(write(tmp_path / "their cache", filename))

    stand_in = SimpleNamespace(hf_hub_download=hf_hub_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", stand_in)
    return asked


def test_configuration_and_weights_of_one_commit(calls):
    config, weights = from_hub("some-one/a.model", COMMIT)
    assert config == {"hidden_size": 3, "name": "é"}
    assert weights["wte.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert calls == [
        ("some-one/a.model", file, COMMIT) for file in ("config.json", "model.safetensors")
    ]


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("bert-base-uncased", "google-bert/bert-base-uncased"),
        ("bert-base-chinese", "google-bert/bert-base-chinese"),
        ("gpt2", "openai-community/gpt2"),
        *((full, full) for full in REVISIONS),
    ],
)
def test_the_pinned_models_need_no_revision_and_take_another(calls, name, full):
    hub_file(name, "tokenizer.json")
    hub_file(name, "tokenizer.json", COMMIT)
    assert calls == [(full, "tokenizer.json", REVISIONS[full]), (full, "tokenizer.json", COMMIT)]


def test_the_pins_are_full_commits():
    assert len(set(REVISIONS.values())) == len(REVISIONS) == 4
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in REVISIONS.values())


def test_files_put_there_by_hand_come_before_the_hub(root, calls):
    folder = root / "hub" / "openai-community--gpt2" / COMMIT
    path = write(folder, "tokenizer.json")
    assert hub_file("gpt2", "tokenizer.json", COMMIT) == path
    write(folder, "config.json")
    write(folder, "model.safetensors")
    from_hub("gpt2", COMMIT)
    assert calls == []
    assert hub_file("gpt2", "tokenizer.json") != path  # of another commit
    assert len(calls) == 1


def test_without_a_network_the_error_says_what_to_do(root, calls, monkeypatch):
    def fail(*args, **kwargs):
        raise ConnectionError("no route")

    monkeypatch.setattr(sys.modules["huggingface_hub"], "hf_hub_download", fail)
    with pytest.raises(HubError) as caught:
        from_hub("gpt2")
    said, commit = str(caught.value), REVISIONS["openai-community/gpt2"]
    assert "config.json of openai-community/gpt2 could not be had: ConnectionError: no rou" in said
    assert (
        "\n    hf download openai-community/gpt2 config.json model.safetensors "
        f"--revision {commit} --local-dir .\n"
    ) in said
    assert said.endswith(f"\n    {root / 'hub' / 'openai-community--gpt2' / commit}")
    with pytest.raises(HubError, match=r"download some/model tokenizer\.json --revision 0123"):
        hub_file("some/model", "tokenizer.json", COMMIT)
    assert not root.exists()


def test_without_the_package_the_error_says_so(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubError, match=r"huggingface_hub is missing \(pip install hugg") as caught:
        from_hub("gpt2")
    assert str(root / "hub") in str(caught.value)


def test_the_package_has_the_command_and_the_function():
    package = pytest.importorskip("huggingface_hub")
    scripts = importlib.metadata.distribution("huggingface_hub").entry_points
    assert "hf" in {script.name for script in scripts}
    inspect.signature(package.hf_hub_download).bind("a/b", "config.json", revision=COMMIT)


@pytest.mark.parametrize(
    ("file", "content"),
    [("config.json", b"{"), ("config.json", b"\xff"), ("model.safetensors", b"\x80\x04 a pickle")],
)
def test_damaged_files(root, calls, file, content):
    folder = root / "hub" / "some--model" / COMMIT
    write(folder, "config.json")
    write(folder, "model.safetensors")
    (folder / file).write_bytes(content)
    with pytest.raises(HubError, match=r"some/model: the files in .* cannot be read"):
        from_hub("some/model", COMMIT)


@pytest.mark.parametrize(
    "file", ["pytorch_model.bin", "model.pt", "../x.json", "a/b.json", "model.safetensors.bin", ""]
)
def test_only_safetensors_and_json(calls, file):
    with pytest.raises(ValueError, match=r"file must end in \.safetensors or \.json"):
        hub_file("gpt2", file)
    assert calls == []


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT[:7], COMMIT.upper(), COMMIT + "0", ""])
def test_only_a_full_commit(calls, revision):
    with pytest.raises(ValueError, match="revision must be a full commit, 40 hexadecimal digits"):
        from_hub("gpt2", revision)
    assert calls == []


def test_names(calls):
    with pytest.raises(ValueError, match="revision must be given for some/model"):
        from_hub("some/model")
    for name in ("bert", "a/b/c", "../gpt2", "/x", "", "a/..", "-x/y"):
        with pytest.raises(ValueError, match="name must be 'owner/model' or one of bert-base-unc"):
            from_hub(name, COMMIT)
    assert calls == []
