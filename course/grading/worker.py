"""Where students' code runs. `students.Workers` starts it: `worker.py FD walls|open MB NUMBER`.

The first process enters the sandbox, imports torch once, and runs nothing of a student's. For each
request it forks: a keeper, which waits and tells how its child ended, and the child, which runs
the cells and answers calls, one message a call. What the child says is only numbers to the grader.
"""

import contextlib
import importlib.abc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import sandbox  # noqa: E402

sys.path.remove(str(FOLDER))


class NoLibrary(importlib.abc.MetaPathFinder):
    """The tasks ask for what `attnbook` defines, so it is not there."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "attnbook":
            raise ImportError("the tasks are solved without attnbook")
        return


def main(number: int, walls: bool, memory: int) -> None:
    orders = socket.socket(fileno=number)
    why = ""
    if walls:
        walls, why = sandbox.possible()
    if walls:
        sandbox.enter()
    import torch

    torch.set_num_threads(1)
    sys.meta_path.insert(0, NoLibrary())
    orders.sendall(json.dumps({"walls": walls, "why": why}).encode() + b"\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are told of by their control socket
    while True:
        order, handles, _, _ = socket.recv_fds(orders, 64, 2)
        if not order:
            return
        if (pid := os.fork()) == 0:
            orders.close()
            keep(*handles, walls, memory, int(order))
        for handle in handles:
            os.close(handle)
        orders.sendall(b"%d\n" % pid)


def keep(talk: int, control: int, walls: bool, memory: int, seconds: int) -> None:
    """Never returns. With walls, another fork: the first process of a space of its own, whose end
    ends all that the student's code has started."""
    os.setsid()
    sandbox.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if walls:
        sandbox.alone()
        if (first := os.fork()) != 0:
            os.close(talk)
            os.close(control)
            os.waitpid(first, 0)
            os._exit(0)
        sandbox.die_with_parent()
        sandbox.scratch()
    if (child := os.fork()) == 0:
        sandbox.die_with_parent()
        if walls:
            os.setsid()  # it can signal no keeper; without walls, it is ended by its group
        run(talk, walls, memory, seconds)
    os.close(talk)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        os.write(control, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def run(talk: int, walls: bool, memory: int, seconds: int) -> None:
    """Never returns: answers requests until there are no more."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.dup2(talk, 3)
        os.closerange(4, 4096)
        sandbox.limit(memory, seconds)
        if walls:
            sandbox.drop_privileges()
            os.chdir(sandbox.HOME)
            os.environ |= dict.fromkeys(("HOME", "TMPDIR"), sandbox.HOME)
        with socket.socket(fileno=3) as line, line.makefile("rwb") as stream:
            space: dict = {"__name__": "__main__"}
            for request in map(json.loads, stream):
                sandbox.limit_next(request["seconds"])
                reply = answer(request, space)
                stream.write(json.dumps(reply | {"id": request["id"]}).encode() + b"\n")
                stream.flush()
        status = 0
    finally:
        os._exit(status)


def answer(request: dict, space: dict) -> dict:
    """What came of one request: {"value": …}, or {"error": …} in words."""
    try:
        if request["do"] == "handout":
            module = ModuleType("handout")
            exec(request["code"], vars(module))
            sys.modules["handout"] = module
            space["\0plain"], space["\0tensor"] = module.plain, module.tensor
            module.check = lambda *_, **__: None  # grading runs the tests, not the cells
        elif request["do"] == "cell":
            exec(compile(request["code"], "<the notebook>", "exec"), space)
        else:
            if (function := space.get(request["function"])) is None:
                return {"error": f"{request['function']} is not defined"}
            value = function(*map(space["\0tensor"], request["args"]))
            return {"value": space["\0plain"](value)}
    except NotImplementedError:
        return {"error": "not done"}
    except BaseException as error:  # SystemExit and KeyboardInterrupt end a cell, not the process
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    return {"value": None}


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "walls", int(sys.argv[3]))
