"""What holds for the files of every chapter, found without running any of them.

Each rule is a function from a chapter to the list of its faults, so that the tests at the end can
show on a wrong chapter that the rule sees the fault.
"""

import ast
import copy
import functools
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbval.plugin import metadata_tags

import attnbook
from setup_cell import ADDRESS, SETUP
from toc import PLANNED, TOC

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
# The library's own tools: a chapter may call a tensor `mask` or `ids`.
OWN_TOOLS = (
    "attnbook.checks.",
    "attnbook.data.archive.",
    "attnbook.data.fetch.",
    "attnbook.data.index.",
    "attnbook.data.sides.",
    "attnbook.interactive.output.",
    "attnbook.tokenization.frames.",
    "attnbook.trained.keep.",
    "attnbook.trained.recipe.",
)
MAX_CELLS = 40  # code cells, the set-up cell included
MAX_LINES = 15  # of a code cell, blank lines and comments included
MIN_ALT = 40  # characters: shorter ones do not say what can be seen
EXERCISES = 3
EXERCISE_MARKS = ("exercise-start", "exercise-end", "solution-start", "solution-end")


@dataclass
class Chapter:
    """A notebook as it is stored: nbformat would mend what is missing."""

    name: str
    nb: dict[str, Any]

    @property
    def cells(self) -> list[dict[str, Any]]:
        return self.nb["cells"]

    @property
    def code(self) -> list[dict[str, Any]]:
        return [cell for cell in self.cells if cell["cell_type"] == "code"]

    @property
    def text(self) -> list[str]:
        return [source(cell) for cell in self.cells if cell["cell_type"] == "markdown"]

    @property
    def outputs(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Where it stands, the cell, the output."""
        for cell in self.code:
            for output in cell["outputs"]:
                yield f"cell {cell.get('execution_count')}", cell, output


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def tags(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def tree(cell: dict[str, Any]) -> ast.Module:
    """The cell as Python: `%pip` and the like become calls."""
    return ast.parse(TransformerManager().transform_cell(source(cell)))


CHAPTERS = {
    path.stem: Chapter(path.stem, json.loads(path.read_text(encoding="utf-8")))
    for path in sorted(BOOK.glob("*.ipynb"))
}


# The library, as the chapters see it


@functools.cache
def public() -> dict[str, Any]:
    """Each public object of the library by its name: functions and classes, where defined."""
    found = {}
    for info in pkgutil.walk_packages(attnbook.__path__, "attnbook."):
        if info.name.endswith("__main__"):
            continue  # importing it would run it
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if name.startswith("_") or not (inspect.isfunction(value) or inspect.isclass(value)):
                continue
            if value.__module__ == info.name:
                found[f"{info.name}.{name}"] = value
    return found


def chapter_of(doc: str | None) -> str | None:
    """The chapter that a docstring names with a last line `Chapter: NN_name`."""
    named = re.findall(r"^\s*Chapter: (\S+)$", doc or "", re.MULTILINE)
    return named[-1] if named else None


def assigned(module: ast.Module) -> Iterator[str]:
    """What the module itself names by def, class or assignment, loops and `with` included."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    todo: list[ast.AST] = list(module.body)
    while todo:
        node = todo.pop()
        if isinstance(node, inner):
            if not isinstance(node, ast.Lambda):
                yield node.name
            continue  # a local name is its own
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        todo.extend(ast.iter_child_nodes(node))


def used(chapter: Chapter) -> set[str]:
    """Every name that the chapter reads, imports or reaches through a dot."""
    names = set()
    for cell in chapter.code:
        for node in ast.walk(tree(cell)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.alias):
                names.add(node.name.rpartition(".")[2])
    return names


# The rules


def setup_is_first(chapter: Chapter) -> list[str]:
    first = chapter.code[0] if chapter.code else {"source": "", "metadata": {}}
    faults = []
    if source(first) != SETUP:
        faults.append(f"the first code cell is not the set-up cell:\n{SETUP}")
    if "setup" not in tags(first):
        faults.append("the first code cell has not the tag setup")
    return faults


def executed_in_order(chapter: Chapter) -> list[str]:
    counts = [cell.get("execution_count") for cell in chapter.code]
    return [] if counts == list(range(1, len(counts) + 1)) else [f"counts are {counts}"]


def outputs_are_clean(chapter: Chapter) -> list[str]:
    faults = [
        f"{place}: {output.get('name', output['output_type'])}"
        for place, _, output in chapter.outputs
        if output["output_type"] == "error" or output.get("name") == "stderr"
    ]
    for place, _, output in chapter.outputs:
        faults += [f"{place}: a widget" for kind in output.get("data", {}) if "widget" in kind]
    extra = set(chapter.nb["metadata"]) - {"kernelspec", "language_info"}
    extra |= set(chapter.nb["metadata"].get("language_info", {})) - {"name"}
    extra |= {key for cell in chapter.cells for key in cell["metadata"]} - {"tags", "mystnb"}
    return faults + [f"metadata that `make execute` would take out: {sorted(extra)}"] * bool(extra)


def ids_are_fixed(chapter: Chapter) -> list[str]:
    ids = Counter(cell.get("id") for cell in chapter.cells)
    faults = [f"{n} cells have the id {id_}" for id_, n in ids.items() if n > 1 or not id_]
    form = (chapter.nb["nbformat"], chapter.nb["nbformat_minor"])
    return faults + [f"nbformat must be 4.5, not {form}"] * (form != (4, 5))


def is_short(chapter: Chapter) -> list[str]:
    n = len(chapter.code)
    faults = [f"{n} code cells, at most {MAX_CELLS}"] if n > MAX_CELLS else []
    for cell in chapter.code:
        lines = len(source(cell).splitlines())
        if lines > MAX_LINES:
            faults.append(f"cell {cell.get('execution_count')}: {lines} lines, at most {MAX_LINES}")
    return faults


def redefines_nothing(chapter: Chapter) -> list[str]:
    names = {path.rpartition(".")[2]: path for path in public() if not path.startswith(OWN_TOOLS)}
    return [
        f"cell {cell.get('execution_count')} redefines {names[name]}"
        for cell in chapter.code
        for name in assigned(tree(cell))
        if name in names
    ]


def uses_what_names_it(chapter: Chapter) -> list[str]:
    names = used(chapter)
    return [
        f"{path} says that it belongs here, but is not used here"
        for path, value in public().items()
        if chapter_of(value.__doc__) == chapter.name and path.rpartition(".")[2] not in names
    ]


def images_have_alt(chapter: Chapter) -> list[str]:
    faults = []
    images: Counter[str] = Counter()
    for place, cell, output in chapter.outputs:
        shown = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        for kind in output.get("data", {}):
            if not kind.startswith("image/"):
                continue
            images[place] += 1
            alt = output.get("metadata", {}).get(kind, {}).get("alt", "")
            if len(alt) < MIN_ALT:
                faults.append(f"{place}: an image with {len(alt)} characters of alternative text")
            if alt != shown:
                faults.append(f"{place}: the alternative text is not in the cell's metadata")
    # The cell's metadata holds one text, so that a second image would be given the same.
    return faults + [f"{place}: {n} images, at most 1" for place, n in images.items() if n > 1]


def markdown_is_plain(chapter: Chapter) -> list[str]:
    faults = []
    for text in chapter.text:
        found = re.findall(r"^\s*(?:`{3,}|~{3,}|:{3,})\s*\{([^}\n]*)\}", text, re.MULTILINE)
        faults += [f"the directive {name}" for name in found if name not in EXERCISE_MARKS]
        plain = re.sub(r"\$[^$]*\$|^```.*?^```|``.*?``", "", text, flags=re.DOTALL | re.MULTILINE)
        faults += [f"the role {role}" for role in re.findall(r"\{[a-z:]+\}`[^`\n]*`", plain)]
        faults += ["a target (name)="] * bool(re.search(r"^\([^)\n]+\)=\s*$", plain, re.MULTILINE))
        faults += ["a comment of MyST"] * bool(re.search(r"^% ", plain, re.MULTILINE))
        faults += ["a substitution {{…}}"] * bool(re.search(r"\{\{.*?\}\}", plain))
    return faults


def has_exercises(chapter: Chapter) -> list[str]:
    text = "\n".join(chapter.text)
    faults = []
    marks = {m: len(re.findall(rf"^`{{3,}}\{{{m}\}}", text, re.MULTILINE)) for m in EXERCISE_MARKS}
    if len(set(marks.values())) > 1:
        faults.append(f"marks that do not belong together: {marks}")
    if marks["exercise-start"] < EXERCISES:
        faults.append(f"{marks['exercise-start']} exercises, at least {EXERCISES}")
    labels = re.findall(r"^`{3,}\{exercise-start\}[^`]*?^:label: (\S+)$", text, re.MULTILINE)
    solved = re.findall(r"^`{3,}\{solution-start\} (\S+)$", text, re.MULTILINE)
    if sorted(labels) != sorted(solved) or len(set(labels)) < marks["exercise-start"]:
        faults.append(f"exercises {sorted(labels)}, but solutions of {sorted(solved)}")
    return faults


def _called(node: ast.AST) -> str:
    """The name of the function that is called; "" where nothing is."""
    func = node.func if isinstance(node, ast.Call) else None
    return getattr(func, "id", getattr(func, "attr", ""))


def _claims(cell: dict[str, Any]) -> bool:
    return any(_called(node) == "claim" for node in ast.walk(tree(cell)))


def claims_are_compared(chapter: Chapter) -> list[str]:
    claiming = [cell for cell in chapter.code if _claims(cell)]
    faults = [] if claiming else ["no claim"]
    for cell in claiming:
        printed = "".join("".join(o.get("text", "")) for o in cell["outputs"])
        place = f"cell {cell.get('execution_count')}"
        if any(tag.startswith("nbval-") for tag in tags(cell)) or "NBVAL_" in source(cell):
            faults.append(f"{place}: a claim whose output is not compared")
        if "✓" not in printed:
            faults.append(f"{place}: a claim that printed nothing")
    return faults


def what_is_shown_ends_its_cell(chapter: Chapter) -> list[str]:
    """`show` and `table` return what they show: a notebook displays a cell's last value alone."""
    faults = []
    for cell in chapter.code:
        for statement in tree(cell).body[:-1]:
            name = _called(statement.value) if isinstance(statement, ast.Expr) else ""
            if name in ("show", "table"):
                faults.append(f"line {statement.lineno}: {name}(...) is not shown")
    return faults


def nbval_tags_are_known(chapter: Chapter) -> list[str]:
    """nbval passes over a tag that it does not know, and some that it knows weaken the proof."""
    allowed = {"nbval-ignore-output"} & set(metadata_tags)
    faults = []
    for cell in chapter.cells:
        odd = [t for t in tags(cell) if re.search("nbval|raises|skip", t.lower())]
        faults += [f"the tag {tag}" for tag in odd if tag not in allowed]
        if cell["cell_type"] == "code" and re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)_", source(cell)):
            faults.append("a comment to nbval: use the tag, which the page does not show")
    return faults


