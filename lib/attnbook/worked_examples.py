"""Learning from examples in the text: rows of questions and answers of many tasks.

Two kinds of task share one vocabulary. A *letter map* is a secret alphabet drawn for its row: what
a letter turns into can only be read off the row. A *translation* is always the same words: what a
row tells is which language is asked for. Chapter 15 explains them; its longer training
(`attnbook.trained.in_context`) takes the same rows, loss and score.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook import checks
from attnbook.objectives.labels import mean_nll

LETTERS = "abcdefghijklmnop"
LANGUAGES = ("English", "German", "French", "Spanish")
WORDS = tuple(
    tuple(line.split())
    for line in """
    house Haus maison casa
    tree Baum arbre árbol
    water Wasser eau agua
    sun Sonne soleil sol
    moon Mond lune luna
    star Stern étoile estrella
    hand Hand main mano
    eye Auge œil ojo
    heart Herz cœur corazón
    bread Brot pain pan
    milk Milch lait leche
    apple Apfel pomme manzana
    dog Hund chien perro
    cat Katze chat gato
    horse Pferd cheval caballo
    bird Vogel oiseau pájaro
    fish Fisch poisson pez
    book Buch livre libro
    door Tür porte puerta
    key Schlüssel clé llave
    day Tag jour día
    night Nacht nuit noche
    king König roi rey
    girl Mädchen fille niña
    """.strip().splitlines()
)
# [examples] tells nothing of the task; each of the others names the language that is asked for.
STARTS = ("[examples]", *(f"[to {language}]" for language in LANGUAGES))
# Tokens: what it says, for each id. A word carries its language, for "Hand" is a word of two.
TOKENS = (*STARTS, *LETTERS, *(f"{w}" for row in WORDS for w in row))
_FIRST_LETTER, _FIRST_WORD = len(STARTS), len(STARTS) + len(LETTERS)
EXAMPLES = 12  # questions a row
_ASKED = (2, 3, 4, 6)  # letters of a row in training: few of them come again soon
# From, to: never met in training, though each language is met on either side.
HELD_OUT = ((1, 2), (3, 0))
DIRECTIONS = tuple(pair for pair in permutations(range(4), 2) if pair not in HELD_OUT)


class Examples(NamedTuple):
    """Rows [start] question answer question answer … question, and all their answers.

    Args:
        ids: what the model reads, shape (B, 2 n): the questions stand at the odd places.
        answers: the n answers, (B, n); the last one is not in ids.

    Chapter: 15_in_context
    """

    ids: Int[Tensor, "B T"]
    answers: Int[Tensor, "B n"]


def _rows(start: Tensor, questions: Tensor, answers: Tensor) -> Examples:
    pairs = torch.stack((questions, answers), dim=-1).flatten(1)  # (B, n, 2) -> (B, 2 n)
    return Examples(torch.cat((start[:, None], pairs), dim=1)[:, :-1], answers)


def random_maps(n: int, generator: torch.Generator) -> Int[Tensor, "n 16"]:
    """n secret alphabets: what each letter turns into, another order of the same letters.

    Raises:
        ValueError: an n below 1.

    Chapter: 15_in_context
    """
    checks.positive(n=n)
    return torch.rand(n, len(LETTERS), generator=generator).argsort(dim=1)


def letter_maps(
    maps: Int[Tensor, "B 16"], generator: torch.Generator, *, letters: int = 6
) -> Examples:
    """A row for each map: 12 questions about a few letters, so that letters come again.

    Args:
        maps: what each letter turns into, such as `random_maps` gives.
        generator: draws the letters of each row, and the questions.
        letters: different letters a row that can be asked about, at most 16.

    Raises:
        ValueError: letters outside 1 … 16.

    Chapter: 15_in_context
    """
    checks.positive(letters=letters)
    checks.at_most("letters", letters, len(LETTERS))
    chosen = random_maps(len(maps), generator)[:, :letters]  # (B, letters)
    which = torch.randint(letters, (len(maps), EXAMPLES), generator=generator)
    asked = chosen.gather(1, which)  # (B, n)
    start = torch.zeros(len(maps), dtype=torch.long)
    return _rows(start, asked + _FIRST_LETTER, maps.gather(1, asked) + _FIRST_LETTER)


def translations(
    directions: Int[Tensor, "B 2"], generator: torch.Generator, *, told: float = 0.0
) -> Examples:
    """A row for each direction: 12 different words of one language, answered in another.

    Args:
        directions: the languages of question and answer, 0 … 3, such as rows of `DIRECTIONS`.
        generator: draws the words.
        told: the share of rows whose first token names the language of the answers.

    Raises:
        ValueError: a share outside [0, 1], or languages that there are not.

    Chapter: 15_in_context
    """
    checks.ids("directions", directions, len(LANGUAGES))
    if not 0 <= told <= 1:
        raise ValueError(f"told must be from 0 to 1, not {told}")
    B = len(directions)
    words = torch.rand(B, len(WORDS), generator=generator).argsort(dim=1)[:, :EXAMPLES]  # (B, n)
    tokens = _FIRST_WORD + len(LANGUAGES) * words
    named = torch.rand(B, generator=generator) < told
    start = torch.where(named, 1 + directions[:, 1], 0)
    return _rows(start, tokens + directions[:, :1], tokens + directions[:, 1:])


class ExampleBatches:
    """Endless batches of new rows, the same ones each time they are gone through.

    A third of a batch are translations in the trained directions, half of them with the language
    told; the others are letter maps about 2, 3, 4 or 6 letters.

    Args:
        rows: rows B a batch, at least 3.
        seed: of all that is drawn.
        maps: how many letter maps there are in all; with None, each row has a new one.

    Raises:
        ValueError: fewer than 3 rows, or maps below 1.

    Source: Brown et al. 2020, section 2 (instruction and examples); Raventós et al. 2023 (`maps`).
    Chapter: 15_in_context
    """

    def __init__(self, rows: int, seed: int, *, maps: int | None = None) -> None:
        if rows < 3:
            raise ValueError(f"rows must be at least 3, of both kinds of task, not {rows}")
        self.rows, self.seed = rows, seed
        self.maps = None if maps is None else random_maps(maps, _generator(seed))

    def __iter__(self) -> Iterator[Examples]:
        generator = _generator(self.seed + 1)
        directions, n = torch.tensor(DIRECTIONS), self.rows // 3
        while True:
            drawn = torch.randint(len(directions), (n,), generator=generator)
            words = translations(directions[drawn], generator, told=0.5)
            letters = _ASKED[int(torch.randint(len(_ASKED), (), generator=generator))]
            maps = self.drawn(self.rows - n, generator)
            mapped = letter_maps(maps, generator, letters=letters)
            yield Examples(*(torch.cat(both) for both in zip(words, mapped, strict=True)))

    def drawn(self, n: int, generator: torch.Generator) -> Int[Tensor, "n 16"]:
        """n of the maps that are trained on."""
        if self.maps is None:
            return random_maps(n, generator)
        return self.maps[torch.randint(len(self.maps), (n,), generator=generator)]


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def answers_loss(model: nn.Module, batch: Examples) -> Tensor:
    """The mean of -ln P(answer), of a GPT: only answers are asked for, questions are chance.

    Chapter: 15_in_context
    """
    return mean_nll(model(batch.ids)[0][:, 1::2], batch.answers)


@torch.no_grad()
def answered_right(model: nn.Module, batch: Examples) -> Float[Tensor, "B n"]:
    """1 where the most probable token is the answer, else 0: column i has seen i examples.

    Chapter: 15_in_context
    """
    return (model(batch.ids)[0][:, 1::2].argmax(dim=-1) == batch.answers).float()


def shown_before(batch: Examples) -> Tensor:
    """(B, n): True where the same question stood further left in its row.

    Chapter: 15_in_context
    """
    asked = batch.ids[:, 1::2]  # (B, n)
    same = asked[:, :, None] == asked[:, None, :]  # (B, n, n)
    return same.tril(diagonal=-1).any(dim=-1)
