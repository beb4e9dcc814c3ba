"""Home Assistant: what the devices of a house say in English, and how people translated it.

Source: Home Assistant 2024.3.3 and its volunteer translators, the files `translations/*.json` of
its components; Apache-2.0.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnbook import checks
from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.sides import side

LANGUAGES = ("de", "fr", "ja", "zh-Hans")

# Found once: the first whole number with which validation and test each come within one point of
# 10 % of the English texts.
_SALT = "0:"

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class Pair:
    """An English text, and its translations, each once, in the order in which they were met.

    Most have one. "Clear" has three, since it is said of the sky and of a list. The name inside a
    placeholder is taken out: `{}` stands for `{host}`.

    Chapter: 11_training
    """

    english: str
    translations: tuple[str, ...]


def load(language: str = "de") -> list[Pair]:
    """Read the pairs, fetching them on the first use: for German 13,428 English texts.

    Texts with the same key in the files of both languages belong together. Files come in order of
    their names, texts in the order of the English file; a text that comes again is dropped.

    Args:
        language: "de", "fr", "ja" or "zh-Hans".

    Raises:
        DataError: the set cannot be had, or a file is not as it should be.
        ValueError: another language.

    Source: Home Assistant, Apache-2.0.

    Chapter: 11_training
    """
    checks.choice("language", language, LANGUAGES)
    found: dict[str, dict[str, None]] = {}  # the inner one as a set that keeps order
    for path in sorted((fetch("homeassistant") / "homeassistant").rglob("*en.json")):
        other = path.with_name(path.name.removesuffix("en.json") + f"{language}.json")
        if not other.exists():
            continue
        english, translated = dict(_texts(path)), dict(_texts(other))
        for key, text in english.items():
            if key in translated and text and translated[key]:
                found.setdefault(text, {})[translated[key]] = None
    return [Pair(text, tuple(others)) for text, others in found.items()]


def split(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Part the pairs into train, validation and test, about 80, 10 and 10 % of the English texts.

    The side follows from the SHA-256 of the English text alone, so that it never moves. Capitals
    and digits are evened out first: "Plug 4" is on the side of "Plug 5".

    Chapter: 11_training
    """
    sides: tuple[list[Pair], ...] = ([], [], [])
    for pair in pairs:
        sides[side(_SALT + re.sub(r"\d+", "0", pair.english.casefold()))].append(pair)
    return sides


def _texts(path: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each text of a file with the names that lead to it, blanks made one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for key, text in _leaves(content):
            yield key, _PLACEHOLDER.sub("{}", " ".join(text.split()))
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read as texts under names: {error}") from error


def _leaves(node: Any, key: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(node, str):
        yield key, node
        return
    for name, below in node.items():
        yield from _leaves(below, (*key, name))