def ends_with_references(chapter: Chapter) -> list[str]:
    heads = [h for t in chapter.text for h in re.findall(r"^#{1,6} (.+?)\s*$", t, re.MULTILINE)]
    return [] if heads and heads[-1] == "References" else [f"the last section is {heads[-1:]}"]


def is_planned(chapter: Chapter) -> list[str]:
    return [] if chapter.name in PLANNED else [f"{chapter.name} is no chapter of the plan"]


RULES: tuple[Callable[[Chapter], list[str]], ...] = (
    is_planned,
    setup_is_first,
    executed_in_order,
    outputs_are_clean,
    ids_are_fixed,
    is_short,
    redefines_nothing,
    uses_what_names_it,
    images_have_alt,
    markdown_is_plain,
    has_exercises,
    claims_are_compared,
    what_is_shown_ends_its_cell,
    nbval_tags_are_known,
    ends_with_references,
)


def test_there_is_a_chapter() -> None:
    assert CHAPTERS  # else the tests below would have nothing to fail on


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter(name: str, rule: Callable[[Chapter], list[str]]) -> None:
    faults = rule(CHAPTERS[name])
    assert not faults, "\n".join([name, *faults])


# The book as a whole


def toc_files(node: dict[str, Any]) -> Iterator[str]:
    yield from (node[key] for key in ("root", "file") if key in node)
    for key in ("parts", "chapters", "sections"):
        for child in node.get(key, []):
            yield from toc_files(child)


