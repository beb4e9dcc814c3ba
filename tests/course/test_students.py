"""The processes that students' code runs in: what they can do, and how their end is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from course import handout
from course.grading.students import Ended, Limits, Workers

HANDOUT = Path(handout.__file__).read_text(encoding="utf-8")
# Processor time alone decides: the clock of a busy machine says nothing.
LIMITS = Limits(memory=1024, cell=1, call=1, process=20, patience=100)


def told(student, code):
    """What an expression is in there, as text: it comes back as the text of an error."""
    said = student.cell(f"raise LookupError(repr({code}))")
    return said.removeprefix("LookupError: ")


def started(workers):
    student = workers.start()
    student.handout(HANDOUT)
    return student


def test_behind_walls():
    with Workers(LIMITS) as workers:
        if not workers.walls:
            pytest.skip(f"no namespaces here: {workers.why_open}")
        student = started(workers)
        student.cell("import os, sys, socket, ctypes, gc")
        assert told(student, "os.listdir('/scratch')") == "[]"
        assert told(student, f"os.path.exists({__file__!r})") == "False"
        assert "OUT" not in told(student, "sorted(os.environ)")
        assert "HOME" in told(student, "sorted(os.environ)")
        for code, error in (
            ("open('/usr/x', 'w')", "Read-only file system"),
            ("open('/x', 'w')", "Read-only file system"),
            ("socket.create_connection(('192.0.2.1', 80))", "Network is unreachable"),
            ("open('x', 'wb').write(b'x' * 2**26)", "File too large"),
            ("import attnbook", "solved without attnbook"),
        ):
            assert error in student.cell(code)
        remount = "ctypes.CDLL(None).mount(None, b'/usr', None, 32 | 4096, None)"
        assert told(student, remount) == "-1"
        assert told(student, "os.getppid()") == "1"
        assert student.cell("os.kill(1, 9)") is None  # the first process is not to be ended
        assert student.cell("x = 3\ndef f(y): return y + x, [1, 2]") is None
        one = {"shape": [], "data": [5.0]}
        assert student.call("f", [2], 1) == {"parts": [one, {"shape": [2], "data": [1.0, 2.0]}]}
        assert student.call("g", [], 1) == "g is not defined"
        student.close()
        other = started(workers)
        assert "NameError" in other.cell("x")  # nothing of one process is in the next
        assert told(other, "__import__('os').listdir('/scratch')") == "[]"
        other.cell("import os\nfor _ in range(3):\n    os.fork()")
        other.close()
    # What a student's code has started ends with it.
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert workers.number not in left


@pytest.mark.parametrize("walls", [True, False])
def test_how_an_end_is_told(walls):
    ends = {
        "while True: pass": "more than 1 seconds of processor time",
        "import os; os._exit(7)": "ended itself, with code 7",
        "import os; os.abort()": "SIGABRT",
        "import os\nfor n in range(3, 20):\n"
        "    try: os.write(n, b'[' * 100000 + b'\\n')\n    except OSError: pass": "no answer",
        "import os\nfor n in range(3, 20):\n"
        "    try: os.write(n, b'{}\\n')\n    except OSError: pass": "nobody asked for",
    }
    with Workers(LIMITS, walls) as workers:
        for code, word in ends.items():
            student = started(workers)
            with pytest.raises(Ended, match=word):
                student.cell(code)
        student = started(workers)
        assert student.cell("import sys; sys.exit(3)") == "SystemExit: 3"
        assert student.cell("raise NotImplementedError") == "not done"
        assert "SyntaxError" in student.cell("def f(:")
        assert student.cell("import torch\ndef f(): return torch.ones(2 * 10**9)") is None
        assert "memory" in student.call("f", [], 1)
        student.close()


def test_a_sleeper_is_ended_by_the_clock():
    with Workers(Limits(cell=1, patience=1.0), walls=False) as workers:
        student = started(workers)
        with pytest.raises(Ended, match="no answer within 1 seconds"):
            student.cell("import time; time.sleep(1000)")


def test_without_namespaces_the_reason_is_told(monkeypatch):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import sandbox\n"
        "def no(flags): raise PermissionError('not allowed here')\n"
        "sandbox._unshare = no\nprint(sandbox.possible())"
    )
    folder = Path(handout.__file__).parent / "grading"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "(False, 'not allowed here')"
