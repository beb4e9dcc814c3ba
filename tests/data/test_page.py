"""The data page says what the library does and what the data holds."""

import re
import shlex
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from attnbook.data import archive, sotu, zh_vocab
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