def toc_faults(toc: dict[str, Any], there: set[str]) -> list[str]:
    listed = list(toc_files(toc))
    faults = [f"{name} is listed {n} times" for name, n in Counter(listed).items() if n > 1]
    faults += [f"{name} is listed, but is not there" for name in listed if name not in there]
    faults += [f"{name} is not in _toc.yml" for name in sorted(there - set(listed))]
    chapters = [name for name in listed if re.match(r"book/\d", name)]
    return faults + [f"not in order: {chapters}"] * (chapters != sorted(chapters))


def test_the_table_of_contents_lists_the_files_that_are_there() -> None:
    pages = [path for kind in ("md", "ipynb") for path in BOOK.glob(f"*.{kind}")]
    assert not toc_faults(TOC, {f"book/{path.stem}" for path in pages})


# What is tracked

GENERATED = re.compile(
    r"(^|/)(_build|build|\.venv|__pycache__|\.ipynb_checkpoints|[^/]+\.egg-info)/"
    r"|\.(pt|pth|pkl|pickle|npz|zip|tar|gz|tgz|bz2|xz|7z|whl|pyc)$"
)
MEGABYTE = 2**20
# Assembled, so that this file does not hold what it looks for.
HOMES = "|".join(("root", "home", "work", "opt", "Users", "mnt"))
FOREIGN = re.compile(
    rf"(?<![\w.~/$)}}-])/(?:{HOMES})/|[A-Z]:\\Users\\|\bfile:/{{2}}|"
    + r"\b(?:pypi|pythonhosted)\.org"
)


