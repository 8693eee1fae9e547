"""Driver of a packet generator in gateware: one flow of constant bit rate."""

from __future__ import annotations

from firmware.driver.window_discovery import WindowLocation
from firmware.registers.register_maps import PACKET_GENERATOR
from firmware.registers.register_window import Bus
from orchestrator.engine.node_api import BIT_PS
from orchestrator.errors import Refused


class Generator:
    """One packet generator, found by its window.

    Raises Refused when the window is another module's.
    """

    def __init__(self, name: str, bus: Bus, found: WindowLocation) -> None:
        if found.map is not PACKET_GENERATOR:
            lack = f"it is a {found.map.module}"
            raise Refused(f"gateware of {name}", lack, "Name a packet generator.")
        self.name, self.window = name, found.window(bus)

    def begin(self, rate: int, length: int, **fields: int) -> None:
        """Send frames of `length` octets at `rate` (bit/s) from now on, numbered from 0.

        `fields`: source, destination (address indices), priority_code, ecn, flow. Raises BadInput
        for a value that a register may not hold, WindowError for one that it does not keep.
        """
        self.window.control(False)
        interval = length * BIT_PS
        values = {"whole": interval // rate, "rest": interval % rate, "rate": rate}
        for name, value in (values | {"length": length} | fields).items():
            self.window.set(name, value)
        self.window.control(True, clear=True)

    def end(self) -> int:
        """Stop; returns the number of frames generated."""
        self.window.control(False)
        return self.window.counters()["frames"]
