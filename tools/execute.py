"""Run chapters from the top with fresh kernels and store their outputs. Called by `make execute`.

What is stored is the same for every run and machine wherever the chapter's own numbers are: counts
from 1, no stderr, no times, no names of kernels or hosts, fixed cell ids. A chapter that fails is
left as it was.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ipykernel.kernelspec
import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError
from nbformat import NotebookNode

BOOK = Path(__file__).resolve().parent.parent / "book"
SIDE_BY_SIDE = 2  # one thread each
CELL_TIMEOUT = 600  # seconds
QUIET = {"ATTNBOOK_PROGRESS": "0", "OMP_NUM_THREADS": "1"}
KEPT = ("tags", "mystnb")  # of a cell's metadata: the rest is what some editor left there
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ThisInterpreter(AsyncKernelManager):
    """Kernels of this very interpreter, whatever kernels the user has installed elsewhere."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(**ipykernel.kernelspec.get_kernel_dict())


class ChapterError(Exception):
    """A cell that failed: its number, source and traceback."""


def read(path: Path) -> NotebookNode:
    """A notebook of format 4.5 with an id for every cell."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["nbformat"] != 4:
            raise ValueError(f"its format is {raw['nbformat']}")
        _fix_ids(raw["cells"], path.stem.replace("_", "-"))
        nb = nbformat.reads(json.dumps({**raw, "nbformat_minor": 5}), as_version=4)
        nbformat.validate(nb)
    except (ValueError, KeyError, TypeError, nbformat.ValidationError) as error:
        raise ChapterError(f"its reading, since it is no notebook of format 4: {error}") from error
    return nb


def _fix_ids(cells: list[dict[str, Any]], chapter: str) -> None:
    """Ids stay as they are; one that is missing or taken is made from the chapter and the place."""
    # Before nbformat sees the cells: it would draw what is missing at random.
    taken = {cell["id"] for cell in cells if "id" in cell}
    seen: set[str] = set()
    for i, cell in enumerate(cells):
        if "id" not in cell or cell["id"] in seen:
            new = f"{chapter}-{i:02d}"
            while new in taken:
                new += "-new"
            cell["id"] = new
            taken.add(new)
        seen.add(cell["id"])


async def run(nb: NotebookNode, folder: Path, env: dict[str, str] | None = None) -> NotebookNode:
    """Run the cells of `nb` in place, in a fresh kernel that works in `folder`."""
    at = 0

    def note(cell: NotebookNode, cell_index: int) -> None:
        nonlocal at
        at = cell_index

    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        nb,
        kernel_manager_class=ThisInterpreter,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # the kernel's own remarks, not the chapter's
        on_cell_start=note,
    )
    try:
        await client.async_execute(cwd=str(folder), env={**os.environ, **QUIET, **(env or {})})
    except (CellExecutionError, CellControlSignal, DeadKernelError) as error:
        # nbclient's message holds the traceback, and the source only where the cell raised.
        source = "" if isinstance(error, CellExecutionError) else nb.cells[at].source + "\n\n"
        raise ChapterError(f"cell {at + 1} of {len(nb.cells)}:\n{source}{error}") from error
    return nb


def clean(nb: NotebookNode) -> list[str]:
    """Leave only what belongs on the page; gives back what was said on stderr."""
    nb.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    said = []
    for cell in nb.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in KEPT})
        if cell.cell_type != "code":
            continue
        outputs: list[NotebookNode] = []
        for output in cell.outputs:
            stream = output.get("name")  # None for all other kinds
            if stream == "stderr":
                said.append(output.text)
            elif stream and outputs and outputs[-1].get("name") == stream:
                outputs[-1].text += output.text  # in how many pieces it came is chance
            else:
                outputs.append(output)
        cell.outputs = outputs
        _copy_alt(cell)
    return said


def _copy_alt(cell: NotebookNode) -> None:
    """MyST-NB reads the alternative text of an image from the cell's metadata alone."""
    metadata: dict[str, Any] = cell.metadata
    metadata.get("mystnb", {}).get("image", {}).pop("alt", None)
    for output in cell.outputs:
        for kind, about in output.get("metadata", {}).items():
            if kind.startswith("image/") and "alt" in about:
                image = metadata.setdefault("mystnb", NotebookNode()).setdefault(
                    "image", NotebookNode()
                )
                image["alt"] = about["alt"]
    for inner, outer in (("image", metadata.get("mystnb", {})), ("mystnb", metadata)):
        if inner in outer and not outer[inner]:
            del outer[inner]


def write(nb: NotebookNode, path: Path) -> None:
    """Write the whole notebook or nothing."""
    nbformat.validate(nb)
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(nbformat.writes(nb).rstrip("\n") + "\n", encoding="utf-8", newline="\n")
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


async def execute(path: Path) -> bool:
    """Run one chapter and store it; says on one line what came of it."""
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            nb = await run(read(path), Path(folder))
    except ChapterError as error:
        message = str(error) if sys.stderr.isatty() else COLOUR.sub("", str(error))
        print(f"{path.stem}  FAILED, and left as it was, at {message}", file=sys.stderr)
        return False
    said = "".join(clean(nb)).strip()
    write(nb, path)
    print(f"{path.stem}  {time.monotonic() - start:.0f} s", flush=True)
    if said:
        print(f"{path.stem}  was not stored, but stood on stderr:\n{said}", file=sys.stderr)
    return True


async def execute_all(paths: list[Path]) -> bool:
    free = asyncio.Semaphore(SIDE_BY_SIDE)

    async def in_turn(path: Path) -> bool:
        async with free:
            return await execute(path)

    return all(await asyncio.gather(*map(in_turn, paths)))


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 04_self_attention")
    parser.add_argument("--book", type=Path, default=BOOK, help="the folder of the chapters")
    given = parser.parse_args(args)
    known = {path.stem: path for path in sorted(given.book.glob("[0-9][0-9]_*.ipynb"))}
    unknown = [name for name in given.names if name not in known]
    if unknown or not known:
        wrong = f"no chapter is called {', '.join(unknown)}" if unknown else "no chapters"
        there = ", ".join(known) or "none"
        print(f"{wrong}; there are, in {given.book.name}/: {there}", file=sys.stderr)
        return 1
    paths = [known[name] for name in dict.fromkeys(given.names)] or list(known.values())
    return 0 if asyncio.run(execute_all(paths)) else 1


if __name__ == "__main__":
    sys.exit(main())
