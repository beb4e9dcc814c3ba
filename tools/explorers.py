"""What the explorers on the site need beside their scripts: models, vocabularies, still pictures.

Called by tools/build_site.py. The models are those of `attnbook.trained`; nothing is trained here.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from attnbook import blank_filling, guessing, plots, pronouncing, trained, writing
from attnbook.plots.word_map import word_map
from attnbook.rollout import attention_rollout
from attnbook.trained import (
    Recipe,
    bert_sotu,
    cbow_sotu,
    gpt_shakespeare,
    letters_to_phones,
    vit_mnist5k,
)
from attnbook.trained.keep import WEIGHTS
from toc import ROOT

SCRIPTS = ("engine", "explorers")  # folders of book/, which go to the site as they are
EXTRA = ROOT / "build" / "site"  # its contents land beside index.html: html_extra_path
STILLS = EXTRA / "explorers" / "stills"


@dataclasses.dataclass(frozen=True)
class Explorer:
    """One model on the site.

    Args:
        recipe: of the model.
        about: what its script gets beside the weights.
        still: the picture that stands there until a reader opens it.
        button: what opens it.
        alt: what the picture shows.
    """

    recipe: Recipe
    about: Callable[[nn.Module], dict[str, Any]]
    still: Callable[[nn.Module], Figure]
    button: str
    alt: str


def _drawn_words() -> dict[str, list[str]]:
    return {name: words[: guessing.DRAWN] for name, words in guessing.GROUPS.items()}


def _places(model: nn.Module) -> Tensor:
    vocabulary = cbow_sotu.load().vocabulary
    drawn = [vocabulary.index(word) for words in _drawn_words().values() for word in words]
    return guessing.flattened(model.tokens.weight.detach(), torch.tensor(drawn))


def _words(model: nn.Module) -> dict[str, Any]:
    vocabulary, counts = cbow_sotu.load()[:2]
    return {
        "config": dataclasses.asdict(model.config),
        "words": vocabulary,
        "counts": [counts[word] for word in vocabulary],
        "places": [[round(x, 4) for x in place] for place in _places(model).tolist()],
        "groups": _drawn_words(),
    }


def _words_still(model: nn.Module) -> Figure:
    vocabulary, places = cbow_sotu.load().vocabulary, _places(model)
    groups = {
        name: (places[[vocabulary.index(word) for word in words]], words)
        for name, words in _drawn_words().items()
    }
    return word_map(groups, xlabel="first component", ylabel="second component")[0]


def _letters(model: nn.Module) -> dict[str, Any]:
    special = ["[PAD]", "[BOS]", "[EOS]"]
    return {
        "config": dataclasses.asdict(model.config),
        "letters": [*special, *pronouncing.LETTERS],
        "phonemes": [*special, *pronouncing.PHONEMES],
        "bos": pronouncing.BOS,
        "eos": pronouncing.EOS,
    }


def _letters_still(model: nn.Module) -> Figure:
    word = "attention"
    letters = pronouncing.letter_ids([word])
    [written] = pronouncing.greedy_phonemes(model, letters)
    target = torch.tensor([[pronouncing.BOS, *written]])
    with torch.inference_mode():
        _, _, cross = model(letters, target, need_weights=True)
    rows = [*pronouncing.phoneme_names(written), "end"]
    return plots.attention_map(cross[-1][0].mean(dim=0), rows, list(word), values=False)[0]


def _blanks(model: nn.Module) -> dict[str, Any]:
    pieces = json.loads(blank_filling.VOCABULARY.read_text(encoding="utf-8"))
    return {"config": dataclasses.asdict(model.bert.config), "pieces": pieces}


def _blanks_still(model: nn.Module) -> Figure:
    tokenizer = blank_filling.load_tokenizer()
    ids = tokenizer(["the state of our union is [MASK], and our people are free."])["input_ids"]
    with torch.inference_mode():
        vectors, weights = model.bert(ids, need_weights=True)
        logits = model.masked(vectors)[0]  # (T, V)
    tokens = tokenizer.tokens(ids[0].tolist())
    best = tokenizer.tokens(logits[tokens.index("[MASK]")].topk(3).indices.tolist())
    title = "[MASK]: " + ", ".join(best)
    return plots.attention_map(
        weights[-1][0].mean(dim=0), tokens, tokens, values=False, title=title
    )[0]


def _text(model: nn.Module) -> dict[str, Any]:
    tokenizer = writing.load().tokenizer
    characters = tokenizer.tokens(list(range(len(tokenizer.vocab))))
    return {
        "config": dataclasses.asdict(model.config),
        "characters": characters,
        "bos": tokenizer.vocab["[BOS]"],
    }


def _text_still(model: nn.Module) -> Figure:
    task = writing.load()
    text = "To be, or not to be"
    ids = task.tokenizer([text], add_special_tokens=False)["input_ids"]
    bos = torch.full((1, 1), task.bos)
    with torch.inference_mode():
        _, weights = model(torch.cat((bos, ids), dim=1), need_weights=True)
    seen = ["BOS", *text.replace(" ", "␣")]
    return plots.attention_map(weights[-1][0].mean(dim=0), seen, seen, values=False)[0]


def _digit(model: nn.Module) -> dict[str, Any]:
    return {"config": dataclasses.asdict(model.config)}


def _digit_still(model: nn.Module) -> Figure:
    image = torch.zeros(1, 1, *model.config.image_size)
    image[..., 7:10, 9:19] = image[..., 10:21, 15:18] = 1  # a seven of two strokes
    with torch.inference_mode():
        _, weights = model(image, need_weights=True)
    rows, columns = model.config.grid
    shares = attention_rollout(weights)[0, 0, 1:].unflatten(0, (rows, columns))
    names = [str(i + 1) for i in range(max(rows, columns))]
    return plots.attention_map(
        shares / shares.max(), names[:rows], names[:columns], values=False,
        title="Where it looked in a drawn 7: rows and columns of patches",
    )[0]  # fmt: skip


EXPLORERS = (
    Explorer(
        cbow_sotu.RECIPE,
        _words,
        _words_still,
        "Open: find the neighbours of a word",
        "Map of words: months, numbers and countries form three clouds, the word may stands apart",
    ),
    Explorer(
        letters_to_phones.RECIPE,
        _letters,
        _letters_still,
        "Open: say a word",
        "Attention map of the word attention: one row a phoneme, one column a letter, "
        "dark cells along the diagonal",
    ),
    Explorer(
        bert_sotu.RECIPE,
        _blanks,
        _blanks_still,
        "Open: blank a word",
        "Attention map of a sentence with a blank, words against words, and above it the three "
        "likeliest fillings",
    ),
    Explorer(
        gpt_shakespeare.RECIPE,
        _text,
        _text_still,
        "Open: write on",
        "Attention map of To be, or not to be: each character looks at those before it, the upper "
        "triangle is empty",
    ),
    Explorer(
        vit_mnist5k.RECIPE,
        _digit,
        _digit_still,
        "Open: draw a digit",
        "A grid of seven by seven patches, darker where the answer for a drawn seven took more "
        "from",
    ),
)


def prepare() -> None:
    """Put engine, explorers, models and pictures into the folder whose contents join the site."""
    for name in SCRIPTS:
        shutil.copytree(ROOT / "book" / name, EXTRA / name)
    models = EXTRA / "explorers" / "models"
    models.mkdir()
    STILLS.mkdir()
    for explorer in EXPLORERS:
        name, model = explorer.recipe.name, trained.load(explorer.recipe)
        shutil.copy(WEIGHTS / f"{name}.safetensors", models)
        about = json.dumps(explorer.about(model), ensure_ascii=False)
        (models / f"{name}.json").write_text(about, encoding="utf-8")
        figure = explorer.still(model)
        figure.savefig(STILLS / f"{name}.png", dpi=120, facecolor="white", bbox_inches="tight")