def tracked() -> list[str]:
    """The files that git keeps or is about to keep; without git there is nothing to scan."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def foreign(text: str) -> list[str]:
    found = [text[max(0, m.start() - 30) : m.end() + 30] for m in FOREIGN.finditer(text)]
    return found + [str(ROOT)] * (str(ROOT) in text)


def test_no_file_names_a_machine_or_a_registry() -> None:
    names = tracked()
    assert "Makefile" in names
    faults = {}
    for name in names:
        # The bytes of a picture are no text; their base64 could hold any short pattern.
        text = (ROOT / name).read_bytes().decode("utf-8", errors="ignore")
        text = re.sub(r'"image/(png|jpeg)": "[^"]*"', "", text)
        faults |= {name: found} if (found := foreign(text)) else {}
    assert not faults


def test_nothing_generated_is_tracked() -> None:
    assert [name for name in tracked() if GENERATED.search(name)] == []
    large = [name for name in tracked() if (ROOT / name).stat().st_size > MEGABYTE]
    kept = ("book/checkpoints/", "lib/attnbook/trained/weights/", "book/0", "book/1")
    assert [n for n in large if not n.startswith(kept)] == []


# The rules see the faults


def cell(text: str, count: int | None = None, *outputs: dict, **metadata: Any) -> dict[str, Any]:
    made = {"id": f"c{count}", "metadata": metadata, "source": text.splitlines(keepends=True)}
    if count is None:
        return {**made, "id": f"m{abs(hash(text))}", "cell_type": "markdown"}
    return {**made, "cell_type": "code", "execution_count": count, "outputs": list(outputs)}


def exercise(label: str) -> str:
    return (
        f"```{{exercise-start}} A title\n:label: {label}\n```\nDo.\n\n```{{exercise-end}}\n```\n\n"
        f"```{{solution-start}} {label}\n:class: dropdown\n```\nDone.\n\n```{{solution-end}}\n```\n"
    )


ALT = "A line from the lower left corner to the upper right corner."
IMAGE = {
    "output_type": "execute_result",
    "data": {"image/png": "aaaa", "text/plain": "<IPython.core.display.Image object>"},
    "metadata": {"image/png": {"alt": ALT}},
}


def good() -> Chapter:
    """A chapter without a fault: it reads the objects of the library that name it."""
    name = PLANNED[-1]
    named = [path for path, value in public().items() if chapter_of(value.__doc__) == name]
    cells = [
        cell("# Title\n\nPlain text with $x_{i}$ and `code`.\n\n```python\nx = {}\n```"),
        cell(SETUP, 1, tags=["setup"]),
        cell(
            "from attnbook.claim import claim\nfrom attnbook.attention import attention\n"
            "x = attention\nclaim('one', True)",
            2,
            {"output_type": "stream", "name": "stdout", "text": ["✓ one\n"]},
        ),
        cell("plots.display(fig, alt=text)", 3, IMAGE, mystnb={"image": {"alt": ALT}}),
        cell(f"print({', '.join(['x', *named])})", 4, tags=["nbval-ignore-output"]),
        cell("## Exercises\n" + "".join(map(exercise, ("a", "b", "c")))),
        cell("## References\n\n[A 2017](https://example.org/a)"),
    ]
    metadata = {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}}
    nb = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return Chapter(name, copy.deepcopy(nb))


def _set(place: int, key: str, value: Any) -> Callable[[Chapter], Any]:
    return lambda chapter: chapter.cells[place].__setitem__(key, value)


def _add(text: str, count: int | None = None, *outputs: dict, **metadata: Any) -> Callable:
    return lambda chapter: chapter.cells.insert(-1, cell(text, count, *outputs, **metadata))


WRONG: tuple[tuple[Callable, Callable[[Chapter], Any]], ...] = (
    (is_planned, lambda c: setattr(c, "name", "04_selfattention")),
    (setup_is_first, _set(1, "source", ["import importlib.util\n"])),
    (setup_is_first, _set(1, "metadata", {})),
    (setup_is_first, lambda c: c.cells.insert(1, cell("import torch", 1))),
    (setup_is_first, _set(1, "source", SETUP.replace(ADDRESS, "https://example.org/other"))),
    (executed_in_order, _set(3, "execution_count", None)),
    (executed_in_order, _set(3, "execution_count", 5)),
    (outputs_are_clean, _add("1", 5, {"output_type": "stream", "name": "stderr", "text": ["x"]})),
    (outputs_are_clean, _add("1", 5, {"output_type": "error", "ename": "E", "traceback": []})),
    (outputs_are_clean, lambda c: c.nb["metadata"].update(widgets={})),
    (outputs_are_clean, lambda c: c.nb["metadata"]["language_info"].update(version="3.11.7")),
    (outputs_are_clean, lambda c: c.cells[2]["metadata"].update(execution={"iopub": "now"})),
    (
        outputs_are_clean,
        _add("1", 5, {"output_type": "display_data", "data": {"application/x.widget-view": 1}}),
    ),
    (ids_are_fixed, lambda c: c.cells[0].pop("id")),
    (ids_are_fixed, _set(0, "id", "c1")),
    (ids_are_fixed, lambda c: c.nb.update(nbformat_minor=4)),
    (is_short, lambda c: c.cells.extend(cell("1", i) for i in range(MAX_CELLS - 3))),
    (is_short, _add("\n".join("1" * 16), 5)),
    (redefines_nothing, _add("def attention(x):\n    return x", 5)),
    (redefines_nothing, _add("class EncoderLayer:\n    pass", 5)),
    (redefines_nothing, _add("a, (train, b) = 1, (2, 3)", 5)),
    (redefines_nothing, _add("if True:\n    for seed in range(3):\n        pass", 5)),
    (redefines_nothing, _add("(claim := print)", 5)),
    (uses_what_names_it, lambda c: setattr(c, "name", "04_self_attention")),
    (images_have_alt, lambda c: c.cells[3]["outputs"][0].update(metadata={})),
    (images_have_alt, _set(3, "metadata", {})),
    (images_have_alt, lambda c: c.cells[3]["outputs"].append(IMAGE)),
    (
        images_have_alt,
        lambda c: (
            c.cells[3]["outputs"][0].update(metadata={"image/png": {"alt": "a line"}}),
            c.cells[3]["metadata"]["mystnb"]["image"].update(alt="a line"),
        ),
    ),
    (markdown_is_plain, _add("```{note}\nMind.\n```")),
    (markdown_is_plain, _add(":::{admonition} Mind\n:::")),
    (markdown_is_plain, _add("See {cite}`vaswani2017`.")),
    (markdown_is_plain, _add("(label)=\n## Head")),
    (markdown_is_plain, _add("At {{ repository }}.")),
    (markdown_is_plain, _add("% a comment")),
    (has_exercises, lambda c: c.cells.pop(-2)),
    (has_exercises, _add("```{exercise-start}\n:label: d\n```\nDo.\n\n```{exercise-end}\n```")),
    (has_exercises, _add(exercise("a"))),
    (claims_are_compared, lambda c: c.cells.pop(2)),
    (claims_are_compared, lambda c: c.cells[2]["metadata"].update(tags=["nbval-ignore-output"])),
    (claims_are_compared, _set(2, "outputs", [])),
    (what_is_shown_ends_its_cell, _add("show(str)\nshow(int)", 5)),
    (what_is_shown_ends_its_cell, _add("table(['a'], [])\nx = 1", 5)),
    (nbval_tags_are_known, _set(4, "metadata", {"tags": ["nbval-ignore-outputs"]})),
    (nbval_tags_are_known, _set(4, "metadata", {"tags": ["NBVAL_IGNORE_OUTPUT"]})),
    (nbval_tags_are_known, _set(4, "metadata", {"tags": ["nbval-skip"]})),
    (nbval_tags_are_known, _set(4, "metadata", {"tags": ["raises-exception"]})),
    (nbval_tags_are_known, _set(4, "metadata", {"tags": ["skip-execution"]})),
    (nbval_tags_are_known, _add("# NBVAL_SKIP\nx", 5)),
    (ends_with_references, lambda c: c.cells.append(cell("## Appendix"))),
    (ends_with_references, lambda c: c.cells.pop()),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_chapter_has_no_fault(rule) -> None:
    assert rule(good()) == []
    assert rule in {wrong for wrong, _ in WRONG}


@pytest.mark.parametrize(("rule", "spoil"), WRONG, ids=lambda x: getattr(x, "__name__", ""))
def test_a_wrong_chapter_is_seen(rule, spoil) -> None:
    chapter = good()
    spoil(chapter)
    assert rule(chapter)


@pytest.mark.parametrize(
    "line",
    [
        "def attention_loop(query):\n    attention = 1\n    return attention",
        "from attnbook.attention import attention as library",
        "mean = [seed for seed in range(3)]",
        "model.train = 3",
        "weights['train'] = 3",
    ],
)
def test_what_redefines_nothing_is_let_through(line) -> None:
    chapter = good()
    _add(line, 5)(chapter)
    assert redefines_nothing(chapter) == []


def test_the_table_of_contents_is_compared_both_ways() -> None:
    toc = {"root": "book/a", "parts": [{"chapters": [{"file": "book/01_x"}]}]}
    assert toc_faults(toc, {"book/a", "book/01_x"}) == []
    assert toc_faults(toc, {"book/a"})
    assert toc_faults(toc, {"book/a", "book/01_x", "book/02_y"})
    twice = {**toc, "chapters": [{"file": "book/a"}]}
    assert toc_faults(twice, {"book/a", "book/01_x"})
    turned = {"root": "book/a", "chapters": [{"file": "book/02_y"}, {"file": "book/01_x"}]}
    assert toc_faults(turned, {"book/a", "book/01_x", "book/02_y"})


@pytest.mark.parametrize("home", ["root", "home", "work", "opt", "Users"])
def test_a_path_of_a_machine_is_seen(home) -> None:
    assert foreign(f'see "/{home}/someone/book"')
    assert foreign(f"at /{home}/x")
    assert not foreign(f"https://example.org/{home}/page and the/{home}/page and $(HOME)/{home}/x")


def test_the_host_of_a_registry_and_a_generated_file_are_seen() -> None:
    assert foreign("https://files." + "pythonhosted" + ".org/packages/x")
    assert foreign("pip install -i https://" + "pypi" + ".org/simple")
    assert not foreign("the wheel on PyPI")
    for name in ("_build/html/index.html", "a/model.pt", "data/x.csv.gz", "lib/a.egg-info/SOURCES"):
        assert GENERATED.search(name)
    for name in ("tools/build_site.py", "book/checkpoints/a.safetensors", "book/a.md"):
        assert not GENERATED.search(name)
