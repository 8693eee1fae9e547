"""Host side of a register window, over any bus with 32-bit accesses."""

from __future__ import annotations

from typing import Protocol

from firmware.registers import register_map as at
from firmware.registers.register_map import RegisterMap
from orchestrator.errors import BadInput, Problem

HALF = 0xFFFF_FFFF


class Bus(Protocol):
    """Bus of register accesses: a mapped device, a simulation."""

    def read(self, address: int) -> int:
        """The 32-bit word at an address."""

    def write(self, address: int, value: int) -> None:
        """Set the 32-bit word at an address."""


class WindowError(RuntimeError):
    """The hardware is another one than expected, or did not keep a value."""


class Window:
    """One instance's registers by name.

    Raises WindowError when the module or its version at `base` differs.
    """

    def __init__(self, bus: Bus, base: int, map_: RegisterMap) -> None:
        self.bus, self.base, self.map = bus, base, map_
        self._enabled: bool | None = None
        for offset, expected in ((at.ID, map_.identity), (at.VERSION, map_.version)):
            found = bus.read(base + offset)
            if found != expected:
                raise WindowError(
                    f"{map_.module} at {base:#x}: word {offset:#x} is {found:#x}, not {expected:#x}"
                )

    def get(self, name: str) -> int:
        """A register's value; a counter's is that of the last snapshot."""
        register = self.map[name]
        value = 0
        for word in range(register.words):
            value |= self.bus.read(self.base + register.offset + at.WORD * word) << 32 * word
        return value

    def set(self, name: str, value: int) -> None:
        """Set a register and read it back.

        Raises BadInput for a value that the register may not hold, WindowError for one not kept.
        """
        register = self.map[name]
        if not register.writable:
            raise BadInput(self.map.module, [Problem(name, str(value), "it is read only")])
        if not register.least <= value <= register.top:
            accepted = f"{register.least} to {register.top}"
            raise BadInput(self.map.module, [Problem(name, str(value), accepted)])
        for word in range(register.words):
            address = self.base + register.offset + at.WORD * word
            self.bus.write(address, value >> 32 * word & HALF)
        if (kept := self.get(name)) != value:
            raise WindowError(
                f"{self.map.module}.{name} at {self.base + register.offset:#x}: "
                f"set to {value}, reads {kept}"
            )

    def control(self, enable: bool, *, clear: bool = False, snapshot: bool = False) -> None:
        """Write CONTROL and verify the module's enable bit."""
        word = enable << at.ENABLE_BIT | clear << at.CLEAR_BIT | snapshot << at.SNAPSHOT_BIT
        self.bus.write(self.base + at.CONTROL, word)
        self._enabled = enable
        self._verify(word)

    def _verify(self, word: int) -> None:
        """Verify the enable bit after CONTROL was written as `word`; a lost card reads all ones."""
        kept = self.bus.read(self.base + at.CONTROL)
        if kept != word & 1 << at.ENABLE_BIT:
            raise WindowError(f"{self.map.module}: CONTROL reads {kept:#x} after {word:#x}")

    def hold(self) -> None:
        """Latch all counters together, in one access if the enable bit is cached."""
        if self._enabled is None:
            self._enabled = bool(self.bus.read(self.base + at.CONTROL) >> at.ENABLE_BIT & 1)
        self.bus.write(self.base + at.CONTROL, self._snapshot)

    def counters(self) -> dict[str, int]:
        """All counters as of now, latched together."""
        self.hold()
        return self.held()

    @property
    def _snapshot(self) -> int:
        return bool(self._enabled) << at.ENABLE_BIT | 1 << at.SNAPSHOT_BIT

    def held(self) -> dict[str, int]:
        """All counters as of the last `hold`, which is verified here to keep `hold` short."""
        self._verify(self._snapshot)
        return {r.name: self.get(r.name) for r in self.map.registers if r.access == "counter"}

    @property
    def next(self) -> int:
        """Offset of the next instance's window; 0 when this is the last."""
        return self.bus.read(self.base + at.NEXT)
