"""Discovery of the register windows of a card or model: a chain, each names the next."""

from __future__ import annotations

from dataclasses import dataclass

from firmware.registers import register_map as at
from firmware.registers.register_map import RegisterMap
from firmware.registers.register_maps import MAPS
from firmware.registers.register_window import Bus, Window, WindowError

LONGEST = 1024
"""Most windows in a chain; a longer one is cyclic."""
BY_IDENTITY = {map_.identity: map_ for map_ in MAPS}


@dataclass(frozen=True)
class WindowLocation:
    """Instance of a module: its window's address and its build parameters."""

    map: RegisterMap
    base: int
    caps: int
    clock_hz: int

    def window(self, bus: Bus) -> Window:
        """Accessor of its registers."""
        return Window(bus, self.base, self.map)


def discover(bus: Bus, base: int = 0) -> list[WindowLocation]:
    """All windows from the one at `base` on, in the order of the chain.

    Raises WindowError for an unknown module or version, and for an endless chain.
    """
    found: list[WindowLocation] = []
    offset = 0
    while True:
        here = base + offset
        identity, version = bus.read(here + at.ID), bus.read(here + at.VERSION)
        map_ = BY_IDENTITY.get(identity)
        if map_ is None:
            known = ", ".join(f"{m.module} {m.identity:#x}" for m in MAPS)
            raise WindowError(f"window at {here:#x}: ID {identity:#x} is none of {known}")
        if version != map_.version:
            raise WindowError(
                f"{map_.module} at {here:#x} has version {version}; "
                f"this driver knows version {map_.version}"
            )
        caps, clock = bus.read(here + at.CAPS), bus.read(here + at.CLK_HZ)
        found.append(WindowLocation(map_, here, caps, clock))
        offset = bus.read(here + at.NEXT)
        if offset == 0:
            return found
        if len(found) == LONGEST or base + offset in {f.base for f in found}:
            raise WindowError(f"{map_.module} at {here:#x}: the chain of windows has no end")
        if offset % at.WINDOW:
            raise WindowError(f"{map_.module} at {here:#x}: NEXT {offset:#x} is no window's place")
