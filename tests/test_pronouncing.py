import pytest
import torch
import torch.nn.functional as F

from attnbook import pronouncing
from attnbook.data import cmudict
from attnbook.data.cmudict import Entry
from attnbook.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnbook.pronouncing import BOS, EOS, LETTERS, PAD, PHONEMES, SIZES

CAT = ("K", "AE", "T")
ENTRIES = [
    Entry("cat", (CAT,)),
    Entry("the", (("DH", "AH"), ("DH", "IY"))),
    Entry("enough", (("IH", "N", "AH", "F"),)),
    Entry("i", (("AY",),)),
]


def small(seed=0):
    torch.manual_seed(seed)
    sizes = {"d_model": 12, "n_heads": 2, "d_ff": 20, "n_layers": 1, "max_len": 32}
    return Seq2Seq(Seq2SeqConfig(**SIZES, **sizes)).eval()


def ids_of(sound):
    return [PHONEMES.index(p) + 3 for p in sound]


def test_letters_become_ids_and_padding_stands_behind():
    ids = pronouncing.letter_ids(["'em", "zz-.a"])
    assert ids.tolist() == [[3, 10, 18, PAD, PAD], [31, 31, 4, 5, 6]]
    with pytest.raises(KeyError):
        pronouncing.letter_ids(["Cat"])
    for words in ([], ["a", ""]):
        with pytest.raises(ValueError, match="words must hold at least one"):
            pronouncing.letter_ids(words)


def test_ids_become_phonemes_and_what_is_none_is_told():
    assert pronouncing.phoneme_names([3, 41, *ids_of(CAT)]) == ["AA", "ZH", *CAT]
    assert pronouncing.phoneme_names([PAD, BOS, EOS, 42]) == ["?"] * 4
    assert SIZES == {"source_vocab_size": 32, "target_vocab_size": 42}


@pytest.mark.slow
def test_the_letters_and_phonemes_are_those_of_the_dictionary():
    entries = cmudict.load(stress=False)
    assert {letter for entry in entries for letter in entry.word} == set(LETTERS)
    sounds = [sound for entry in entries for sound in entry.pronunciations]
    assert {p for sound in sounds for p in sound} == set(PHONEMES)
    longest = max(max(map(len, sounds)) + 1, max(len(entry.word) for entry in entries))
    assert longest <= pronouncing.MAX_LEN


def test_each_epoch_holds_every_pronunciation_once_in_another_order():
    batches = list(pronouncing.pronouncing_batches(ENTRIES, 2, epochs=6, seed=1))
    expected = sorted(
        (pronouncing.letter_ids([e.word])[0].tolist(), [BOS, *ids_of(s), EOS])
        for e in ENTRIES
        for s in e.pronunciations
    )
    orders = set()
    for start in range(0, 18, 3):  # five pairs: two, two and one
        rows = [
            row
            for letters, sounds in batches[start : start + 3]
            for row in zip(letters, sounds, strict=True)
        ]
        pairs = [(a[a != PAD].tolist(), b[b != PAD].tolist()) for a, b in rows]
        assert sorted(pairs) == expected
        orders.add(str(pairs))
    assert len(orders) > 1
    again = pronouncing.pronouncing_batches(ENTRIES, 2, epochs=6, seed=1)
    assert all(torch.equal(a[1], b[1]) for a, b in zip(batches, again, strict=True))


def test_words_of_one_length_get_other_neighbours_in_each_epoch():
    entries = [Entry(word, (CAT,)) for word in ("cat", "kat", "qat", "dog", "cow", "pig")]
    batches = list(pronouncing.pronouncing_batches(entries, 2, epochs=4))
    epochs = [batches[i : i + 3] for i in (0, 3, 6, 9)]
    groups = [{frozenset(map(str, x.tolist())) for x, _ in epoch} for epoch in epochs]
    assert any(group != groups[0] for group in groups[1:])


def test_like_lengths_stand_together():
    batches = list(pronouncing.pronouncing_batches(ENTRIES, 2))
    words = sorted([len(row[row != PAD]) for row in letters] for letters, _ in batches)
    assert words == [[1, 3], [3, 3], [6]]
    for bad in ({"size": 0}, {"size": 2, "epochs": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            next(pronouncing.pronouncing_batches(ENTRIES, **bad))


def test_the_loss_asks_for_each_phoneme_and_the_end_but_not_for_padding():
    model = small()
    letters = pronouncing.letter_ids(["cat", "enough"])
    sounds = [[BOS, *ids_of(CAT), EOS, PAD], [BOS, *ids_of(("IH", "N", "AH", "F")), EOS]]
    loss = pronouncing.pronouncing_loss(model, (letters, torch.tensor(sounds)), 0.0)
    total = 0.0
    for word, row in zip(("cat", "enough"), sounds, strict=True):
        row = torch.tensor([[i for i in row if i != PAD]])
        logits, _, _ = model(pronouncing.letter_ids([word]), row[:, :-1])
        total += F.cross_entropy(logits[0], row[0, 1:], reduction="sum").item()
    assert loss.item() == pytest.approx(total / 9, rel=1e-5)  # 4 + 5 answers


def test_greedy_takes_the_likeliest_phoneme_until_the_end():
    model = small(25)  # random weights; some of the words end early, some not at all
    letters = pronouncing.letter_ids(["cat", "enough", "i"])
    written = pronouncing.greedy_phonemes(model, letters)
    for word, row in zip(("cat", "enough", "i"), written, strict=True):
        ids, memory = [BOS], model.encode(pronouncing.letter_ids([word]))
        while len(ids) < pronouncing.MAX_LEN:
            logits, _, _ = model.decode(torch.tensor([ids]), memory)
            ids.append(int(logits[0, -1].argmax()))
            if ids[-1] == EOS:
                break
        assert row == [i for i in ids[1:] if i != EOS]
    assert min(map(len, written)) < max(map(len, written)) == pronouncing.MAX_LEN - 1


def test_words_are_said_in_their_own_order():
    def spell(model, letters):
        return [[i for i in row if i != PAD] for row in letters.tolist()]

    words = ["enough", "i", "the", "cat", "to"]
    said = pronouncing.pronounce(small(), words, write=spell, size=2)
    expected = [pronouncing.phoneme_names(pronouncing.letter_ids([w])[0].tolist()) for w in words]
    assert said == expected
    with pytest.raises(ValueError, match="size"):
        pronouncing.pronounce(small(), words, size=0)


def test_the_nearest_pronunciation_counts():
    said = [["K", "AE", "T"], ["DH", "IY"], ["IH", "N", "AH", "F", "F"], ["IY"]]
    per, wer = pronouncing.error_rates(said, ENTRIES)
    assert per == pytest.approx(2 / (3 + 2 + 4 + 1))
    assert wer == pytest.approx(2 / 4)
