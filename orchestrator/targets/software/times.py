"""Which times frames bring, and which frames are told when to leave: of the ports of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.engine.datapath.joined import HARDWARE_WORD, SOFTWARE_WORD

KERNEL, NICS = "by the kernel", "by the NICs"


@dataclass(frozen=True)
class Times:
    """`hardware` and `launched` are those hosts whose NICs stamp, or launch, frames."""

    departures: bool = False
    hardware: frozenset[str] = frozenset()
    launched: frozenset[str] = frozenset()

    def word(self, host: str) -> int:
        """Where the times of a host's ports begin in a control message."""
        return HARDWARE_WORD if host in self.hardware else SOFTWARE_WORD

    def told(self) -> dict[str, Any]:
        """What manifest and fidelity say: who takes the times of arrival, and of departure."""
        who = NICS if self.hardware else KERNEL
        said: dict[str, Any] = {"arrivals": who}
        if self.departures:
            said["departures"] = who
        return said


ARRIVALS = Times()
"""By the kernel, of arrivals alone."""
BOTH = Times(departures=True)
"""By the kernel, of arrivals and departures."""
