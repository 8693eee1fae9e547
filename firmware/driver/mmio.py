"""Register buses over memory-mapped device files: /dev/mqnicN, a PCIe resource, an emulated one."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

WORD = 4
ABSENT = 0xFFFF_FFFF
"""Value of a read when the device behind a mapping is gone."""


class MappedBus:
    """32-bit little-endian accesses to `length` octets of a file from `offset` on.

    Raises ValueError for an address outside of it or off a word's boundary.
    """

    def __init__(self, descriptor: int, offset: int, length: int) -> None:
        self.length = length
        self._map = mmap.mmap(descriptor, length, offset=offset)
        self._words = memoryview(self._map).cast("I")

    def read(self, address: int) -> int:
        """The word at an address: one load of 32 bits."""
        return self._words[self._place(address)]

    def write(self, address: int, value: int) -> None:
        """Set the word at an address: one store of 32 bits."""
        self._words[self._place(address)] = value

    def _place(self, address: int) -> int:
        if address % WORD or not 0 <= address < self.length:
            raise ValueError(f"{address:#x} is no word of a window of {self.length:#x} octets")
        return address // WORD

    def close(self) -> None:
        """Unmap."""
        self._words.release()
        self._map.close()


@contextmanager
def opened(path: str) -> Iterator[int]:
    """A file open for reading and writing, uncached where it is a device."""
    descriptor = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
