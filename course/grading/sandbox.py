"""Walls around the processes of students: no network, no file but Python's own, no privileges.

Linux only, by user namespaces; no root is needed. `enter` raises OSError where the system does not
allow them, and the grader then says in each feedback what is not cut off. The numbers are those
of the kernel's headers.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = (
    0x00020000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
READ_ONLY, NO_SUID, NO_DEV, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
DETACH = 2
PARENT_DEATH, DROP_CAPABILITY, NO_NEW_PRIVILEGES = 1, 24, 38
CAPABILITIES = 0x20080522  # version 3 of capset's header
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo")
HOME = "/scratch"  # not /tmp, where the environment itself may lie
SCRATCH = "size=64m,nr_inodes=2000"  # what a student's code may write, in memory
MEGABYTE = 2**20


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _unshare(flags: int) -> None:
    _checked(_libc().unshare(flags), "unshare")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    def text(x: str | None) -> bytes | None:
        return x.encode() if x else None

    result = _libc().mount(text(source), text(target), text(kind), flags, text(data))
    _checked(result, f"mount on {target}")


def possible() -> tuple[bool, str]:
    """Whether the walls can be put up here, or why not: a child tries, so that nothing is half
    done in the calling process. Some systems allow a namespace, and then no mount in it."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            enter()
            alone()
            if os.fork() == 0:
                scratch()
                drop_privileges()
                os.write(write, b"yes")
            else:
                os.wait()
        except BaseException as error:
            os.write(write, str(error).encode()[:300])
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as told:
        said = told.read().decode(errors="replace")
    return said == "yes", "" if said == "yes" else said


def enter() -> None:
    """Leave the network, and every folder save the system's and Python's own, now read-only.

    For a process with a single thread, once. Its children stay inside.
    """
    if sys.platform != "linux" or os.uname().machine not in PIVOT_ROOT:
        raise OSError("namespaces: on Linux alone")
    user, group = os.getuid(), os.getgid()
    _unshare(NEW_USER | NEW_MOUNTS | NEW_NET | NEW_IPC)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount(None, "/", None, RECURSIVE | PRIVATE)
    root = "/tmp"  # hidden by the new root, and gone from sight with the old one
    python = dict.fromkeys((sys.base_prefix, sys.prefix))
    kept = {path: os.open(path, os.O_PATH) for path in (*SYSTEM, *python, *DEVICES)
            if os.path.exists(path)}  # fmt: skip
    _mount("tmpfs", root, "tmpfs", NO_SUID | NO_DEV)
    for path, handle in kept.items():
        _show(path, handle, root)
    for name in ("tmp", "old", HOME[1:]):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    os.chdir(root)
    machine = os.uname().machine
    _checked(_libc().syscall(PIVOT_ROOT[machine], b".", b"old"), "pivot_root")
    os.chdir("/")
    _checked(_libc().umount2(b"/old", DETACH), "umount")
    os.rmdir("/old")
    _mount(None, "/", None, REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEV)


def _show(path: str, handle: int, root: str) -> None:
    """Bind one folder or file into the new root, by its handle: its path may be hidden by now."""
    place = root + path
    if os.path.islink(path) and path in SYSTEM:
        os.symlink(os.readlink(path), place)
    elif not os.path.lexists(place):  # else it lies in a folder that is shown already
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.makedirs(place)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            Path(place).touch()
        _mount(f"/proc/self/fd/{handle}", place, None, BIND | RECURSIVE)
        if not path.startswith("/dev/"):
            _mount(None, place, None, REMOUNT | BIND | READ_ONLY | NO_SUID)
    os.close(handle)


def alone() -> None:
    """The next child gets process numbers and a scratch folder of its own, and dies with me."""
    _unshare(NEW_PIDS | NEW_MOUNTS)


def scratch() -> None:
    """An empty `HOME`, in memory, for the calling child of a process that is `alone`."""
    _mount("tmpfs", HOME, "tmpfs", NO_SUID | NO_DEV, SCRATCH)


def die_with_parent() -> None:
    if sys.platform == "linux":
        _libc().prctl(PARENT_DEATH, signal.SIGKILL)


def drop_privileges() -> None:
    """Give up what `enter` granted: no mount can be undone by what comes after."""
    libc = _libc()
    for capability in range(64):
        libc.prctl(DROP_CAPABILITY, capability)  # beyond the last one it fails, which is well
    header = (ctypes.c_uint32 * 2)(CAPABILITIES, 0)
    _checked(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def limit(memory: int, seconds: int) -> None:
    """Memory in MB and processor seconds in all, small files, no core, few processes."""
    wanted = {
        "RLIMIT_DATA": memory * MEGABYTE,
        "RLIMIT_CPU": seconds,
        "RLIMIT_FSIZE": 32 * MEGABYTE,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": 128,
        "RLIMIT_NPROC": 16,
    }
    for name, most in wanted.items():
        if (kind := getattr(resource, name, None)) is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def limit_next(seconds: int) -> None:
    """At most so many processor seconds from now on: the kernel ends the process then."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (min(until, hard), hard))
