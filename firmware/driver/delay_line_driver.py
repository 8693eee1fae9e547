"""Driver of a delay line in gateware: sets it in ps, verifies it, reports its losses."""

from __future__ import annotations

from firmware.driver.window_discovery import WindowLocation
from firmware.registers.register_maps import DELAY_LINE
from firmware.registers.register_window import Bus
from orchestrator.errors import Refused


class Delay:
    """One delay line, found by its window.

    Raises Refused when the window is another module's.
    """

    def __init__(self, name: str, bus: Bus, found: WindowLocation) -> None:
        if found.map is not DELAY_LINE:
            raise Refused(
                f"gateware of {name}", f"it is a {found.map.module}", "Name a delay line."
            )
        self.name, self.room = name, found.caps
        self.window = found.window(bus)

    def set(self, delay: int, rate: int) -> None:
        """Delay every frame by `delay` ps; `rate` (bit/s) is the highest rate.

        Raises Refused when the line has no room for the frames in flight at that rate.
        """
        octets = -(-delay * rate // (8 * 10**12))
        if octets > self.room:
            lack = f"{delay} ps at {rate} bit/s are {octets} octets, it holds {self.room}"
            raise Refused(f"gateware of {self.name}", lack, "Build it with more WORDS.")
        self.window.set("delay", delay)
        self.window.control(True)

    def end(self) -> None:
        """Set the delay to 0."""
        self.window.control(False)

    def losses(self) -> dict[str, int]:
        """Frames dropped without room: none in a sound run."""
        return {f"frames in {self.name}": self.window.counters()["dropped"]}
