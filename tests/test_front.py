"""The pages beside the chapters: the three ways through, the glossary, the errata.

What they say of the chapters is held against the notebooks, as they are stored.
"""

import functools
import json
import re

import pytest
from docutils.nodes import make_id

from roles import title
from toc import PAGES, PLANNED, ROOT

BOOK = ROOT / "book"
WRITTEN = [name for name in PLANNED if f"book/{name}" in PAGES]
MISSING = [name for name in PLANNED if name not in WRITTEN]
CHAPTER = re.compile(r"\{chapter\}`(?:[^`<]*<)?([^`>#]+)(?:#([^`>]+))?>?`")


@functools.cache
def page(name: str) -> str:
    return (BOOK / f"{name}.md").read_text(encoding="utf-8")


@functools.cache
def cells(chapter: str) -> list[dict]:
    return json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]


@functools.cache
def text(chapter: str, kind: str = "markdown") -> str:
    return "\n".join("".join(c["source"]) for c in cells(chapter) if c["cell_type"] == kind)


@functools.cache
def claims(chapter: str) -> set[str]:
    """The lines that `claim` printed when the chapter was executed."""
    outputs = (o for c in cells(chapter) for o in c.get("outputs", []))
    lines = (line for o in outputs for line in "".join(o.get("text", "")).splitlines())
    return {line for line in lines if line.startswith("✓ ")}


def exercises(chapter: str) -> list[str]:
    return re.findall(r"\{exercise-start\}[^`]*```\n\*\*(.+?)\.?\*\*", text(chapter))


# Links to chapters


def wrong_links(markdown: str) -> list[str]:
    """Chapters outside of the plan, and sections that a written chapter does not have."""
    faults = []
    for name, section in CHAPTER.findall(markdown):
        if name not in PLANNED:
            faults.append(f"{name} is no chapter of the plan")
        elif section and name in WRITTEN:
            heads = re.findall(r"^#{1,6} (.+)$", text(name), re.MULTILINE)
            faults += [f"{name} has no {section}"] * (section not in map(make_id, heads))
    return faults


@pytest.mark.parametrize("name", [path.stem for path in BOOK.glob("*.md")])
def test_links_reach_a_chapter_and_its_section(name):
    assert wrong_links(page(name)) == []


def test_a_wrong_link_is_seen():
    assert wrong_links("{chapter}`04_self_attention`") == []
    assert wrong_links("".join(f"{{chapter}}`a b <{name}#any>`" for name in MISSING)) == []
    assert wrong_links("{chapter}`04_selfattention`")
    assert wrong_links("{chapter}`a b <04_self_attention#the-musk>`")
    assert not wrong_links("{chapter}`a b <04_self_attention#the-mask>`")


@pytest.mark.parametrize("name", WRITTEN)
def test_a_chapter_has_the_title_of_the_plan(name):
    assert text(name).startswith(f"# {title(name)}")


# The landing page and the three ways


def table(markdown: str, heading: str) -> list[list[str]]:
    """The rows of the first table under the heading."""
    part = markdown.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|(.+)\|$", part, re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows[2:]]


def names(cell: str) -> list[str]:
    return [name for name, _ in CHAPTER.findall(cell)]


def test_the_landing_page_lists_the_plan_and_begins_with_the_three_ways():
    first, _, rest = page("intro").partition("(chapters)=")
    assert re.findall(r"card\} \[.+?\]\((.+?)\.md\)", first) == ["one_hour", "study", "teach"]
    assert [f"book/{name}" for name in ("one_hour", "study", "teach")] == PAGES[1:4]
    for (number, chapter, _), name in zip(table(rest, "The chapters"), PLANNED, strict=True):
        assert chapter == f"{{chapter}}`{title(name).partition('. ')[2]} <{name}>`"
        assert number == str(int(name[:2]))


def needs_faults(rows: list[list[str]]) -> list[str]:
    """Each chapter needs earlier ones only."""
    return [
        f"{chapter} needs {needs}"
        for chapter, _, needs in rows
        if any(int(n) >= int(names(chapter)[0][:2]) for n in re.findall(r"\d+", needs))
    ]


def test_the_student_meets_each_chapter_in_order():
    rows = table(page("study"), "How long, and what comes first")
    assert [names(row[0]) for row in rows] == [[name] for name in PLANNED]
    assert needs_faults(rows) == []
    assert needs_faults([["{chapter}`04_self_attention`", "4", "1, 5"]])


