"""Clocks of NICs over a run, with a clock that is played: lines for the data path, what is told."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.datapath.phc_mapping import CLOCKS, LINE, system_time
from orchestrator.targets.software import phc_tracker, ptp_clock
from orchestrator.targets.software.ptp_clock import Reading
from tests.patience import eventually

FASTER = 1.000_05
"""The NIC's clock against the system's: 50 millionths."""


class Nic:
    """A clock that runs from a time of its own on."""

    def __init__(self) -> None:
        self.began = time.time_ns()
        self.jump = self.fails = self.reads = 0

    def own(self, system_ns: int) -> int:
        return int((system_ns - self.began) * FASTER) + 5_000 + self.jump

    def read(self, clock: int) -> Reading:
        self.reads += 1
        if self.fails:
            raise OSError(19, "No such device")
        now = time.time_ns()
        return Reading(self.own(now), now, 100)

    def wait_for_reads(self, count: int) -> None:
        """Wait until the clock was read so many times more."""
        wanted = self.reads + count
        eventually(lambda: self.reads >= wanted, f"{count} more reads of the clock")


def thread(*wires: str) -> Any:
    clocks = np.zeros((len(wires), CLOCKS), np.int64)
    return SimpleNamespace(rig=SimpleNamespace(clocks=clocks), wires=list(wires))


@pytest.fixture
def nic(monkeypatch: pytest.MonkeyPatch) -> Nic:
    played = Nic()
    monkeypatch.setattr(ptp_clock, "read", played.read)
    monkeypatch.setattr(phc_tracker, "EVERY_S", 0.02)
    return played


def test_every_wire_of_a_nic_has_its_line_and_no_other_has(nic: Nic) -> None:
    threads = [thread("a.b", "a.c"), thread("d.a")]
    clocks = phc_tracker.NicClocks(threads, {"a.c": 3, "d.a": 4})
    clocks.begin()
    nic.wait_for_reads(16)
    told = clocks.end()
    now = time.time_ns()
    for rig, wire in ((threads[0].rig, 1), (threads[1].rig, 0)):
        assert system_time(rig.clocks, wire, nic.own(now)) == pytest.approx(now, abs=50_000)
    assert threads[0].rig.clocks[0, LINE] == 0
    assert set(told) == {"a.c", "d.a"}
    for row in told.values():
        assert row["steps"] == 0
        assert 0 < row["error_s"] < 1e-4
        assert row["faster_ppb"] == pytest.approx(-50_000, rel=0.1)
        assert row["worst_s"] <= row["error_s"]


def test_a_jump_and_a_clock_that_goes_are_told(nic: Nic) -> None:
    clocks = phc_tracker.NicClocks([one := thread("a.b")], {"a.b": 3})
    clocks.begin()
    nic.jump = 10**9
    nic.wait_for_reads(7)
    now = time.time_ns()
    assert system_time(one.rig.clocks, 0, nic.own(now)) == pytest.approx(now, abs=50_000)
    nic.fails = 1
    nic.wait_for_reads(1)
    told = clocks.end()
    assert told["a.b"]["steps"] == 1
    assert told["failed"] == "No such device"
