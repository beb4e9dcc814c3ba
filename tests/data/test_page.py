"""The data page says what the library does and what the data holds."""

import re
import shlex
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from attnbook.data import (
    archive,
    cmudict,
    homeassistant,
    minilm,
    mnist5k,
    movies,
    promoter,
    shakespeare,
    sotu,
    vowels,
    zh_vocab,
)
from attnbook.data.hkcancor import TAGS, load, split
from attnbook.data.sources import SOURCES

PAGE = (Path(__file__).parents[2] / "book" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_each_set_has_a_row_and_a_card(source):
    (row,) = re.findall(rf"^\| \[`{source.name}`\]\(#{source.name}\).*$", PAGE, re.M)
    assert f"{source.package} {source.version}" in row
    assert f"{source.n_bytes / 1e6:.1f} MB" in row
    assert source.licence in row
    assert f"({source.name})=\n## {source.name}" in PAGE
    assert f"{source.archive_bytes / 1e6:.1f} MB, {source.n_bytes / 1e6:.1f} MB" in PAGE


def test_the_command_is_the_one_that_the_library_runs():
    command = shlex.join(archive._command(SOURCES["hkcancor"], "."))
    assert f"\npython {command}\n" in PAGE


@pytest.mark.slow
def test_the_numbers_of_hkcancor_are_counted_again():
    corpus = load()
    sides = split(corpus)
    total = sum(len(u.words) for u in corpus)
    for name, side in zip(("train", "validation", "test"), sides, strict=True):
        tokens = sum(len(u.words) for u in side)
        recordings = len({u.recording for u in side})
        share = f"{tokens / total:.1%}".replace("%", " %")
        assert f"| {name} | {recordings} | {len(side):,} | {tokens:,} | {share} |" in PAGE

    tags = Counter(tag for u in corpus for tag in u.tags)
    for tag, count in tags.most_common(20):
        assert f"| `{tag}` | {TAGS[tag]} | {count:,} |" in PAGE

    def percent(part, whole=total):
        return f"{part / whole:.1%}".replace("%", " %")

    def below(limit):
        counts = [count for count in tags.values() if count < limit]
        return len(counts), sum(counts)

    by_word, learned = defaultdict(Counter), defaultdict(Counter)
    for utterances, table in ((corpus, by_word), (sides[0], learned)):
        for u in utterances:
            for word, tag in zip(u.words, u.tags, strict=True):
                table[word][tag] += 1
    # What the training recordings say of each test word; a word unknown to them is taken for "n".
    right = [
        (tag == (learned[word].most_common(1)[0][0] if word in learned else "n"), tag)
        for u in sides[2]
        for word, tag in zip(u.words, u.tags, strict=True)
    ]
    spoken = [ok for ok, tag in right if re.search(r"[\w#]", tag)]
    unknown = sum(word not in learned for u in sides[2] for word in u.words)
    trained = {u.words for u in sides[0]}
    again = [u for u in sides[2] if u.words in trained]
    marks = sum(count for tag, count in tags.items() if not re.search(r"[\w#]", tag))
    best = sum(max(counts.values()) for counts in by_word.values())
    several = sum(len(counts) > 1 for counts in by_word.values())

    for sentence in (
        f"58 files of 49 recordings; {len(corpus):,} utterances; {total:,} tokens, "
        f"of which {marks:,} ({percent(marks)}) are punctuation marks; {len(by_word):,} distinct",
        f"The twenty most common tags cover {percent(sum(c for _, c in tags.most_common(20)))}",
        "{} of them have fewer than 10 tokens each and {} tokens together".format(*below(10)),
        "{} have fewer than 50 each and {} (0.5 %) together".format(*below(50)),
        f"{several} of the {len(by_word):,} words occur with more than one tag",
        f"counted on the whole corpus itself, is right for {percent(best)} of the tokens",
        f"is right for {percent(sum(ok for ok, _ in right), len(right))} of the test tokens",
        f"without them it is {percent(sum(spoken), len(spoken))} of the test tokens",
        f"Of the test tokens, {percent(unknown, len(right))} are words that do not occur",
        f"{percent(len(again), len(sides[2]))} of the test utterances "
        f"({percent(sum(len(u.words) for u in again), len(right))} of the test tokens)",
    ):
        assert sentence in PAGE


@pytest.mark.slow
def test_the_numbers_of_cmudict_are_counted_again():
    entries, plain = cmudict.load(), cmudict.load(stress=False)
    sides = cmudict.split(entries)

    def sounds(some):
        return [sound for entry in some for sound in entry.pronunciations]

    def of_letters(some):
        return sum(re.fullmatch("[a-z]+", entry.word) is not None for entry in some)

    def percent(test):
        return f"{sum(map(test, sides[2])) / len(sides[2]):.1%}".replace("%", " %")

    def has_kin(entry):
        ends = ("s", "'s", "ed", "ing")
        cut = [entry.word.removesuffix(end) for end in ends if entry.word.endswith(end)]
        return any(word in trained for word in [*cut, *(entry.word + end for end in ends)])

    for name, part in zip(("train", "validation", "test"), sides, strict=True):
        row = f"| {name} | {len(part):,} | {len(sounds(part)):,} | {of_letters(part):,} |"
        assert row in PAGE
    trained, heard = {entry.word for entry in sides[0]}, set(sounds(sides[0]))
    for sentence in (
        f"{len(entries):,} words; {len(sounds(entries)):,} pronunciations, "
        f"{sum(map(len, sounds(entries))) / len(sounds(entries)):.1f} phonemes each on average; "
        f"{len({p for s in sounds(plain) for p in s})} phonemes, "
        f"or {len({p for s in sounds(entries) for p in s})} with stress",
        f"and {len(sounds(plain)):,} are left",
        f"{sum(len(e.pronunciations) > 1 for e in entries):,} words have more than one",
        f"{of_letters(entries):,} words are made of the letters a to z alone. "
        f"{sum(chr(39) in e.word for e in entries):,} have an apostrophe",
        f"{percent(has_kin)} of the test words have in training",
        f"{percent(lambda e: any(s in heard for s in e.pronunciations))} sound like a word",
    ):
        assert sentence in PAGE


@pytest.mark.slow
def test_the_numbers_of_homeassistant_are_counted_again():
    pairs = homeassistant.load()
    sides = homeassistant.split(pairs)
    others = {n: len(homeassistant.load(n)) for n in ("ja", "zh-Hans", "fr")}

    def translations(some):
        return [text for pair in some for text in pair.translations]

    for name, part in zip(("train", "validation", "test"), sides, strict=True):
        assert f"| {name} | {len(part):,} | {len(translations(part)):,} |" in PAGE
    words = sorted(len(pair.english.split()) for pair in pairs)
    known = set(translations(sides[0]))
    again = sum(any(t in known for t in pair.translations) for pair in sides[2]) / len(sides[2])
    for sentence in (
        f"{len(pairs):,} English texts with {len(translations(pairs)):,} German translations; "
        f"{others['ja']:,} with Japanese, {others['zh-Hans']:,} with simplified Chinese, "
        f"{others['fr']:,} with French ones",
        f"; {sum('{}' in pair.english for pair in pairs):,} English texts have one",
        f"{sum(words) / len(words):.1f} words on average, {words[len(words) // 2]} in the median "
        f"and {words[-1]} at most",
        f"{sum(len(pair.translations) > 1 for pair in pairs)} have more than one German",
        f"{sum(pair.english in pair.translations for pair in pairs)} are the same in German",
        f"{again:.1%}".replace("%", " %") + " of the test texts have a German translation",
    ):
        assert sentence in PAGE


@pytest.mark.slow
def test_the_numbers_of_minilm_are_counted_again():
    tensors = {k: x for k, x in minilm.load_weights().items() if x.is_floating_point()}
    config, vocab = minilm.load_config(), minilm.load_tokenizer().vocab
    unused = [t for t in vocab if re.fullmatch(r"\[unused\d+\]", t)]
    card = (minilm._folder() / "README.md").read_text(encoding="utf-8")
    pairs = int(re.search(r"\*\*Total\*\* .*\*\*([\d,]+)\*\*", card)[1].replace(",", ""))
    reddit = int(re.search(r"Reddit comments.* ([\d,]+) \|", card)[1].replace(",", ""))
    assert "license: apache-2.0" in card
    assert "sequence length was limited to 128 tokens" in card
    n_weights = sum(x.numel() for x in tensors.values())
    for sentence in (
        f"{n_weights:,} weights in {len(tensors)} tensors of float32",
        f"{tensors['embeddings.word_embeddings.weight'].numel():,} of them the table of tokens",
        f"{config['num_hidden_layers']} layers, width {config['hidden_size']}, "
        f"{config['num_attention_heads']} heads, inner width {config['intermediate_size']:,}; "
        f"at most {config['max_position_embeddings']} tokens; {len(vocab):,} WordPieces, "
        f"{len(unused)} of them unused",
        f"on {pairs:,} pairs",
        f"{reddit / pairs:.1%}".replace("%", " %") + " of the pairs are comments on Reddit",
    ):
        assert sentence in PAGE


@pytest.mark.slow
def test_the_numbers_of_shakespeare_are_counted_again():
    works = shakespeare.load()
    total = sum(len(work.text) for work in works)
    for name, side in zip(("train", "validation", "test"), shakespeare.split(works), strict=True):
        n = sum(len(work.text) for work in side)
        share = f"{n / total:.1%}".replace("%", " %")
        assert f"| {name} | {len(side)} | {n:,} | {share} |" in PAGE
    distinct = len(set("".join(work.text for work in works)))
    assert f"{len(works)} works; {total:,} characters, {distinct} of them distinct" in PAGE
    cymbeline = next(work.text for work in works if work.name == "cymbeline")
    assert "ACT II." in cymbeline
    assert "ACT FIFTH." in cymbeline
    assert not re.search("ACT (III|IV|THIRD|FOURTH)", cymbeline)


@pytest.mark.slow
def test_the_numbers_of_sotu_are_counted_again():
    speeches = sotu.load()
    sides = sotu.split(speeches)
    cut = [[s for speech in side for s in sotu.split_sentences(speech.text)] for side in sides]
    sentences = [s for side in cut for s in side]
    total = sum(len(speech.text) for speech in speeches)

    def percent(part, whole):
        return f"{part / whole:.1%}".replace("%", " %")

    for name, side, its in zip(("train", "validation", "test"), sides, cut, strict=True):
        n = sum(len(speech.text) for speech in side)
        row = f"| {name} | {len(side)} | {len(its):,} | {n:,} | {percent(n, total)} |"
        assert row in PAGE

    trained = set(cut[0])
    again = [s for s in cut[2] if s in trained]
    lengths = sorted(map(len, sentences))
    texts = [speech.text for speech in speeches]
    for sentence in (
        f"{len(speeches)} texts by {len({speech.president for speech in speeches})} presidents; "
        f"{total:,} characters, {len(set(''.join(texts)))} of them distinct; "
        f"{len(sentences):,} sentences",
        f"{total / len(speeches):,.0f} characters on average",
        f"{len(sentences):,} sentences, {sum(lengths) / len(lengths):.0f} characters on average, "
        f"{lengths[len(lengths) // 2]} in the median and {lengths[-1]:,} at most",
        f"{sum(n < 20 for n in lengths):,} sentences have fewer than 20 characters",
        f"{percent(len(again), len(cut[2]))} of the test sentences "
        f"({percent(sum(map(len, again)), sum(map(len, cut[2])))} of their characters)",
        f"{sum(len(re.findall('[Ll]aughter]', text)) for text in texts)} times [Laughter]",
        f"{sum(len(re.findall('[Aa]pplause]', text)) for text in texts)} times [Applause]",
    ):
        assert sentence in PAGE


@pytest.mark.slow
def test_the_numbers_of_mnist5k_are_counted_again():
    images, labels = mnist5k.load()
    sides = mnist5k.split(images, labels)
    for name, (x, y) in zip(("train", "validation", "test"), sides, strict=True):
        assert f"| {name} | {len(x):,} | {set(np.bincount(y)).pop()} |" in PAGE
    for sentence in (
        f"{len(images):,} images, all different; 500 of each label",
        f"{(images == 0).mean():.1%}".replace("%", " %") + " of all pixels are 0",
        f"{(images.max(0) == 0).sum()} of the {28 * 28} pixels are 0 in every image",
    ):
        assert sentence in PAGE

    (x, y), (x_valid, y_valid), (x_test, y_test) = (
        (x.reshape(len(x), -1).astype(np.float32) / 255, y) for x, y in sides
    )
    fits = [LogisticRegression(C=C, max_iter=1000).fit(x, y) for C in (1, 0.1, 0.01)]
    best = max(fits, key=lambda fit: fit.score(x_valid, y_valid))
    distances = (x**2).sum(1) - 2 * x_test @ x.T  # without what is the same for all
    nearest = y[distances.argmin(1)]
    # An image more or less may be right where the sums are taken in another order.
    assert best.score(x_test, y_test) == pytest.approx(0.90, abs=0.006)
    assert (nearest == y_test).mean() == pytest.approx(0.96, abs=0.003)
    assert "(divided by 255) is right for 90 % of the test images" in PAGE
    assert "nearest training image is right for 96 %" in PAGE


@pytest.mark.slow
def test_the_numbers_of_movies_are_counted_again():
    snippets = movies.load()
    sides = movies.split(snippets)
    polar = [movies.polar(side) for side in sides]
    for name, side, its in zip(("train", "validation", "test"), sides, polar, strict=True):
        assert (
            f"| {name} | {len(side):,} | {len(its):,} | {sum(s.positive for s in its):,} |" in PAGE
        )
    scores = [s.score for s in snippets]
    words = sum(len(s.text.split()) for s in snippets) / len(snippets)
    n_polar, n_positive = sum(map(len, polar)), sum(s.positive for side in polar for s in side)
    for sentence in (
        f"{len(snippets):,} distinct snippets, {words:.1f} words each on average",
        f"from {min(scores)} to {max(scores):.3f}",
        f"{n_polar:,} snippets, {n_positive:,} of them positive. "
        f"{len(snippets) - n_polar} are left out, {scores.count(0)} of them with",
    ):
        assert sentence in PAGE

    (x, y), (x_valid, y_valid), (x_test, y_test) = (
        ([s.text for s in side], [s.positive for s in side]) for side in polar
    )
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit(x)
    fits = [LogisticRegression(C=C, max_iter=500).fit(words.transform(x), y) for C in (3, 10, 30)]
    best = max(fits, key=lambda fit: fit.score(words.transform(x_valid), y_valid))
    # The page has whole points; a snippet more or less may be right on another machine.
    assert best.score(words.transform(x_test), y_test) == pytest.approx(0.81, abs=0.007)
    assert "is right for 81 % of the polar test snippets" in PAGE


@pytest.mark.slow
def test_the_numbers_of_promoter_are_counted_again():
    parts = promoter.load()
    for name, part in zip(("train", "validation", "test"), parts, strict=True):
        assert f"| {name} | {len(part):,} | {sum(p.strong for p in part):,} |" in PAGE
    every = [p for part in parts for p in part]
    letters = np.array([list(p.letters) for p in every])  # (N, 75)
    common = np.array([Counter(column).most_common(1)[0][0] for column in letters.T])
    changed = (letters != common).sum(1)
    several = [p for p in every if sum(p.counts) > 1]
    assert all(max(p.counts) == 1 for p in several)
    for sentence in (
        f"{len(every):,} stretches of 75 letters, all different; "
        f"{sum(sum(p.counts) for p in every):,} cells",
        f"{len(several):,} have more than one cell, all of them in as many bins",
        f"at {changed.mean():.1f} places on average",
        f"{(changed > 25).sum()} of the stretches differ from the promoter at more than 25 places, "
        f"up to {changed.max()}",
    ):
        assert sentence in PAGE

    x, y = (letters[:, :, None] == list("ACGT")).reshape(len(every), -1), [p.strong for p in every]
    n, n_test = len(parts[0]), len(parts[2])
    fit = LogisticRegression(C=0.1, max_iter=300).fit(x[:n].astype(np.float32), y[:n])
    assert fit.score(x[-n_test:], y[-n_test:]) == pytest.approx(0.77, abs=0.005)
    assert "at each place is right for 77 % of the test promoters" in PAGE


@pytest.mark.slow
def test_the_numbers_of_vowels_are_counted_again():
    train, test = vowels.load()
    (x, y), (x_test, y_test) = (
        (np.stack([u.frames.mean(0) for u in side]), np.array([u.speaker for u in side]))
        for side in (train, test)
    )
    frames, counts = sum(len(u.frames) for u in train + test), np.bincount(y_test)
    of_train, of_test = (sum(len(u.frames) for u in side) for side in (train, test))
    spread = np.concatenate([u.frames for u in train]).std(0)
    for sentence in (
        f"{len(train + test)} utterances, all different, by 9 speakers; {frames:,} frames",
        f"| train | {len(train)} | 30 | {of_train:,} |",
        f"| test | {len(test)} | {', '.join(map(str, counts))} | {of_test:,} |",
        f"7 to 29 frames, {frames / 640:.1f} on average",
        f"is right for {counts.max() / len(test):.1%}".replace("%", " %") + " of them",
        f"from {spread[0]:.2f} for the first down to {spread.min():.2f}",
    ):
        assert sentence in PAGE

    middle = np.concatenate([u.frames for u in train]).mean(0)
    missed = sum(((u.frames[1:-1] - (u.frames[:-2] + u.frames[2:]) / 2) ** 2).sum() for u in test)
    around = sum(((u.frames[1:-1] - middle) ** 2).sum() for u in test)
    assert f"leaves {missed / around:.1%}".replace("%", " %") + " of the variance" in PAGE

    mean, std = x.mean(0), x.std(0)
    fit = LogisticRegression(max_iter=5000).fit((x - mean) / std, y)
    wrong = (fit.predict((x_test - mean) / std) != y_test).sum()
    assert f"brought to mean 0 and spread 1, is right for {1 - wrong / 370:.0%}"[:-1] in PAGE
    assert f"{wrong} of the 370 test utterances are wrong with the means alone" in PAGE


@pytest.mark.slow
def test_the_numbers_of_zh_vocab_are_counted_again():
    vocab = zh_vocab.load()
    cjk = [t for t in vocab if re.fullmatch("[\u4e00-\u9fff]", t)]
    going_on = [t for t in vocab if t.startswith("##") and len(t) > 2]
    same = set(vocab) & {f"##{t}" for t in cjk}
    unused = [t for t in vocab if re.fullmatch(r"\[unused\d+\]", t)]
    words = [word for u in load() for word in u.words]
    every = "[\u3400-\u9fff\U00020000-\U0003ffff]"  # the rare ones, such as 𡃉, as well
    characters = [c for word in words for c in word if re.match(every, c)]
    known = sum(map(set(vocab).__contains__, characters)) / len(characters)
    for sentence in (
        f"{len(vocab):,} tokens: {len(cjk):,} CJK characters",
        f"{len(going_on):,} pieces that go on with a word, and {len(same):,} of them are CJK",
        f"{len(unused)} places left unused",
        f"{known:.2%}".replace("%", " %") + " of the CJK characters of `hkcancor` are in it",
    ):
        assert sentence in PAGE