def test_the_shorter_way_has_all_that_its_chapters_need():
    needs = {row[0]: row[2] for row in table(page("study"), "How long, and what comes first")}
    way = re.search(r"^A shorter way, [^:]+: ([\d, ]+), and then 12 .+ or 14 ", page("study"), re.M)
    way = way[1].split(", ")
    for number in [*way, "14"]:
        name = PLANNED[int(number) - 1]
        # Subwords are what BERT and GPT read; to follow them the chapter itself is not needed.
        assert set(re.findall(r"\d+", needs[f"{{chapter}}`{name}`"])) - {"2"} <= set(way)


def named_exercises(rows: list[list[str]]) -> list[str]:
    """The exercises named in italics that none of the week's written chapters has."""
    return [
        f"week {week} has no exercise {exercise}"
        for week, chapters, ask in rows
        for exercise in re.findall(r"(?<!\*)\*([^*]+)\*", ask)
        if not any(exercise in exercises(n) for n in names(chapters) if n in WRITTEN)
    ]


def test_the_weeks_follow_the_plan_and_name_exercises_that_are_there():
    twelve, six = (table(page("teach"), f"{n} weeks") for n in ("Twelve", "Six"))
    assert [name for row in twelve for name in names(row[1])] == list(PLANNED)
    shorter = [name for row in six for name in names(row[1])]
    assert shorter == sorted(shorter)
    assert [[row[0] for row in rows] for rows in (twelve, six)] == [
        [str(n) for n in range(1, 13)],
        [str(n) for n in range(1, 7)],
    ]
    assert named_exercises(twelve + six) == []
    assert named_exercises([["1", "{chapter}`05_multi_head`", "*Count*, *One more word*"]])


# The glossary

ENTRY = re.compile(r"^(\S.*)\n  \{zh\}`(.+?)` · \{chapter\}`(.+?)` \\\n  (.+)$", re.MULTILINE)
HAN = re.compile(r"[\u4e00-\u9fff]")


def order(term: str) -> str:
    return re.sub(r"[-–_]", " ", term).casefold()


def stems(words: str) -> list[str]:
    return [word[:6] for word in order(words).split()]


def glossary_faults(markdown: str) -> list[str]:
    entries = ENTRY.findall(markdown)
    terms = [order(term) for term, *_ in entries]
    faults = [] if terms == sorted(terms) else ["not sorted"]
    faults += [f"{term} stands twice" for term in set(terms) if terms.count(term) > 1]
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    n = sum(bool(re.match(r"\S", line)) for block in blocks for line in block.splitlines())
    faults += [f"{n} terms, but {len(entries)} of the right form"] * (n != len(entries))
    for term, chinese, chapter, sentence in entries:
        for variant in chinese.split("；"):
            # GB 2312 holds simplified characters, and of the traditional ones none that differ.
            simplified = variant.encode("gb2312", errors="ignore").decode("gb2312") == variant
            if not (HAN.search(variant) and simplified):
                faults.append(f"{term}: {variant} is no simplified Chinese")
        if chapter not in PLANNED:
            faults.append(f"{term}: {chapter} is no chapter of the plan")
        elif chapter in WRITTEN:
            said = order(text(chapter) + text(chapter, "code"))
            faults += [f"{term}: not in {chapter}"] * any(s not in said for s in stems(term))
        if not re.match(r"[A-Z$`]", sentence) or not sentence.endswith("."):
            faults.append(f"{term}: not a sentence")
    return faults


def entry(term="mask", chinese="掩码", chapter="04_self_attention", sentence="A table."):
    return f"{term}\n  {{zh}}`{chinese}` · {{chapter}}`{chapter}` \\\n  {sentence}\n"


def glossary(*entries: str) -> str:
    return "```{glossary}\n" + "\n".join(entries) + "```\n"


def test_the_glossary_is_sorted_and_complete():
    assert glossary_faults(page("glossary")) == []
    assert len(ENTRY.findall(page("glossary"))) >= 80


