"""`python -m attnbook.data [name ...]`: fetch all data sets, or those named, into the cache."""

import argparse
import sys

from attnbook.data.archive import DataError
from attnbook.data.fetch import fetch
from attnbook.data.sources import SOURCES


def main(arguments: list[str] | None = None) -> int:
    """Fetch and print one line a set; give 1 where one failed, after trying the others."""
    parser = argparse.ArgumentParser(prog="python -m attnbook.data", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(SOURCES))
    failed = 0
    for name in parser.parse_args(arguments).names or SOURCES:
        try:
            folder = fetch(name)
        except DataError as error:
            print(f"error: {error}", file=sys.stderr)
            failed = 1
        else:
            source = SOURCES[name]
            size = f"{source.n_bytes / 1e6:.1f} MB"
            print(f"{name:16} {source.version:10} {size:>9}  {folder}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
