"""C library functions for compiled code, called off the GIL.

They are numba external functions, named symbols of the process: code that uses them can be
cached, which code with a function pointer in it cannot. Uncompiled (NUMBA_DISABLE_JIT=1) the same
names are ctypes functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from orchestrator.engine.jit import DISABLED, compiled
from orchestrator.engine.lazy_imports import ExternalFunction

_library = ctypes.CDLL(None, use_errno=True)


def external(name: str, result: str, *arguments: str) -> Callable[..., Any]:
    """A function of the C library. Types are "int32", "uint64" and so on; pointers are int64."""
    if DISABLED:
        function = getattr(_library, name)
        function.restype = getattr(ctypes, f"c_{result}")
        function.argtypes = [getattr(ctypes, f"c_{argument}") for argument in arguments]
        plain: Callable[..., Any] = function
        return plain
    return ExternalFunction(name, result, arguments)


CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1
EINTR, EAGAIN, EBUSY, ENOBUFS = 4, 11, 16, 105

clock_gettime = external("clock_gettime", "int32", "int32", "int64")
clock_nanosleep = external("clock_nanosleep", "int32", "int32", "int32", "int64", "int64")
recvmmsg = external("recvmmsg", "int32", "int32", "int64", "uint32", "int32", "int64")
sendmmsg = external("sendmmsg", "int32", "int32", "int64", "uint32", "int32")
sendto = external("sendto", "int64", "int32", "int64", "uint64", "int32", "int64", "uint32")
recvfrom = external("recvfrom", "int64", "int32", "int64", "uint64", "int32", "int64", "int64")
memcpy = external("memcpy", "int64", "int64", "int64", "int64")
memmove = external("memmove", "int64", "int64", "int64", "int64")
memset = external("memset", "int64", "int64", "int32", "int64")
poll = external("poll", "int32", "int64", "uint64", "int32")
sched_yield = external("sched_yield", "int32")
getrusage = external("getrusage", "int32", "int32", "int64")
pread = external("pread", "int64", "int32", "int64", "uint64", "int64")
errno_location = external("__errno_location", "int64")

if DISABLED:

    def last_error(scratch: np.ndarray) -> int:
        """errno of this thread's last failed call; `scratch` is int64[1] of this thread's."""
        return ctypes.get_errno()

else:

    @compiled
    def last_error(scratch: np.ndarray) -> int:
        """errno of this thread's last failed call; `scratch` is int64[1] of this thread's."""
        scratch[0] = 0
        memcpy(scratch.ctypes.data, errno_location(), 4)
        return scratch[0]


@compiled
def monotonic_ns(timespec: np.ndarray) -> int:
    """CLOCK_MONOTONIC in ns. `timespec` is scratch, int64[2], one per thread."""
    clock_gettime(CLOCK_MONOTONIC, timespec.ctypes.data)
    return timespec[0] * 1_000_000_000 + timespec[1]


@compiled
def sleep_until(timespec: np.ndarray, until_ns: int) -> None:
    """Sleep until an instant of CLOCK_MONOTONIC (ns). `timespec` is scratch, as above."""
    timespec[0] = until_ns // 1_000_000_000
    timespec[1] = until_ns % 1_000_000_000
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, timespec.ctypes.data, 0)
