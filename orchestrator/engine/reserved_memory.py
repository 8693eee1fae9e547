"""Arrays whose memory the system provides page by page, as they are written.

A world has room for what could be under way at once; what is under way decides how much of it is
written. So its large arrays are reserved: address space without memory, which is not counted
against the machine's (Linux: `MAP_NORESERVE`, mmap(2)) and reads as zeros. An array that is to stay
small in memory is used from its beginning, and nothing of it is written before it is needed.
"""

from __future__ import annotations

import errno
import math
import mmap
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

LEAST_OCTETS = 1 << 20
"""Smaller arrays come from the heap."""
SAME_FLAG = frozenset({"x86_64", "amd64", "aarch64", "arm64", "riscv64"})
"""Machines on which Linux gives `MAP_NORESERVE` its usual number, which Python 3.11 does not name;
elsewhere the system may count the address space as memory."""
NO_RESERVE = 0x4000
LARGE_PAGE = 2 << 20


def reserved(shape: int | Sequence[int], dtype: Any, dense: int = 0) -> np.ndarray:
    """Array of zeros, of which only pages that are written take memory.

    `dense`: octets from the beginning that are written one after the other, in pages of 2 MB where
    the system has them.
    Raises MemoryError where the system has no address space of that size.
    """
    whole = (shape,) if isinstance(shape, int) else tuple(shape)
    octets = math.prod(whole) * np.dtype(dtype).itemsize
    if octets < LEAST_OCTETS or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(whole, dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    if sys.platform == "linux" and platform.machine().lower() in SAME_FLAG:
        flags |= NO_RESERVE
    try:
        pages = mmap.mmap(-1, octets, flags=flags)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"{octets} octets of address space") from error
    if dense >= LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            length = min(dense, octets) // LARGE_PAGE * LARGE_PAGE
            pages.madvise(mmap.MADV_HUGEPAGE, 0, length)
    return np.ndarray(whole, dtype, buffer=pages)
