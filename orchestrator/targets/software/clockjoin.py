"""Mapping of a NIC's clock to the system's: offset and slope, and error bounds of both.

A reading of both takes time: the system's clock is read before the NIC's and after it, so the NIC's
belongs somewhere in between, and half of what is between is the error. Two readings give a slope,
whose error is that of both over the time between them. A clock that is set jumps: what is
further from the line than errors and WANDER allow begins a new one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

WINDOW = 16
"""Readings that a slope is taken over, at the most."""
UNKNOWN_PPB = 500_000
"""What a clock may be fast or slow by before a second reading: as far as Linux slews its own."""
WANDER_PPB = 10_000
"""By how much the rate of an oscillator may change from one reading to the next; a jump is more."""


@dataclass(frozen=True)
class Reading:
    """The NIC's clock and the system's at one instant, ns, and what that may be off by."""

    own_ns: int
    system_ns: int
    error_ns: int


def narrowest(triples: Iterable[tuple[int, int, int]]) -> Reading:
    """Of readings (system, NIC, system) the one that took least time. Raises ValueError where the
    system's clock was set back within each."""
    right = [triple for triple in triples if triple[2] >= triple[0]]
    before, own, after = min(right, key=lambda triple: triple[2] - triple[0])
    return Reading(own, (before + after) // 2, (after - before + 1) // 2 + 1)


@dataclass
class Join:
    """Line through the latest readings of both clocks."""

    readings: deque[Reading] = field(default_factory=lambda: deque(maxlen=WINDOW))
    steps: int = 0
    """How often a clock jumped."""
    worst_ns: int = 0
    """Largest distance of a reading from the line, once it had a slope (ns)."""
    bound_ns: int = 0
    """Largest error bound of the line up to a reading, likewise (ns)."""

    @property
    def line(self) -> tuple[int, int, int]:
        """Latest reading of the NIC's and the system's clock (ns), and the system's rate above the
        NIC's (ppb). Raises IndexError before the first reading."""
        last, first = self.readings[-1], self.readings[0]
        passed = last.own_ns - first.own_ns
        if passed <= 0:
            return last.own_ns, last.system_ns, 0
        gained = last.system_ns - first.system_ns - passed
        return last.own_ns, last.system_ns, round(gained * 10**9 / passed)

    def told(self, own_ns: int) -> int:
        """System time (ns) at a time of the NIC's clock."""
        own, system, ppb = self.line
        passed = own_ns - own
        return system + passed + passed * ppb // 10**9

    def error_ns(self, own_ns: int) -> int:
        """Error bound of that time, while both clocks run evenly."""
        last, first = self.readings[-1], self.readings[0]
        passed = last.own_ns - first.own_ns
        slope = UNKNOWN_PPB
        if passed > 0:
            slope = (last.error_ns + first.error_ns) * 10**9 // passed + 2
        return last.error_ns + abs(own_ns - last.own_ns) * slope // 10**9 + 2

    def add(self, reading: Reading) -> None:
        """Add a reading of both clocks."""
        if self.readings:
            away = abs(self.told(reading.own_ns) - reading.system_ns)
            bound = self.error_ns(reading.own_ns)
            passed = reading.own_ns - self.readings[-1].own_ns
            allowed = bound + reading.error_ns + max(passed, 0) * WANDER_PPB // 10**9
            if passed <= 0 or away > allowed:
                self.steps += 1
                self.readings.clear()
            elif len(self.readings) > 1:
                self.worst_ns = max(self.worst_ns, away)
                self.bound_ns = max(self.bound_ns, bound)
        self.readings.append(reading)
