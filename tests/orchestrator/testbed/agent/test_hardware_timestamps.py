"""NICs that take times or launch frames: asked by a kernel that is played, put back whatever
happens, refused by name where they cannot."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import pytest

from orchestrator.targets.software import etf_qdisc, ptp_clock
from orchestrator.targets.software import nic_capabilities as abilities
from orchestrator.targets.software.ptp_clock import Reading
from orchestrator.testbed.agent import hardware_timestamps
from orchestrator.testbed.agent.lease_journal import Journal
from orchestrator.testbed.agent.nic_claims import Claim
from orchestrator.testbed.wire.envelope import Unacceptable
from tests.orchestrator.testbed.agent.test_claims import E2, Machine, machine

__all__ = ["machine"]


class Driver:
    """What SIOCGHWTSTAMP and SIOCSHWTSTAMP come to."""

    def __init__(self) -> None:
        self.now, self.filter, self.error, self.tells = (0, 0, 0), 1, 0, True
        self.log: list[tuple[int, int, int]] = []

    def __call__(self, descriptor: int, number: int, request: bytes) -> bytes:
        name, address = struct.unpack("16sP8x", request)
        assert name.rstrip(b"\0").decode() == E2
        config = (ctypes.c_int * 3).from_address(address)
        if number == hardware_timestamps.SIOCGHWTSTAMP:
            if not self.tells:
                raise OSError(95, os.strerror(95))
            config[:] = self.now
            return request
        assert number == hardware_timestamps.SIOCSHWTSTAMP
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        wanted = tuple(config)
        self.log.append(wanted)
        self.now = (wanted[0], wanted[1], self.filter if wanted[2] else 0)
        config[:] = self.now
        return request


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    played = Driver()
    monkeypatch.setattr(hardware_timestamps.fcntl, "ioctl", played)
    monkeypatch.setattr(abilities, "_stamping", lambda name: 1 << 0 | 1 << 2 | 1 << 6)
    return played


def test_it_is_turned_on_after_it_was_noted_and_put_back(driver: Driver, machine: Machine):
    driver.now = (0, 1, 12)  # somebody's PTP: events alone
    claim = Claim.make(E2, stamps=True)
    assert claim.before["stamping"] == [0, 1, 12]
    assert driver.log == []
    claim.prepare()
    assert driver.log == [(0, 1, 1)]
    claim.release()
    assert driver.log == [(0, 1, 1), (0, 1, 12)]


def test_a_driver_that_does_not_tell_is_turned_off(driver: Driver, machine: Machine):
    driver.tells = False
    claim = Claim.make(E2, stamps=True)
    claim.prepare()
    claim.release()
    assert driver.log == [(0, 1, 1), (0, 0, 0)]


def test_who_does_not_ask_leaves_it_alone(driver: Driver, machine: Machine):
    claim = Claim.make(E2)
    claim.prepare()
    claim.release()
    assert driver.log == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"filter": 12}, f"NIC {E2} takes times of some frames alone .filter 12., not of all"),
        ({"error": 34}, f"NIC {E2} does not take times of all frames .Numerical result out"),
    ],
    ids=["some frames alone", "no frames"],
)
def test_a_nic_that_cannot_is_refused_by_name(
    driver: Driver, machine: Machine, change: dict[str, int], said: str
):
    for name, value in change.items():
        setattr(driver, name, value)
    claim = Claim.make(E2, stamps=True)
    with pytest.raises(Unacceptable, match=said) as no:
        claim.prepare()
    assert no.value.code == "stamps"
    claim.release()


def test_what_the_driver_does_not_have_is_named(monkeypatch: pytest.MonkeyPatch, machine: Machine):
    monkeypatch.setattr(abilities, "_stamping", lambda name: 1 << 0)
    claim = Claim.make(E2, stamps=True)
    said = f"NIC {E2} has no receive times by hardware, no hardware clock$"
    with pytest.raises(Unacceptable, match=said):
        claim.prepare()
    claim.release()


def test_a_successor_puts_back_what_a_killed_agent_left(
    driver: Driver, machine: Machine, tmp_path: Path
):
    journal = Journal(tmp_path / "state")
    driver.now = (0, 1, 12)
    claim = Claim.make(E2, stamps=True)
    journal.note("lease", nics={E2: claim.before})
    claim.prepare()
    claim.lock.close()  # as with SIGKILL: the process is gone, and nothing was released
    journal.close()
    after = Journal(tmp_path / "state")
    assert after.recover() == [f"NIC {E2} of lease lease was put back as it had been"]
    assert driver.log[-1] == (0, 1, 12)
    after.close()


class Queues:
    """What is done to a NIC's queue."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.handle, self.kind, self.error = 0, "", 0
        self.log: list[str] = []
        patch.setattr(etf_qdisc, "root", lambda index: (self.handle, self.kind))
        patch.setattr(etf_qdisc, "enable_etf", self.put)
        patch.setattr(etf_qdisc, "disable_etf", self.take_away)
        patch.setattr(hardware_timestamps.socket, "if_nametoindex", lambda name: 7)
        patch.setattr(hardware_timestamps, "queues", lambda name: 4)
        patch.setattr(
            hardware_timestamps, "open_clock", lambda name: os.open("/dev/null", os.O_RDONLY)
        )
        patch.setattr(ptp_clock, "read", self.read)
        self.apart = 0

    def put(self, index: int, queues: int) -> None:
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        self.log.append(f"put {index} {queues}")
        self.handle, self.kind = etf_qdisc.HANDLE, "mq"

    def take_away(self, index: int) -> None:
        self.log.append(f"take away {index}")
        self.handle, self.kind = 0, ""

    def read(self, clock: int) -> Reading:
        import time

        offset = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
        return Reading(round(offset / 10**9) * 10**9 + 1000 + self.apart, 1000, 10)


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    return Queues(monkeypatch)


def test_a_nic_launches_while_it_is_claimed(queues: Queues, machine: Machine):
    claim = Claim.make(E2, launches=True)
    assert queues.log == []
    claim.prepare()
    claim.release()
    assert queues.log == ["put 7 4", "take away 7"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (2, "this kernel has no queueing discipline etf"),
        (95, "its driver launches no frames"),
        (1, "needs CAP_NET_ADMIN"),
        (22, "etf is not taken .Invalid argument"),
    ],
)
def test_a_nic_that_launches_nothing_is_refused(
    queues: Queues, machine: Machine, error: int, said: str
):
    queues.error = error
    claim = Claim.make(E2, launches=True)
    with pytest.raises(Unacceptable, match=f"NIC {E2} has no launch times: .*{said}") as no:
        claim.prepare()
    assert no.value.code == "launch"
    claim.release()
    assert queues.log == []


def test_a_queue_of_somebody_else_stays(queues: Queues, machine: Machine):
    queues.handle, queues.kind = 0x10000, "fq"
    claim = Claim.make(E2, launches=True)
    with pytest.raises(Unacceptable, match="has a queueing discipline of its own"):
        claim.prepare()
    claim.release()
    assert queues.log == []


@pytest.mark.parametrize("apart", [-(10**6), 151_000, 37 * 10**9])
def test_a_clock_that_is_not_tai_is_refused_and_the_queue_put_back(
    queues: Queues, machine: Machine, apart: int
):
    queues.apart = apart
    claim = Claim.make(E2, launches=True)
    with pytest.raises(Unacceptable, match=r"s from CLOCK_TAI, and 0\.00015 s are accepted"):
        claim.prepare()
    claim.release()
    assert queues.log == ["put 7 4", "take away 7"]
