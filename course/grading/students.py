"""The grader's end of the line to the processes of `worker`.

What comes back is read as JSON, held to the form of plain numbers, and never trusted beyond that.
"""

import contextlib
import json
import math
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_BYTES = 8 * 2**20  # of one reply
WORKER = Path(__file__).with_name("worker.py")
# Nothing of the grader's environment reaches a student: no path, no key.
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "PYTHONHASHSEED": "0",
}


class Ended(Exception):
    """The student's process is no more; the message says why."""


@dataclass(frozen=True)
class Limits:
    """memory in MB; seconds of processor time for a cell, at most for a call, and in all for one
    process; patience: how many seconds of the clock a second of processor time may take."""

    memory: int = 2048
    cell: int = 10
    call: int = 60
    process: int = 300
    patience: float = 10.0


class Workers:
    """The process that forks the students', started once; torch is imported there once."""

    def __init__(self, limits: Limits | None = None, walls: bool = True) -> None:
        self.limits = limits or Limits()
        self._orders, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self.number = secrets.token_hex(4)  # tells these processes from others' in a list
        command = [sys.executable, "-I", str(WORKER), str(theirs.fileno())]
        command += ["walls" if walls else "open", str(self.limits.memory), self.number]
        self._process = subprocess.Popen(
            command,
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._replies = self._orders.makefile("rb")
        ready = self._replies.readline()
        if not ready:
            self.close()
            raise RuntimeError("the students' process did not start: can it import torch?")
        told = json.loads(ready)
        self.walls, self.why_open = told["walls"], told["why"]

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._replies.close()
        self._orders.close()
        self._process.kill()
        self._process.wait()

    def start(self) -> "Student":
        """A fresh process, in which nothing has run."""
        talk, their_talk = socket.socketpair()
        control, their_control = socket.socketpair()
        with self._lock:  # one order and its answer at a time
            order = [str(self.limits.process).encode()]
            socket.send_fds(self._orders, order, [their_talk.fileno(), their_control.fileno()])
            pid = int(self._replies.readline())
        their_talk.close()
        their_control.close()
        return Student(pid, talk, control, self.limits)


class Student:
    """One process. `ask` raises Ended where it did not answer; a new one is needed then."""

    def __init__(
        self, pid: int, talk: socket.socket, control: socket.socket, limits: Limits
    ) -> None:
        self._pid, self._talk, self._control, self._limits = pid, talk, control, limits
        self._read = bytearray()

    def handout(self, code: str) -> None:
        self._ask({"do": "handout", "code": code}, 10)

    def cell(self, code: str, seconds: int | None = None) -> str | None:
        """Run a cell: None, or the error that it ended with."""
        reply = self._ask({"do": "cell", "code": code}, seconds or self._limits.cell)
        return str(reply["error"])[:300] if "error" in reply else None

    def call(self, function: str, args: list, seconds: int) -> dict[str, Any] | str:
        """What the function gives, as plain numbers, or in words why there are none."""
        request = {"do": "call", "function": function, "args": args}
        reply = self._ask(request, min(seconds, self._limits.call))
        if "error" in reply:
            return str(reply["error"])[:300]
        return trusted(reply.get("value"))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._control.settimeout(5)
            while self._control.recv(64):  # until the last process that holds it is gone
                pass
        self._talk.close()
        self._control.close()

    def _ask(self, request: dict, seconds: int) -> dict[str, Any]:
        name = secrets.token_hex(8)
        line = json.dumps(request | {"id": name, "seconds": seconds}).encode() + b"\n"
        until = time.monotonic() + self._limits.patience * (seconds + 1)
        try:
            self._talk.settimeout(max(0.1, until - time.monotonic()))
            self._talk.sendall(line)
            reply = json.loads(self._line(until))
        except TimeoutError:
            self.close()
            raise Ended(f"no answer within {seconds} seconds: an endless loop?") from None
        except OSError:
            raise Ended(self._how(seconds)) from None
        except (ValueError, RecursionError):
            self.close()
            raise Ended("an answer that is no answer: damaged, or too long") from None
        if not isinstance(reply, dict) or reply.get("id") != name:
            self.close()
            raise Ended("an answer that nobody asked for")
        return reply

    def _line(self, until: float) -> bytes:
        while (end := self._read.find(b"\n")) < 0:
            self._talk.settimeout(max(0.01, until - time.monotonic()))
            piece = self._talk.recv(1 << 16)
            if not piece:
                raise ConnectionError
            self._read += piece
            if len(self._read) > MOST_BYTES:
                raise ValueError("too long")
            if time.monotonic() > until:
                raise TimeoutError
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return line

    def _how(self, seconds: int) -> str:
        """In words, how the process ended that hung up."""
        status = b""
        with contextlib.suppress(OSError):
            self._control.settimeout(60)
            status = self._control.recv(64)
        self.close()
        code = int(status) if status.lstrip(b"-").isdigit() else None
        if code == -signal.SIGXCPU:
            return f"more than {seconds} seconds of processor time: an endless loop?"
        if code is not None and code < 0:
            return f"the process was ended by {signal.Signals(-code).name}"
        return f"the process ended itself, with code {code}"


def trusted(value: Any) -> dict[str, Any] | str:
    """A reply held to the form of plain numbers, or in words what it is not."""
    try:
        return _numbers(value, 0)
    except (TypeError, ValueError, OverflowError, KeyError):
        return "no numbers came back"


def _numbers(value: Any, depth: int) -> dict[str, Any]:
    if depth > 3 or not isinstance(value, dict):
        raise TypeError
    if "parts" in value:
        if not isinstance(value["parts"], list) or len(value["parts"]) > 64:
            raise ValueError
        return {"parts": [_numbers(part, depth + 1) for part in value["parts"]]}
    shape, data = value["shape"], value["data"]
    if not isinstance(shape, list) or not isinstance(data, list) or len(shape) > 8:
        raise TypeError
    if any(type(n) is not int or not 0 <= n <= MOST_BYTES for n in shape):
        raise TypeError
    if any(type(x) not in (int, float) for x in data) or len(data) != math.prod(shape):
        raise ValueError
    return {"shape": shape, "data": [float(x) for x in data]}
