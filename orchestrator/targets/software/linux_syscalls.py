"""Linux calls that Python 3.11 does not have: unshare, setns, prctl, mlockall.

Plain ctypes and no import of numpy: a process must be single-threaded to enter a user namespace,
and numpy starts threads when it is imported.
"""

from __future__ import annotations

import ctypes
import os

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK, PR_SET_THP_DISABLE = 1, 29, 41
MCL_CURRENT, MCL_FUTURE = 1, 2

_library = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: int) -> None:
    """Call a C function that answers 0; raise OSError with its name otherwise."""
    if getattr(_library, name)(*(ctypes.c_ulong(argument) for argument in arguments)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


def unshare(flags: int) -> None:
    """Give this thread (for CLONE_NEWUSER: this process) new namespaces."""
    _call("unshare", flags)


def enter_network(descriptor: int) -> None:
    """Move this thread to the network namespace behind a file descriptor."""
    _call("setns", descriptor, CLONE_NEWNET)


def enter_user(descriptor: int) -> None:
    """Move this process, which has one thread, to the user namespace behind a file descriptor."""
    _call("setns", descriptor, CLONE_NEWUSER)


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this process a signal when the thread that started it is gone."""
    _call("prctl", PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def capabilities() -> set[int]:
    """The numbers of the capabilities that are in effect (linux/capability.h)."""
    with open("/proc/self/status", encoding="ascii") as file:
        capability_line = next((line for line in file if line.startswith("CapEff:")), "CapEff: 0")
    mask = int(capability_line.split()[1], 16)
    return {number for number in range(mask.bit_length()) if mask >> number & 1}


def set_timer_slack(nanoseconds: int) -> None:
    """Set the timer slack: the delay by which the kernel may coalesce wake-ups (ns)."""
    _call("prctl", PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0)


def lock_memory() -> None:
    """Keep every page of this process in memory, now and later."""
    _call("mlockall", MCL_CURRENT | MCL_FUTURE)
