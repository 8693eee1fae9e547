"""Kernels of QCN and the oracle of the pseudo code, driven together and compared at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.engine.records import NEVER
from plugins.qcn_cp import QCN_CP
from plugins.qcn_rp import QCN_RP
from tests.oracle.jitter import Jitter
from tests.oracle.pseudocode_cp import CongestionPoint, CpParameters
from tests.oracle.pseudocode_rp import ACTIVE, RateLimiter, RpParameters, no_jitter
from tests.plugins.kernel_driver import KernelDriver

SEED = 0x1A2B3C4D


@dataclass(frozen=True)
class Feedback:
    """A congestion notification message arrives."""

    fb: int

    def apply(self, pair: RpPair) -> None:
        pair.feedback(self.fb)


@dataclass(frozen=True)
class Send:
    """A number of frames of the same length leave, `backlog` octets wait behind the last one."""

    frames: int
    length: int
    backlog: int

    def apply(self, pair: RpPair) -> None:
        for left in reversed(range(self.frames)):
            pair.send(self.length, self.backlog + left * self.length)


@dataclass(frozen=True)
class Wait:
    """Time passes; the timer fires as often as it is due."""

    duration: int

    def apply(self, pair: RpPair) -> None:
        pair.wait(self.duration)


class RpPair:
    """A reaction point's kernels and the oracle, driven together and compared at every event."""

    driver = KernelDriver(QCN_RP)

    def __init__(self, preset: str, link_rate: int, jitter: bool, **table: object) -> None:
        params: Any = QCN_RP.params.from_table({"preset": preset, "jitter": jitter, **table})
        self.driver.reset(params, SEED)
        self.limiter = self.driver.entity
        for field in ("rate", "target", "link_rate"):
            self.limiter[field] = link_rate
        self.limiter["timer"] = NEVER
        parameters = RpParameters(
            C=link_rate,
            BC_LIMIT=params.byte_reset,
            TIMER_PERIOD=params.time_reset,
            R_AI=params.ai_rate,
            R_HAI=params.hai_rate,
            GD=params.gd,
            FAST_RECOVERY_TH=params.threshold,
            MIN_RATE=min(params.min_rate, link_rate),
            MIN_DEC_FACTOR=params.min_decrease_factor,
            cap_target=params.cap_target,
            extra=params.extra_fast_recovery,
        )
        self.oracle = RateLimiter(parameters, Jitter(SEED) if jitter else no_jitter)
        self.now = 0
        self.seen: set[str] = set()

    def feedback(self, fb: int) -> None:
        self.driver.frame["feedback"] = fb
        self.driver.call("feedback", self.now)
        self.oracle.now = self.now
        self.oracle.feedback(fb)
        self.compare()

    def send(self, length: int, backlog: int) -> None:
        self.now += length * 8 * 10**12 // int(self.limiter["rate"][0])
        self.wait(0)
        self.driver.frame["length"] = length
        self.limiter["backlog"] = backlog
        self.driver.call("sent", self.now)
        self.oracle.now, self.oracle.qlen = self.now, backlog
        self.oracle.transmit(length)
        self.compare()

    def wait(self, duration: int) -> None:
        end = self.now + duration
        while (due := self.oracle.timer) is not None and due <= end:
            self.now = max(self.now, due)
            self.limiter["timer"] = NEVER
            self.driver.call("timer", due)
            self.oracle.now = due
            self.oracle.timer_expired()
            self.compare()
        self.now = end

    def compare(self) -> None:
        """Everything that a node can see of a limiter."""
        fields = ("active", "rate", "target", "timer")
        kernel = {field: int(self.limiter[field][0]) for field in fields}
        stages = ("byte_stage", "timer_stage")
        kernel |= {field: int(self.driver.state[field][0]) for field in stages}
        oracle = self.oracle
        assert kernel == {
            "active": int(oracle.state == ACTIVE),
            "rate": oracle.crate,
            "target": oracle.trate,
            "byte_stage": oracle.si_count,
            "timer_stage": oracle.timer_scount,
            "timer": NEVER if oracle.timer is None else oracle.timer,
        }
        self.note_states()

    def note_states(self) -> None:
        """Which of the states that a test should have reached were reached."""
        oracle, th = self.oracle, self.oracle.p.FAST_RECOVERY_TH
        stages = oracle.si_count, oracle.timer_scount
        if oracle.state == ACTIVE:
            above = sum(stage > th for stage in stages)
            self.seen.add(("fast recovery", "active increase", "hyper-active increase")[above])
        elif "fast recovery" in self.seen:
            self.seen.add("released")
        if oracle.crate == oracle.p.MIN_RATE:
            self.seen.add("minimum rate")
        if oracle.trate < oracle.p.C // 7:
            self.seen.add("target cut")


class CpPair:
    """A congestion point's kernel and the oracle, driven together and compared at every frame."""

    driver = KernelDriver(QCN_CP)

    def __init__(self, jitter: bool, **table: object) -> None:
        params: Any = QCN_CP.params.from_table({"jitter": jitter, **table}, bare=True)
        self.driver.reset(params, SEED)
        self.driver.entity["capacity"] = NEVER  # the pseudo code knows no full queue
        parameters = CpParameters(params.set_point, params.weight, params.sample_base)
        self.oracle = CongestionPoint(parameters, Jitter(SEED) if jitter else no_jitter)
        self.rows: set[int] = set()

    def arrive(self, length: int, queue_bytes: int) -> None:
        driver = self.driver
        driver.frame["length"] = length
        driver.entity["bytes"] = queue_bytes
        self.oracle.qlen = queue_bytes
        expected = self.oracle.arrival(length)
        assert driver.call("arrival", 0) == int(expected is not None)
        if expected is not None:
            self.rows.add(expected.fb >> 3)
            told = [int(driver.message[field][0]) for field in ("feedback", "offset", "delta")]
            assert told == [expected.fb, expected.qoff, expected.qdelta]