def test_a_wrong_glossary_is_seen():
    good = entry("query", "查询；Q 查询")
    assert glossary_faults(glossary(entry(), good)) == []
    assert glossary_faults(glossary(good, entry()))
    assert glossary_faults(glossary(entry(), entry()))
    assert glossary_faults(glossary(entry(), "query\n  A question.\n"))
    assert glossary_faults(glossary(entry(chinese="mask")))
    assert glossary_faults(glossary(entry(chinese="掩碼")))
    assert glossary_faults(glossary(entry(chinese="マスク")))
    assert glossary_faults(glossary(entry(chapter="04_selfattention")))
    assert glossary_faults(glossary(entry(term="perplexity")))
    assert glossary_faults(glossary(entry(sentence="a table")))


def code_names() -> set[str]:
    """Every name that the table of symbols in the notation gives to something in code."""
    rows = table(page("notation"), "Symbols")
    return {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}


def test_the_glossary_has_the_names_of_the_notation():
    assert {"d_model", "w_o", "vocab_size", "mask", "H"} <= code_names()
    sentences = " ".join(sentence for *_, sentence in ENTRY.findall(page("glossary")))
    assert code_names() - set(re.findall(r"`(\w+)`", sentences)) == set()


# The errata


def errata(markdown: str) -> dict[str, dict]:
    """Each erratum by its heading: what is wrong, right, cited, and where it is checked."""
    found = {}
    for part in re.split(r"^### ", markdown, flags=re.MULTILINE)[1:]:
        heading, _, body = re.split(r"^## ", part, flags=re.MULTILINE)[0].partition("\n")
        match = re.fullmatch(
            r"\n\*\*Often read\.\*\* (?P<wrong>.+)\n\n\*\*Right\.\*\* (?P<right>.+)\n\n"
            r"\*\*Checked\*\* in \{chapter\}`(?P<chapter>\w+)`:\n\n(?P<lines>(?:- `.+`\n)+)\n*",
            body,
        )
        found[heading] = match.groupdict() if match else {}
    return found


def errata_faults(markdown: str) -> list[str]:
    known = set(re.findall(r"^@\w+\{(\w+),", (BOOK / "references.bib").read_text("utf-8"), re.M))
    faults = []
    chapters = []
    for heading, it in errata(markdown).items():
        if not it:
            faults.append(f"{heading}: not of the form of the others")
            continue
        cited = ",".join(re.findall(r"\{cite:[pt]\}`(.+?)`", it["right"])).split(",")
        faults += [f"{heading}: no source {key!r}" for key in cited if key not in known]
        chapters.append(it["chapter"])
        if it["chapter"] not in WRITTEN:
            faults.append(f"{heading}: {it['chapter']} is not written")
            continue
        for line in re.findall(r"^- `(.+)`$", it["lines"], re.MULTILINE):
            if line not in claims(it["chapter"]):
                faults.append(f"{heading}: {it['chapter']} does not claim {line!r}")
    return faults + [f"not in order: {chapters}"] * (chapters != sorted(chapters))


def erratum(chapter="05_multi_head", cite="devlin2019bert", line="✓ but the weights are H tables"):
    return (
        "## Heads\n\n### Cost\n\n**Often read.** A.\n\n"
        f"**Right.** B {{cite:p}}`{cite}`.\n\n"
        f"**Checked** in {{chapter}}`{chapter}`:\n\n- `{line}`\n"
    )


def test_each_erratum_is_claimed_by_its_chapter():
    assert errata_faults(page("errata")) == []
    assert len(errata(page("errata"))) == page("errata").count("**Often read.**") >= 30


def test_a_wrong_erratum_is_seen():
    assert errata_faults(erratum() + "\n" + erratum().replace("Cost", "Again")) == []
    assert errata_faults(erratum(line="✓ but the weights are H table"))
    assert errata_faults(erratum(line="but the weights are H tables"))
    assert errata_faults(erratum(cite="devlin2019bert,nobody2019"))
    assert errata_faults(erratum().replace(" {cite:p}`devlin2019bert`", ""))
    assert errata_faults(erratum(chapter="04_self_attention"))
    assert errata_faults(erratum().replace("**Right.** B", "B"))
    early = erratum("04_self_attention", line="✓ padding gets no weight")
    assert errata_faults(early) == []
    assert errata_faults(erratum() + "\n" + early.replace("Cost", "Padding"))
    missing = erratum("99_none")
    assert errata_faults(missing)
