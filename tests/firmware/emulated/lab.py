"""A lab of emulated cards: Verilated gateware behind device files, joined by a plan's links.

`nics` is a Corundum card as a PCIe device's folder: resource0 with the NIC's register blocks,
resource2 with the application's windows, 64 KiB for each port and its delay line, the clock last.
`switches` is a card without Corundum: a resource file with our windows at an offset. Time is the
gateware's; it passes with each access and when the run waits.
"""

from __future__ import annotations

import struct
from pathlib import Path
from types import TracebackType

from firmware.driver import pcie_card as c
from firmware.registers import register_map as at
from firmware.registers.register_maps import CARD_CLOCK
from firmware.registers.register_window import Bus
from firmware.target.model_network import Rig
from firmware.target.plan_check import on_gateware
from orchestrator.assembly import assemble
from orchestrator.engine.records import NEVER
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import silent
from tests.firmware.emulated.trap import Devices

SPAN = 0x10000
OFFSET = 0x20000
"""Of the switch's windows in its resource."""
UPTIME_PS = 100_000_000
"""For which the cards have been running already."""
GIT_HASH = 0x1234_ABCD


class Cards:
    """The lab of a plan; a clock too: its time is that of the cards."""

    def __init__(self, resolved: ResolvedPlan, folder: Path, devices: Devices) -> None:
        mine = on_gateware(resolved.plan)
        self.rig = Rig(resolved, assemble(resolved, mine), mine, silent)
        self.fabric = self.rig.fabric
        self.arrived: dict[int, int] = {}
        """Frames that left the gateware for a sink, by direction."""
        self.fabric.start()
        self.until(UPTIME_PS)
        kinds = {name: resolved.plan.nodes[name].kind for name in mine}
        nics = [self._bus(name) for name in mine if kinds[name] == "nic"]
        switch = next(self._bus(name) for name in mine if kinds[name] == "switch")
        self.nics, self.switches = corundum(folder / "nics", len(nics)), netfpga(folder / "switch")
        self.application = Application(nics, self)
        devices.buses[self.nics / "resource2"] = self.application
        devices.buses[self.switches] = Behind(switch)

    def _bus(self, node: str) -> Bus:
        return self.fabric.bus(
            self.rig.numbers[node], lambda: self._count(self.fabric.run(NEVER, accesses=True))
        )

    def _count(self, time: int) -> None:
        self.time = time
        told = self.fabric.take()
        for k in range(told.count):
            link = int(told.directions[k])
            self.arrived[link] = self.arrived.get(link, 0) + 1

    def now(self) -> int:
        """The cards' time (ps)."""
        return self.time

    def until(self, when: int) -> None:
        """Let them run."""
        self._count(self.fabric.run(when))

    def __enter__(self) -> Cards:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.fabric.close()


class Application:
    """The window of our application block: NICs 128 KiB apart, behind them the clock.

    From `gone_at` on the card does not answer any more.
    """

    def __init__(self, nics: list[Bus], cards: Cards) -> None:
        self.nics, self.cards = nics, cards
        self.gone_at = NEVER
        self.held = 0
        self._clock = 2 * len(nics) * SPAN
        self._skipped: dict[int, int] = {}

    def without(self, identity: int) -> None:
        """Leave a register block out of the chain, as a bitstream without it would."""
        offset, last = 0, 0
        while True:
            following = self.read(offset + at.NEXT)
            if self.read(offset + at.ID) == identity:
                self._skipped[last] = following
            else:
                last = offset
            if following == 0:
                return
            offset = following

    def read(self, address: int) -> int:
        if self.cards.now() >= self.gone_at:
            return c.ABSENT
        window, inside = address - address % at.WINDOW, address % at.WINDOW
        if inside == at.NEXT and window in self._skipped:
            return self._skipped[window]
        if address >= self._clock:
            return self._clock_word(address - self._clock)
        port, offset = divmod(address, 2 * SPAN)
        value = self.nics[port].read(offset)
        if inside == at.NEXT:  # as BASE and NEXT of the block have it
            value = port * 2 * SPAN + value if value else (port + 1) * 2 * SPAN
        return value

    def write(self, address: int, value: int) -> None:
        if self.cards.now() >= self.gone_at:
            return
        if address < self._clock:
            port, offset = divmod(address, 2 * SPAN)
            self.nics[port].write(offset, value)
        elif address == self._clock + at.CONTROL and value >> at.SNAPSHOT_BIT & 1:
            self.held = self.cards.now()

    def _clock_word(self, offset: int) -> int:
        now = CARD_CLOCK["now"].offset
        words = {
            at.ID: CARD_CLOCK.identity,
            at.VERSION: CARD_CLOCK.version,
            at.CLK_HZ: 125_000_000,
            now: self.held & 0xFFFF_FFFF,
            now + at.WORD: self.held >> 32,
        }
        return words.get(offset, 0)


class Behind:
    """A bus whose addresses begin at OFFSET."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    def read(self, address: int) -> int:
        return self.bus.read(address - OFFSET)

    def write(self, address: int, value: int) -> None:
        self.bus.write(address - OFFSET, value)


def corundum(folder: Path, ports: int) -> Path:
    """A PCIe device's folder with Corundum's register blocks, and room for the application."""
    folder.mkdir()
    control = bytearray(0x1000)
    struct.pack_into("<3I", control, 0, c.BLOCK_FIRMWARE, 0x100, 0x200)
    identity = dict.fromkeys(c.IDENTITY, 0x77) | {"git_hash": GIT_HASH}
    for name, offset in c.IDENTITY.items():
        struct.pack_into("<I", control, offset, identity[name])
    struct.pack_into("<4I", control, 0x200, c.BLOCK_APP, 0x200, 0, c.APP_ID)
    (folder / "resource0").write_bytes(control)
    (folder / "resource2").write_bytes(bytes((2 * ports + 1) * SPAN))
    return folder


def netfpga(folder: Path) -> Path:
    """A PCIe device's resource file with nothing but our windows, at OFFSET."""
    folder.mkdir()
    (folder / "vendor").write_text("0x10ee\n")
    (folder / "device").write_text("0x7028\n")
    (folder / "resource1").write_bytes(bytes(OFFSET + SPAN))
    return folder / "resource1"
