"""A NIC's clock read by ioctl: the three ways, by a kernel that is played."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from orchestrator.errors import RunFailed
from orchestrator.targets.software import ptp_clock
from orchestrator.targets.software.phc_tracker import NicClocks

OWN, SYSTEM = 1_000_000_000_700, 1_764_000_000_000_000_123


def clock_time(ns: int) -> bytes:
    return struct.pack("qII", *divmod(ns, 10**9), 0)


class Driver:
    """A PTP clock's driver with some of the three ways; fills in what the kernel would."""

    def __init__(self, *ways: int, error: int = errno.EOPNOTSUPP) -> None:
        self.ways, self.error, self.asked = ways, error, list[int]()

    def __call__(self, clock: int, number: int, memory: bytearray) -> int:
        assert clock == 5
        self.asked.append(number)
        assert len(memory) == number >> 16 & 0x3FFF  # as many octets as the number says
        if number not in self.ways:
            raise OSError(self.error, os.strerror(self.error))
        if number == ptp_clock.PRECISE:
            memory[:32] = clock_time(OWN) + clock_time(SYSTEM)
            return 0
        (samples,) = struct.unpack_from("I", memory)
        assert samples == ptp_clock.SAMPLES
        for k in range(samples):
            wide = 4000 if k != 3 else 600
            at = k * 10_000
            sets = clock_time(SYSTEM + at), clock_time(OWN + at), clock_time(SYSTEM + at + wide)
            step = 3 if number == ptp_clock.EXTENDED else 2
            begin = 16 + k * step * 16
            memory[begin : begin + 48] = b"".join(sets)
        return 0


def test_the_numbers_are_those_of_the_kernel() -> None:
    assert (ptp_clock.PRECISE, ptp_clock.EXTENDED, ptp_clock.PLAIN) == (
        0xC0403D08,
        0xC4C03D09,
        0x43403D05,
    )


def test_hardware_that_reads_both_at_once_is_asked_first(monkeypatch) -> None:
    monkeypatch.setattr(
        ptp_clock.fcntl, "ioctl", driver := Driver(ptp_clock.PRECISE, ptp_clock.EXTENDED)
    )
    found = ptp_clock.read(5)
    assert (found.own_ns, found.system_ns, found.error_ns) == (OWN, SYSTEM, 50)
    assert driver.asked == [ptp_clock.PRECISE]


def test_else_the_narrowest_of_reads_between_two_of_the_systems(monkeypatch) -> None:
    monkeypatch.setattr(ptp_clock.fcntl, "ioctl", Driver(ptp_clock.EXTENDED))
    found = ptp_clock.read(5)
    assert (found.own_ns, found.system_ns) == (OWN + 30_000, SYSTEM + 30_300)
    assert found.error_ns == 301


def test_an_old_driver_is_read_in_turn(monkeypatch) -> None:
    monkeypatch.setattr(
        ptp_clock.fcntl, "ioctl", driver := Driver(ptp_clock.PLAIN, error=errno.ENOTTY)
    )
    found = ptp_clock.read(5)
    assert driver.asked == [ptp_clock.PRECISE, ptp_clock.EXTENDED, ptp_clock.PLAIN]
    assert found.own_ns == OWN + 80_000  # the last set alone keeps its end: the others overlap
    assert found.error_ns == 2001


def test_a_clock_that_is_gone_is_no_other_way(monkeypatch) -> None:
    monkeypatch.setattr(ptp_clock.fcntl, "ioctl", driver := Driver(error=errno.ENODEV))
    with pytest.raises(OSError, match="No such device"):
        ptp_clock.read(5)
    assert driver.asked == [ptp_clock.PRECISE]
    with pytest.raises(RunFailed, match="a NIC's clock cannot be read: No such device"):
        NicClocks([], {"h.d": 5}).begin()
