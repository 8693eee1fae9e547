"""Mapped files as devices: see trap.cpp."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import shutil
import subprocess
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware.registers.register_window import Bus

SOURCE = Path(__file__).parent / "trap.cpp"
traps = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux" or shutil.which("g++") is None,
    reason="device files are emulated by page faults on x86-64 Linux, with g++",
)

_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_int, ctypes.c_uint32)
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32)


class Devices:
    """Files that are devices: `buses` has what answers, by file."""

    def __init__(self, folder: Path) -> None:
        library = folder / "trap.so"
        subprocess.run(
            ["g++", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True
        )
        self._c = ctypes.CDLL(str(library))
        self._c.trap_attach.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.buses: dict[Path, Bus] = {}
        self._mapped: dict[int, tuple[Bus, int]] = {}
        self._callbacks = _READ(self._read), _WRITE(self._write)
        self.accesses = 0

    def begin(self) -> None:
        self._c.trap_begin(*self._callbacks)

    def end(self) -> None:
        self._c.trap_end()

    def _read(self, region: int, address: int) -> int:
        bus, offset = self._mapped[region]
        self.accesses += 1
        return bus.read(offset + address)

    def _write(self, region: int, address: int, value: int) -> None:
        bus, offset = self._mapped[region]
        self.accesses += 1
        bus.write(offset + address, value)

    def map(self, descriptor: int, length: int, offset: int = 0) -> mmap.mmap:
        """As mmap.mmap: of a file that is a device, accesses go there."""
        here = os.fstat(descriptor)
        bus = next((b for p, b in self.buses.items() if os.path.samestat(p.stat(), here)), None)
        if bus is None:
            return mmap.mmap(descriptor, length, offset=offset)
        mapping = Mapping(descriptor, length, offset=offset)
        place = ctypes.c_char.from_buffer(mapping)
        region = self._c.trap_attach(ctypes.addressof(place), length)
        del place  # it would keep the mapping from being closed
        self._mapped[region] = bus, offset
        mapping.closing = lambda: self._close(region)
        return mapping

    def _close(self, region: int) -> None:
        self._c.trap_detach(region)
        del self._mapped[region]

    @property
    def open(self) -> int:
        """How many mappings are open."""
        return len(self._mapped)


class Mapping(mmap.mmap):
    """A mapping that says when it is closed."""

    closing: Any = staticmethod(lambda: None)

    def close(self) -> None:
        self.closing()
        super().close()


@contextmanager
def devices(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Devices]:
    """Devices that the driver can map; it does so by the functions it always uses."""
    found = Devices(folder)
    monkeypatch.setattr("firmware.driver.pcie_card.mmap", types.SimpleNamespace(mmap=found.map))
    found.begin()
    try:
        yield found
    finally:
        found.end()
