"""PTP hardware clock of a NIC (/dev/ptpN), read against the system clock (linux/ptp_clock.h)."""

from __future__ import annotations

import errno
import fcntl
import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

# Mapping of a NIC's clock to the system's: offset and slope, and error bounds of both.
#
# A reading of both takes time: the system's clock is read before the NIC's and after it, so the
# NIC's
# belongs somewhere in between, and half of what is between is the error. Two readings give a slope,
# whose error is that of both over the time between them. A clock that is set jumps: what is
# further from the line than errors and WANDER allow begins a new one.

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
class ClockLine:
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

    def system_ns(self, own_ns: int) -> int:
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
            away = abs(self.system_ns(reading.own_ns) - reading.system_ns)
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


SAMPLES = 9
MOST_SAMPLES = 25
TIME = struct.Struct("qII")
"""struct ptp_clock_time: s, ns, reserved."""
HEAD = struct.Struct("I12x")
EXTENDED_OCTETS = HEAD.size + MOST_SAMPLES * 3 * TIME.size
PLAIN_OCTETS = HEAD.size + (2 * MOST_SAMPLES + 1) * TIME.size
PRECISE_OCTETS = 3 * TIME.size + 16
BOTH_WAYS, IN = 3, 1


def _number(way: int, number: int, octets: int) -> int:
    return way << 30 | octets << 16 | ord("=") << 8 | number


PRECISE = _number(BOTH_WAYS, 8, PRECISE_OCTETS)
EXTENDED = _number(BOTH_WAYS, 9, EXTENDED_OCTETS)
PLAIN = _number(IN, 5, PLAIN_OCTETS)
UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL)
PRECISE_ERROR_NS = 50
"""Of a reading that hardware takes of both clocks at once (PCIe PTM, or a counter they share)."""


def read(clock: int) -> Reading:
    """Both clocks, by the best way that the driver has. Raises OSError."""
    for way in (precise, extended):
        try:
            return way(clock)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
    return plain(clock)


def precise(clock: int) -> Reading:
    """By PTP_SYS_OFFSET_PRECISE."""
    memory = _ptp_ioctl(clock, PRECISE, bytes(PRECISE_OCTETS))
    own, system = _times(memory, 0, 2)
    return Reading(own, system, PRECISE_ERROR_NS)


def extended(clock: int) -> Reading:
    """By PTP_SYS_OFFSET_EXTENDED: the system's clock is read next to the NIC's register."""
    memory = _ptp_ioctl(clock, EXTENDED, HEAD.pack(SAMPLES).ljust(EXTENDED_OCTETS, b"\0"))
    times = _times(memory, HEAD.size, 3 * SAMPLES)
    return narrowest((times[k], times[k + 1], times[k + 2]) for k in range(0, len(times), 3))


def plain(clock: int) -> Reading:
    """By PTP_SYS_OFFSET: readings of both in turn."""
    memory = _ptp_ioctl(clock, PLAIN, HEAD.pack(SAMPLES).ljust(PLAIN_OCTETS, b"\0"))
    times = _times(memory, HEAD.size, 2 * SAMPLES + 1)
    return narrowest((times[k], times[k + 1], times[k + 2]) for k in range(0, len(times) - 2, 2))


def _ptp_ioctl(clock: int, number: int, octets: bytes) -> bytearray:
    memory = bytearray(octets)
    fcntl.ioctl(clock, number, memory)
    return memory


def _times(memory: bytearray, begin: int, count: int) -> list[int]:
    found = [TIME.unpack_from(memory, begin + k * TIME.size) for k in range(count)]
    return [seconds * 10**9 + ns for seconds, ns, _ in found]
