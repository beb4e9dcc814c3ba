"""The library's own rules: one way of imports, short files, a chapter and a test for everything."""

import ast
from pathlib import Path

import pytest

from toc import PLANNED

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "lib" / "attnbook"
FILES = sorted(file for file in LIBRARY.rglob("*.py") if file.stat().st_size)

# Who stands on whom: a module imports from lower ranks alone.
RANKS = {
    "checks": 0,
    "masks": 1,
    "positions": 1,
    "embeddings": 1,
    "cache": 1,
    "rollout": 1,
    "sublayers": 1,
    "transplant": 1,
    "attention": 2,
    "layers": 3,
    "windowed": 3,
    "models": 4,
    "decoding": 5,
    "objectives": 5,
    "pretrained": 5,
    "metrics": 6,
    "parallel": 5,
    "optimizers": 5,
    "training": 6,
    "dna": 7,
    "sentiment": 7,
    "tagging": 7,
    "pronouncing": 7,
    "writing": 7,
    "blank_filling": 7,
    "digits": 7,
    "translating": 7,
    "heads": 5,
    "worked_examples": 7,
    "linear_functions": 7,
    "guessing": 7,
    "painting": 7,
    "speakers": 7,
    "few_labels": 7,
    "trained": 8,
    "photographs": 9,
    "interactive": 7,
}
MODELS = {name for name, rank in RANKS.items() if rank > 0}
STRANGERS = {
    "data": MODELS,
    "tokenization": MODELS,
    "plots": MODELS | {"checkpoints", "data"},
    # They show formulas, nothing that was trained.
    "interactive": MODELS - {"interactive", "attention", "positions"} | {"checkpoints", "data"},
}


def name_of(file):
    """attnbook/data/fetch.py -> data.fetch"""
    parts = file.relative_to(LIBRARY).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


NAMES = {name_of(file): file for file in FILES}


def imports(source, names):
    """The modules of the library that a source imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name attnbook, so that a reader sees where to look"
            if node.module and node.module.split(".")[0] == "attnbook":
                module = node.module.removeprefix("attnbook").lstrip(".")
                for alias in node.names:
                    longer = f"{module}.{alias.name}".lstrip(".")
                    found.add(longer if longer in names else module)
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("attnbook").lstrip(".")
                for alias in node.names
                if alias.name.split(".")[0] == "attnbook"
            }
    return found


GRAPH = {
    name: imports(file.read_text(encoding="utf-8"), NAMES) - {""} for name, file in NAMES.items()
}


def top(name):
    return name.split(".")[0]


def test_how_imports_are_found():
    names = {"masks", "data", "data.fetch"}
    source = """
from attnbook import masks, __version__
from attnbook.data import fetch, SOURCES
import attnbook.layers as layers, torch
def late():
    from attnbook.training import train
"""
    assert imports(source, names) == {"masks", "", "data.fetch", "data", "layers", "training"}


@pytest.mark.parametrize("name", GRAPH)
def test_imports_point_one_way(name):
    mine = top(name)
    for other in map(top, GRAPH[name]):
        if mine in RANKS and other in RANKS and mine != other:
            assert RANKS[other] < RANKS[mine], f"{name} imports {other}, which stands above it"
        assert other not in STRANGERS.get(mine, ()), f"{name} must not know {other}"


def test_no_cycles():
    done = set()

    def visit(name, path):
        assert name not in path, f"a cycle: {' -> '.join((*path, name))}"
        if name not in done:
            for other in GRAPH.get(name, ()):
                visit(other, (*path, name))
            done.add(name)

    for name in GRAPH:
        visit(name, ())


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_no_file_asks_to_be_cut_in_two(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 250


# The library's own tools, which no chapter is about.
OWN_TOOLS = (
    "checks",
    "console",
    "data.__main__",
    "data.archive",
    "data.fetch",
    "data.index",
    "data.sides",
    "data.sources",
    "interactive.output",
    "pretrained.states",
    "tokenization.frames",
    "trained.__main__",
    "trained.keep",
    "trained.recipe",
)


def public_objects():
    """Functions and classes, but for the tools, and errors, which come with what raises them."""
    for name, file in NAMES.items():
        if name in OWN_TOOLS:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            public = isinstance(node, kinds) and not node.name.startswith("_")
            if public and not node.name.endswith("Error"):
                yield pytest.param(node, id=f"{name}.{node.name}")


@pytest.mark.parametrize("node", list(public_objects()))
def test_every_public_object_names_its_chapter(node):
    docstring = ast.get_docstring(node)
    assert docstring, "has no docstring"
    last = docstring.split("\n\n")[-1].splitlines()
    named = [line.removeprefix("Chapter: ") for line in last if line.startswith("Chapter: ")]
    assert len(named) == 1, "the last paragraph of the docstring has no line 'Chapter: NN_name'"
    assert named[0] in PLANNED


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_every_module_says_what_it_is(file):
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", sorted({top(name) for name in NAMES if name}))
def test_every_module_has_its_tests(name):
    tests = ROOT / "tests"
    own = tests / f"test_{name}.py"
    assert own.exists() or list((tests / name).glob("test_*.py")), f"{own.name} is missing"
