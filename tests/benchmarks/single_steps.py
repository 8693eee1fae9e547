"""How many instructions a piece of work takes, counted one by one.

A child process does the work, and is let go on by one instruction at a time (ptrace). That is slow,
some 100 000 a second, and exact: it depends on no clock, no load, no cache and no counter of the
processor, which virtual machines seldom have.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable

TRACE_ME, STEP = 0, 9
"""Requests of ptrace(2)."""
Work = Callable[[], object]


class Uncountable(Exception):
    """Processes cannot be followed here; the message says why."""


def instructions(nothing: Work, work: Work) -> int:
    """Those that `work` takes beyond `nothing`, which is called like it. Raises Uncountable.

    What both need is loaded and compiled before: the child begins as a copy of this process.
    """
    if sys.platform != "linux":
        raise Uncountable(f"{sys.platform} has no ptrace as Linux has it")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _be_followed(nothing, work)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})  # where the child is: half the time of a step
    try:
        _stopped(child)
        _steps(child)
        idle = _steps(child)
        return _steps(child) - idle
    finally:
        os.sched_setaffinity(0, before)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _be_followed(nothing: Work, work: Work) -> None:
    """What the child does: it stops before and behind each of the two."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    gc.disable()
    if _libc().ptrace(TRACE_ME, 0, None, None) != 0:
        os._exit(ctypes.get_errno())
    own = os.getpid()
    os.kill(own, signal.SIGSTOP)
    os.kill(own, signal.SIGSTOP)
    nothing()
    os.kill(own, signal.SIGSTOP)
    work()
    os.kill(own, signal.SIGSTOP)
    os._exit(0)


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    return libc


def _stopped(child: int) -> int:
    """The signal that the child stopped for. Raises Uncountable when it ended instead."""
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        why = os.strerror(os.WEXITSTATUS(status)) if os.WIFEXITED(status) else "it was killed"
        raise Uncountable(f"a process cannot be followed here (ptrace: {why})")
    return os.WSTOPSIG(status)


def _steps(child: int) -> int:
    """Instructions until the child stops of its own."""
    libc, count = _libc(), 0
    while True:
        if libc.ptrace(STEP, child, None, None) != 0:
            why = os.strerror(ctypes.get_errno())
            raise Uncountable(f"a process cannot be taken step by step here (ptrace: {why})")
        if _stopped(child) == signal.SIGSTOP:
            return count
        count += 1
