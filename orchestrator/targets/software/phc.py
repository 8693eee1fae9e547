"""PTP hardware clock of a NIC (/dev/ptpN), read against the system clock (linux/ptp_clock.h)."""

from __future__ import annotations

import errno
import fcntl
import struct

from orchestrator.targets.software.clockjoin import Reading, narrowest

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
NOT_THERE = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL)
PRECISE_ERROR_NS = 50
"""Of a reading that hardware takes of both clocks at once (PCIe PTM, or a counter they share)."""


def read(clock: int) -> Reading:
    """Both clocks, by the best way that the driver has. Raises OSError."""
    for way in (precise, extended):
        try:
            return way(clock)
        except OSError as error:
            if error.errno not in NOT_THERE:
                raise
    return plain(clock)


def precise(clock: int) -> Reading:
    """By PTP_SYS_OFFSET_PRECISE."""
    memory = _ask(clock, PRECISE, bytes(PRECISE_OCTETS))
    own, system = _times(memory, 0, 2)
    return Reading(own, system, PRECISE_ERROR_NS)


def extended(clock: int) -> Reading:
    """By PTP_SYS_OFFSET_EXTENDED: the system's clock is read next to the NIC's register."""
    memory = _ask(clock, EXTENDED, HEAD.pack(SAMPLES).ljust(EXTENDED_OCTETS, b"\0"))
    times = _times(memory, HEAD.size, 3 * SAMPLES)
    return narrowest((times[k], times[k + 1], times[k + 2]) for k in range(0, len(times), 3))


def plain(clock: int) -> Reading:
    """By PTP_SYS_OFFSET: readings of both in turn."""
    memory = _ask(clock, PLAIN, HEAD.pack(SAMPLES).ljust(PLAIN_OCTETS, b"\0"))
    times = _times(memory, HEAD.size, 2 * SAMPLES + 1)
    return narrowest((times[k], times[k + 1], times[k + 2]) for k in range(0, len(times) - 2, 2))


def _ask(clock: int, number: int, octets: bytes) -> bytearray:
    memory = bytearray(octets)
    fcntl.ioctl(clock, number, memory)
    return memory


def _times(memory: bytearray, begin: int, count: int) -> list[int]:
    found = [TIME.unpack_from(memory, begin + k * TIME.size) for k in range(count)]
    return [seconds * 10**9 + ns for seconds, ns, _ in found]
