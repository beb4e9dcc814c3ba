"""Put a copy of each chapter into a folder of its own, where `make chapters` runs it.

There it has nothing beside it: a reader who has one notebook and nothing else can run it. With
--left it is told what the runs left behind, which must be nothing.
"""

import argparse
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOOK, ALONE = ROOT / "book", ROOT / "build" / "alone"


def copy_chapters(book: Path = BOOK, alone: Path = ALONE) -> None:
    """book/NN_name.ipynb -> build/alone/NN_name/NN_name.ipynb, in a fresh folder."""
    shutil.rmtree(alone, ignore_errors=True)
    for chapter in sorted(book.glob("[0-9][0-9]_*.ipynb")):
        folder = alone / chapter.stem
        folder.mkdir(parents=True)
        shutil.copy(chapter, folder)


def left_behind(alone: Path = ALONE) -> list[str]:
    """What lies beside the copies, as paths from `alone`."""
    files = (path for path in alone.rglob("*") if path.is_file())
    names = (path.relative_to(alone).as_posix() for path in files)
    return sorted(name for name in names if name != f"{Path(name).stem}/{Path(name).stem}.ipynb")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--left", action="store_true", help="tell what the runs left behind")
    if not parser.parse_args(arguments).left:
        copy_chapters()
        return 0
    for name in (found := left_behind()):
        print(f"A chapter left a file in its folder: {name}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
