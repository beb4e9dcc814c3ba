"""Texts of one key belong together, each pair comes once, and its side does not move."""

import json

import pytest

from attnbook.data import homeassistant
from attnbook.data.archive import DataError
from attnbook.data.homeassistant import Pair, load, split

FILES = {
    "hue/translations/en.json": {
        "config": {"abort": {"done": "Done"}, "title": "Find a\n  {bridge}"},
        "entity": {"done": "Done", "only": "Only English", "empty": "Empty"},
    },
    "hue/translations/de.json": {
        "config": {"abort": {"done": "Fertig"}, "title": "Eine {brücke} suchen"},
        "entity": {"done": "Erledigt", "other": "Nur deutsch", "empty": ""},
    },
    "hue/translations/ja.json": {"entity": {"done": "完了"}},
    "moon/translations/sensor.en.json": {"state": {"done": "Done", "full": "Full moon"}},
    "moon/translations/sensor.de.json": {"state": {"done": "Fertig", "full": "Vollmond"}},
    "sun/translations/en.json": {"state": "Up"},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        path = tmp_path / "homeassistant" / "components" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setattr(homeassistant, "fetch", lambda name: tmp_path)
    return tmp_path


def test_texts_of_one_key_belong_together_and_each_comes_once(folder):
    assert load() == [
        Pair("Done", ("Fertig", "Erledigt")),  # three keys, two translations
        Pair("Find a {}", ("Eine {} suchen",)),
        Pair("Full moon", ("Vollmond",)),
    ]
    assert load("ja") == [Pair("Done", ("完了",))]
    assert load("fr") == []


def test_another_language(folder):
    with pytest.raises(ValueError, match=r"language must be one of 'de', 'fr', .* not 'it'"):
        load("it")


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 3}', '"a'])
def test_a_file_that_is_none(folder, content):
    path = folder / "homeassistant/components/hue/translations/de.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"de\.json: cannot be read as texts under names"):
        load()


def test_the_sides_do_not_move_and_digits_and_capitals_do_not_matter():
    texts = ("Plug 4", "plug 17", "Door", "Charging", "Wind speed")
    train, valid, test = split([Pair(text, ("x",)) for text in texts])
    assert [[p.english for p in side] for side in (train, valid, test)] == SIDES


SIDES = [["Plug 4", "plug 17", "Door"], ["Wind speed"], ["Charging"]]


# From here on the set itself


@pytest.mark.slow
def test_the_set_has_its_known_size():
    pairs = load()
    assert len(pairs) == len({pair.english for pair in pairs}) == 13_428
    assert sum(len(pair.translations) for pair in pairs) == 13_592
    assert [len(side) for side in split(pairs)] == [10_706, 1_373, 1_349]
    assert [len(load(language)) for language in ("fr", "ja", "zh-Hans")] == [8_728, 13_409, 10_078]


@pytest.mark.slow
def test_a_text_with_three_translations():
    (pair,) = (pair for pair in load() if pair.english == "Charging")
    assert pair.translations == ("Aufladen", "Lädt auf", "Lädt")
