"""Fidelity of a run: the machine's distortions, measured against the plan's needs.

A real-time target measures the lateness of each departure, losses outside the plan's queues, and
the rates achieved. Their effect depends on the emulated network, so every bound on time is a share
of a time of the plan itself, never of the machine's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.engine.histogram import mean_ps, percentile_ps, share_above
from orchestrator.run import guarded_link, link_conservation
from orchestrator.run.fidelity_thresholds import (
    DEGRADED,
    INVALID,
    ORDER,
    VALID,
    Finding,
    grade_share,
    microseconds,
    worst_findings,
)
from orchestrator.run.link_conservation import LinkCounts

__all__ = [
    "DEGRADED",
    "INVALID",
    "ORDER",
    "VALID",
    "Demand",
    "Measured",
    "Rate",
    "advised_pace",
    "judge",
]

LATE_P99 = (0.10, 0.30)
"""Lateness p99 as a share of the reaction time. A departure that is late by a share of it leaves
the queue off by about that share of its set point. Two targets must agree on the mean queue
within 10 %: here 99 of 100 departures do so each by itself."""
DISPLACED = (0.005, 0.02)
"""Share of departures later than the whole reaction time. Such a frame meets a loop that has gone
on without it, and may have left a service slot empty that cannot be made up. Utilisation must
agree between targets within 1 %: half of it is the machine's at most. (How far behind they are
is no measure by itself; a stall of 1 ms and one of 2 ms both empty the queue.)"""
MARGIN = (0.10, 0.30)
"""Mean lateness of a whole round trip, as a share of that by which a reaction point that goes by
delays loses what it grows by. It takes noise for a queue: what a few departures of a thousand are
late by tells here, where a percentile sees nothing. The same shares as those of LATE_P99."""
STALL = (0.01, 0.10)
"""The longest lateness as a share of the shortest phase. All that a stall keeps back arrives in
one heap, once: a mean over the phase moves by about its share of the phase."""
LOSS = (0.0, 1e-5)
"""Frames lost outside the emulated queues, of all sent. There are none in the model, and an
algorithm that counts losses takes each for congestion, so a single one is reported."""
RATE = (0.005, 0.02)
"""Relative error of a rate, against the 1 % within which utilisation must agree between targets:
half of it is the machine's at most."""


HELD = (0.01, 0.10)
"""Share of the run's time by which its clock was held back while the machine was busy elsewhere.
In emulated time such a run is as it should be, but it was not real time: to within 1 % it was,
as utilisation must be; beyond a tenth it was not. A run with a pace so low that it lasts longer by
more than that tenth is not to be in real time: this is reported then, and not judged."""


@dataclass(frozen=True)
class Demand:
    """The times of a plan that its machine is held to (ps)."""

    feedback_loop_ps: int
    """Shortest delay from a congestion point to its reaction point and back."""
    drain_ps: int
    """The time that the queue at its set point takes to drain at the service rate, the smallest
    of all congestion points."""
    shortest_phase_ps: int
    margin_ps: int | None = None
    """The least mean delay of round trips by which a reaction point loses what it grows by; None:
    none goes by delays."""
    departures: int = 0
    """Number of departures of the longest round trip."""

    @property
    def reaction_ps(self) -> int:
        """From a message's departure until frames sent at the new rate have left the queue."""
        return max(self.feedback_loop_ps + self.drain_ps, 1)

    @property
    def horizon_ps(self) -> int:
        """Most that emulated time may run ahead of a thread of the data path that lags.

        A departure is late by at most twice this: once for an iteration of that thread, and
        once for the lead of the others. Longer stalls are dropped from the clock instead.
        """
        return int(min(LATE_P99[0] * self.reaction_ps, STALL[1] * self.shortest_phase_ps / 2))


@dataclass(frozen=True)
class Rate:
    """Octets due while there was always something to send, and octets sent."""

    entity: str
    expected_octets: int
    achieved_octets: int
    frame_octets: int
    """The longest frame."""
    stretches: int = 1
    """Number of intervals of that time: each may cut a frame at both ends."""

    @property
    def error(self) -> float:
        """Relative error, after allowing for the frames across the ends."""
        across = 2 * self.frame_octets * self.stretches
        off = abs(self.achieved_octets - self.expected_octets) - across
        return max(off, 0) / max(self.expected_octets, 1)


@dataclass(frozen=True)
class Measured:
    """Measurements of the machine in one run."""

    lateness: np.ndarray
    """Histogram of all departures (`orchestrator.engine.histogram`)."""
    sent: int
    lost: dict[str, int]
    """Frames lost outside the emulated queues, by the place where they were lost."""
    capture_lost: int
    """Frames missing from a capture, other than those beyond the number the plan asks for."""
    rates: list[Rate] = field(default_factory=list)
    duration_ps: int = 0
    held_ps: list[int] = field(default_factory=list)
    """Time by which each thread held the run's clock back."""
    holds: int = 0
    longest_hold_ps: int = 0
    pace: float = 1.0
    """Seconds of the run per second: all times here are the run's own."""
    crossings: list[LinkCounts] = field(default_factory=list)
    """Every direction of every link."""
    taken_s: dict[str, float] = field(default_factory=dict)
    """Time that other processes and the hypervisor took from the data path: the cause, reported
    with the verdict and not part of it."""


