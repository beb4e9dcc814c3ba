import pytest
import torch

from attnbook import worked_examples as task
from attnbook.worked_examples import DIRECTIONS, EXAMPLES, HELD_OUT, LETTERS, TOKENS, WORDS


def draws():
    return torch.Generator().manual_seed(3)


def written(batch):
    """Each row as questions and answers in plain words."""
    questions = batch.ids[:, 1::2].tolist()
    rows = zip(questions, batch.answers.tolist(), strict=True)
    return [[(TOKENS[q], TOKENS[a]) for q, a in zip(*row, strict=True)] for row in rows]


def test_each_word_has_four_names():
    assert len(WORDS) == 24
    assert {len(row) for row in WORDS} == {4}
    for i in range(4):
        assert len({row[i] for row in WORDS}) == 24
    assert len(TOKENS) == 5 + 16 + 96


def test_held_out_directions_are_met_half_each():
    assert len(DIRECTIONS) == 10
    assert not set(DIRECTIONS) & set(HELD_OUT)
    for side in (0, 1):
        assert {pair[side] for pair in DIRECTIONS} == {0, 1, 2, 3}


def test_what_is_read_is_start_questions_and_all_answers_but_the_last():
    batch = task.letter_maps(task.random_maps(5, draws()), draws(), letters=3)
    assert batch.ids.shape == (5, 2 * EXAMPLES)
    assert batch.answers.shape == (5, EXAMPLES)
    assert torch.equal(batch.ids[:, 2::2], batch.answers[:, :-1])
    assert (batch.ids[:, 0] == 0).all()


def test_letters_follow_the_map_of_their_row():
    maps = task.random_maps(5, draws())
    assert all(sorted(row) == list(range(16)) for row in maps.tolist())
    assert len({tuple(row) for row in maps.tolist()}) == 5
    for row, to in zip(
        written(task.letter_maps(maps, draws(), letters=3)), maps.tolist(), strict=True
    ):
        assert len({q for q, _ in row}) <= 3
        assert all(a == LETTERS[to[LETTERS.index(q)]] for q, a in row)


def test_translations_are_those_of_the_list():
    directions = torch.tensor([(0, 1), (2, 3), (3, 0)])
    batch = task.translations(directions, draws())
    assert (batch.ids[:, 0] == 0).all()
    for row, (of, to) in zip(written(batch), directions.tolist(), strict=True):
        assert len({q for q, _ in row}) == EXAMPLES  # no word comes again
        assert all((q, a) in {(w[of], w[to]) for w in WORDS} for q, a in row)


def test_the_start_names_the_language_of_the_answers():
    directions = torch.tensor([(0, 1), (1, 2), (2, 3), (3, 0)])
    starts = task.translations(directions, draws(), told=1.0).ids[:, 0]
    assert [TOKENS[i] for i in starts] == [
        "[to German]", "[to French]", "[to Spanish]", "[to English]",
    ]  # fmt: skip
    half = task.translations(directions.repeat(100, 1), draws(), told=0.5).ids[:, 0]
    assert 150 < (half > 0).sum() < 250


def test_batches_are_of_both_kinds_and_the_same_each_time():
    batches = task.ExampleBatches(11, 7)
    first, again = next(iter(batches)), next(iter(batches))
    assert torch.equal(first.ids, again.ids)
    is_letter = (first.ids[:, 1] >= 5) & (first.ids[:, 1] < 21)
    assert is_letter.tolist() == [False] * 3 + [True] * 8
    stream = iter(batches)
    assert not torch.equal(next(stream).ids, next(stream).ids)
    assert not torch.equal(next(iter(task.ExampleBatches(11, 8))).ids, first.ids)


def test_no_held_out_direction_in_training():
    stream = iter(task.ExampleBatches(60, 7))
    met = set()
    for _ in range(20):
        batch = next(stream)
        for q, a in zip(batch.ids[:20, 1].tolist(), batch.answers[:20, 0].tolist(), strict=True):
            met.add((_language(q), _language(a)))
    assert met == set(DIRECTIONS)


def _language(token):
    return (token - 21) % 4


def test_few_maps_are_drawn_again_and_again():
    batches = task.ExampleBatches(9, 7, maps=2)
    drawn = batches.drawn(50, draws())
    assert {tuple(row) for row in drawn.tolist()} == {tuple(row) for row in batches.maps.tolist()}
    assert len(batches.maps) == 2
    fresh = task.ExampleBatches(9, 7).drawn(50, draws())
    assert len({tuple(row) for row in fresh.tolist()}) == 50


class Says(torch.nn.Module):
    """Always the same token."""

    def __init__(self, token):
        super().__init__()
        self.token = token

    def forward(self, ids):
        logits = torch.zeros(*ids.shape, len(TOKENS))
        logits[:, 1::2, self.token] = 3.0  # nothing but the questions is to be read
        return logits, None


def test_answers_are_scored_at_their_questions():
    batch = task.letter_maps(task.random_maps(40, draws()), draws())
    right = task.answered_right(Says(9), batch)
    assert torch.equal(right, (batch.answers == 9).float())
    assert 0 < right.sum() < right.numel()
    share = right.mean()
    loss = torch.tensor(float(len(TOKENS) - 1) + torch.e**3).log() - 3 * share
    torch.testing.assert_close(task.answers_loss(Says(9), batch), loss)


def test_shown_before():
    ids = torch.tensor([[0, 5, 7, 6, 8, 5, 7, 6]])  # [start] a c, b d, a c, b: n = 4
    batch = task.Examples(ids, torch.tensor([[7, 8, 7, 8]]))
    assert task.shown_before(batch).tolist() == [[False, False, True, True]]
    # An answer with the same letter is no question.
    batch = task.Examples(torch.tensor([[0, 5, 6, 6]]), torch.tensor([[6, 9]]))
    assert task.shown_before(batch).tolist() == [[False, False]]


def test_what_is_refused(plain):
    with pytest.raises(ValueError, match="letters"):
        task.letter_maps(task.random_maps(2, draws()), draws(), letters=17)
    with pytest.raises(ValueError, match="n must"):
        task.random_maps(0, draws())
    with pytest.raises(ValueError, match="directions"):
        task.translations(torch.tensor([(0, 4)]), draws())
    with pytest.raises(ValueError, match="told"):
        task.translations(torch.tensor([(0, 1)]), draws(), told=1.5)
    with pytest.raises(ValueError, match="rows"):
        task.ExampleBatches(2, 0)
