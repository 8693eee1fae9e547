"""Registers by name over the AXI-Lite slave of a design with several windows."""

from __future__ import annotations

import random
from typing import Any

from firmware.registers import register_map as at
from firmware.registers.register_map import RegisterMap
from firmware.registers.register_maps import MAPS
from tests.firmware.benches.registers import Host

ENABLE, CLEAR, SNAPSHOT = 1, 2, 4


class Windows:
    """The windows of a design; `base` is that of the module asked for."""

    def __init__(self, dut: Any, rng: random.Random, host: Host | None = None) -> None:
        self.host = host or Host(dut, rng)

    async def chain(self, base: int = 0) -> list[tuple[str, int]]:
        """Modules and places of all windows from `base` on, as each names the next."""
        names = {map_.identity: map_.module for map_ in MAPS}
        found = []
        while True:
            found.append((names[await self.host.read(base + at.ID)], base))
            base = await self.host.read(base + at.NEXT)
            if base == 0:
                return found

    async def set(self, base: int, map_: RegisterMap, **values: int) -> None:
        """Set registers, both words of the wide ones."""
        for name, value in values.items():
            register = map_[name]
            for word in range(register.words):
                offset = base + register.offset + at.WORD * word
                await self.host.write(offset, value >> 32 * word & 0xFFFF_FFFF)

    async def control(self, base: int, bits: int) -> None:
        """Write CONTROL."""
        await self.host.write(base + at.CONTROL, bits)

    async def get(self, base: int, map_: RegisterMap, name: str) -> int:
        """A register's value; a counter's as of now."""
        register = map_[name]
        if register.access == "counter":
            await self.control(base, ENABLE | SNAPSHOT)
        words = [
            await self.host.read(base + register.offset + at.WORD * word)
            for word in range(register.words)
        ]
        return sum(word << 32 * place for place, word in enumerate(words))