def judge(measured: Measured, demand: Demand) -> dict[str, Any]:
    """The fidelity part of a result: verdict, reasons, and every number that led to them."""
    late = {name: percentile_ps(measured.lateness, share) for name, share in SHARES.items()}
    lost = sum(measured.lost.values())
    reaction = demand.reaction_ps
    displaced = share_above(measured.lateness, reaction)
    noise = mean_ps(measured.lateness) * demand.departures
    held = sum(measured.held_ps) / max(measured.duration_ps, 1)
    findings = [
        grade_share(
            late["p99"] / reaction,
            LATE_P99,
            f"lateness p99 {microseconds(late['p99'])}",
            f"the loop's reaction time ({microseconds(reaction)})",
        ),
        grade_share(
            displaced,
            DISPLACED,
            "the share of departures later than the loop's reaction time "
            f"({microseconds(reaction)})",
            "all departures",
        ),
        grade_share(
            late["max"] / max(demand.shortest_phase_ps, 1),
            STALL,
            f"longest lateness {microseconds(late['max'])}",
            f"the shortest phase ({microseconds(demand.shortest_phase_ps)})",
        ),
        grade_share(
            held if is_real_time(measured.pace) else 0.0,
            HELD,
            f"the time that the clock was held back ({microseconds(sum(measured.held_ps))})",
            "the run's time",
        ),
        grade_share(
            lost / max(measured.sent, 1),
            LOSS,
            f"{lost} frames lost outside the emulated queues ({_loss_counts(measured.lost)})",
            f"the {measured.sent} frames sent",
        ),
    ]
    if demand.margin_ps is not None:
        findings.append(
            grade_share(
                noise / max(demand.margin_ps, 1),
                MARGIN,
                f"mean lateness of a round trip ({microseconds(noise)} in {demand.departures} "
                "departures)",
                f"that by which a rate loses what it grows by ({microseconds(demand.margin_ps)})",
            )
        )
    findings += worst_findings(
        Finding(
            "another rate",
            rate.entity,
            rate.error,
            RATE,
            f"{rate.entity} moved {rate.achieved_octets} octets instead of {rate.expected_octets}",
            "what was configured",
        )
        for rate in measured.rates
    )
    findings += link_conservation.link_findings(measured.crossings, reaction)
    if measured.capture_lost:
        findings.append((DEGRADED, f"{measured.capture_lost} frames are missing from the capture"))
    return {
        "verdict": max((grade for grade, _ in findings), key=ORDER.index),
        "reasons": [reason for grade, reason in findings if grade != VALID],
        "pace": measured.pace,
        "lateness_s": {name: value / 1e12 for name, value in late.items()},
        "lateness_mean_s": mean_ps(measured.lateness) / 1e12,
        "displaced_share": displaced,
        "held": {
            "share": held,
            "time_s": sum(measured.held_ps) / 1e12,
            "count": measured.holds,
            "longest_s": measured.longest_hold_ps / 1e12,
        },
        "departures": int(measured.lateness[:-1].sum()),
        "frames_sent": measured.sent,
        "lost_outside_queues": dict(measured.lost),
        "capture_lost": measured.capture_lost,
        "rate_error": {rate.entity: rate.error for rate in measured.rates},
        "links": {one.entity: one.table() for one in measured.crossings},
        "taken_s": dict(measured.taken_s),
        "reaction_time_s": reaction / 1e12,
        "bounds": {
            "lateness_p99_s": [share * reaction / 1e12 for share in LATE_P99],
            "displaced_share": list(DISPLACED),
            **_margin(demand),
            "held_share": list(HELD),
            "lateness_max_s": [share * demand.shortest_phase_ps / 1e12 for share in STALL],
            "lost_share": list(LOSS),
            "rate_error": list(RATE),
            **{name: list(bounds) for name, bounds in guarded_link.BOUNDS.items()},
            "spurious_share": list(link_conservation.SPURIOUS),
            "extra_delay_s": [share * reaction / 1e12 for share in link_conservation.EXTRA_DELAY],
        },
    }


def is_real_time(pace: float) -> bool:
    """Return whether a run at a pace is to be in real time, within what HELD accepts of one."""
    return pace * (1 + HELD[1]) >= 1


def advised_pace(measured: Measured, demand: Demand, slowest: float = 0.0) -> float | None:
    """A slower pace at which this run would have been in time; None when it was or none is.

    Lateness is the machine's: in the time of a run at half the pace it is half as long. A clock
    that was held back for a share of the run could have gone so much slower from the start.
    `slowest` is what the target takes: it is advised where even that may not do.
    """
    late = {name: percentile_ps(measured.lateness, share) for name, share in SHARES.items()}
    noise = mean_ps(measured.lateness) * demand.departures
    slower = min(
        LATE_P99[1] * demand.reaction_ps / max(late["p99"], 1),
        math.inf if demand.margin_ps is None else MARGIN[1] * demand.margin_ps / max(noise, 1),
        STALL[1] * demand.shortest_phase_ps / max(late["max"], 1),
        1 / (1 + sum(measured.held_ps) / max(measured.duration_ps, 1)),
    )
    if slower >= 1 / (1 + HELD[1]):
        return None
    pace = SPARE * slower * measured.pace
    step = 10.0 ** math.floor(math.log10(pace))
    digit = math.floor(pace / step * EVEN)
    advised = max(round(digit * step, 6), slowest)
    return advised if advised < measured.pace else None


EVEN = 1 + 1e-12
"""A power of ten that binary fractions left short by their last digit is one: and not nothing."""
SPARE = 0.5
"""Of the pace that would just have done, for machines are not the same from run to run."""
SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def _margin(demand: Demand) -> dict[str, list[float]]:
    """Bounds on the mean lateness of a departure, where a reaction point uses delays."""
    if demand.margin_ps is None:
        return {}
    each = demand.margin_ps / max(demand.departures, 1) / 1e12
    return {"lateness_mean_s": [share * each for share in MARGIN]}


def _loss_counts(lost: dict[str, int]) -> str:
    return ", ".join(f"{place}: {count}" for place, count in lost.items() if count) or "none"
