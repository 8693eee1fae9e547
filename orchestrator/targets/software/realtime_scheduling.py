"""Real-time settings of a process: CPU affinity, priority, locked memory, timer slack.

Each thread spins on a core of its own, never under SCHED_FIFO: the kernel's real-time throttling
takes such a spinner off for 50 ms in every second. The main thread must sleep in a system call
meanwhile: every instruction of Python in this process takes a core from one of them, and a
garbage collection takes it for milliseconds.
"""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from orchestrator.targets.software.linux_syscalls import lock_memory, set_timer_slack

NICE = -10
"""Ten times the weight of an ordinary process, and not so much that the kernel's own threads,
which run at 0, cannot do their part."""


PAGE = 4096
AUTOGROUP = "/proc/self/autogroup"


def elevate() -> None:
    """Take what only root may: priority, and the right to lock memory. Call it before isolating.

    Inside a user namespace root is nobody to the scheduler and to the memory's limits. Where the
    kernel groups processes by session, a process's priority counts within its session alone, so
    that of the session is raised too.
    """
    _tried(lambda: os.setpriority(os.PRIO_PROCESS, 0, NICE))
    _tried(lambda: _write_autogroup(NICE))
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    _tried(lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, unlimited))


def locks_little() -> bool:
    """Return whether RLIMIT_MEMLOCK limits the memory that this process may lock."""
    return resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY


def prepare() -> dict[str, Any]:
    """Prepare this process for a run in real time; what of it was possible.

    Call it when everything is imported, compiled and allocated, and before threads are started,
    which inherit the timer slack.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    return {
        "memory_locked": _tried(lock_memory),
        "timer_slack_1ns": _tried(lambda: set_timer_slack(1)),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "autogroup": _autogroup(),
    }


def prefault(*arrays: Any) -> None:
    """Have the pages of arrays in memory before the run: a first touch takes a thread off its loop.

    Fresh arrays are promises of pages; where memory cannot be locked this is what remains. An octet
    of each page is written as it is: NumPy leaves out an assignment to itself, but not an `or`.
    """
    for array in arrays:
        octets = array.reshape(-1).view("uint8")
        for each in (octets[::PAGE], octets[-1:]):
            each |= 0


def pin(core: int) -> bool:
    """Keep the calling thread on the n-th core that the process may use; False: not possible."""
    cores = sorted(os.sched_getaffinity(0))
    return _tried(lambda: os.sched_setaffinity(0, {cores[core % len(cores)]}))


def taken() -> dict[str, float]:
    """CPU time taken from the calling thread since it began, by other tasks and by the hypervisor
    (s).

    "waited": it could have run, and others did (what cannot be read is absent).
    "stolen": all cores of this machine together, since boot, in steps of 10 ms; a hypervisor that
    hides it leaves it at 0. Take the difference of two calls in the same thread.
    """
    times = {}
    with (
        suppress(OSError, IndexError),
        open("/proc/thread-self/schedstat", encoding="ascii") as file,
    ):
        times["waited"] = int(file.read().split()[1]) / 1e9
    with suppress(OSError, IndexError), open("/proc/stat", encoding="ascii") as file:
        times["stolen"] = int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    return times


@contextmanager
def schedstat() -> Iterator[int]:
    """A descriptor of what the scheduler says of the calling thread, -1 where it says nothing: to
    be read from the beginning each time, also by compiled code of this thread."""
    try:
        descriptor = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield -1
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_autogroup(nice: int) -> None:
    with open(AUTOGROUP, "w", encoding="ascii") as file:
        file.write(str(nice))


def _autogroup() -> str | None:
    try:
        with open(AUTOGROUP, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _tried(step: Callable[[], Any]) -> bool:
    try:
        step()
    except (OSError, ValueError):
        return False
    return True
