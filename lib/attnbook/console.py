"""The training and the terminal: the progress bar, and Ctrl-C."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tqdm import tqdm


def progress_bar(steps: int, done: int, *, hidden: bool = False) -> tqdm:
    """A progress bar over the steps; hidden also where ATTNBOOK_PROGRESS is 0."""
    off = hidden or os.environ.get("ATTNBOOK_PROGRESS") == "0"
    # stdout: notebooks paint stderr red, as if something had gone wrong.
    return tqdm(total=steps, initial=done, unit="step", file=sys.stdout, disable=off, ncols=80)


@contextmanager
def ctrl_c() -> Iterator[SimpleNamespace]:
    """Note Ctrl-C (`.pressed`) for the end of the step, since half an update is no usable model."""
    seen = SimpleNamespace(pressed=False)
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    # Signals reach the main thread alone, and none a process in the background of a script.
    if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield seen
        return

    def note(number: int, frame: Any) -> None:
        seen.pressed = True
        signal.signal(signal.SIGINT, before)  # a second one stops at once

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
