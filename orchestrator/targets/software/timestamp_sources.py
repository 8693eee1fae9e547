"""Timestamp sources and launch times of the ports of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.engine.datapath.phc_mapping import HARDWARE_WORD, SOFTWARE_WORD

KERNEL, NICS = "by the kernel", "by the NICs"


@dataclass(frozen=True)
class TimestampSources:
    """Timestamp sources of a run. `hardware` and `launched` are the hosts whose NICs stamp, or
    launch, frames."""

    departures: bool = False
    hardware: frozenset[str] = frozenset()
    launched: frozenset[str] = frozenset()

    def word(self, host: str) -> int:
        """Word of a control message at which a host's timestamp begins."""
        return HARDWARE_WORD if host in self.hardware else SOFTWARE_WORD

    def describe(self) -> dict[str, Any]:
        """Entries for manifest and fidelity: the timestamp sources of arrivals and departures."""
        who = NICS if self.hardware else KERNEL
        said: dict[str, Any] = {"arrivals": who}
        if self.departures:
            said["departures"] = who
        return said


ARRIVALS = TimestampSources()
"""By the kernel, of arrivals alone."""
BOTH = TimestampSources(departures=True)
"""By the kernel, of arrivals and departures."""
