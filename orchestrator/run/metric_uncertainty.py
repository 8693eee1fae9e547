"""Uncertainty of a metric from the machine's distortions, by the kind of the metric.

One verdict for a whole run is too coarse: a departure that is 2 ms late does not change the mean
queue of a loop of 60 ms, and makes a latency of 100 us worthless.
"""

from __future__ import annotations

from dataclasses import dataclass

SETTLING = ("settling_s", "queue.settling_s", "fairness.settling_s")
COLLECTIVES = ("collective_s.", "collective_step_s.")
TIMES = ("latency_s.", "fct_s.", "recovery_s", *COLLECTIVES, *SETTLING)
ROUND_TRIPS = ("rtt_s.",)
QUEUES = ("queue_bytes.", "reassembly_bytes.")
SHARES = ("frames.drop_ratio", "fairness.", "active.share")
SEEN = 0.01
"""Least share of a phase for which a backlog affects a metric over the phase."""
RATES = ("utilization", "throughput_bps", "rate_bps.", "sent_bps.")
COUNTS = ("frames.", "feedback.", "messages.", "echoes.", "pause.count", "reassembly.")


@dataclass(frozen=True)
class Distortion:
    """Distortions by the machine that concern one entity."""

    late_mean_s: float = 0.0
    late_p99_s: float = 0.0
    late_max_s: float = 0.0
    backlog_s: float = 0.0
    """Backlog on its path after the longest stall; 0 where it is served at once."""
    phase_s: float = float("inf")
    """Duration of the measurement."""
    crossing_s: float = 0.0
    """Sum of the mean excess delays of the links on its path."""
    reaction_s: float = 1.0
    rate_bps: float = 0.0
    """Rate of the link that serves its queue."""
    share: float = 0.0
    """Share of its traffic that was lost outside the queues, duplicated, or not sent in time."""
    frames: int = 0
    """That share in frames."""


def uncertainty(metric: str, value: float, by: Distortion) -> float:
    """The error bar of a metric, in its unit: the true value lies within it of 99 in 100 frames.

    Times: what a departure is late by, or waits for behind others that were, and what links keep
    frames back, of a round trip there and back. Queues: what comes in or
    goes out at the link's rate while a departure is late: on the mean, at the 99th percentile, and
    once for the maximum. A pause is as long as a reaction, and begins and ends as late as a
    departure. Rates, counts and shares: what was lost, or made up, of the traffic itself; of what
    got through also what still waits at the end of a phase.
    """
    if metric.startswith(TIMES):
        return max(by.late_p99_s, by.backlog_s) + by.crossing_s
    if metric.startswith(ROUND_TRIPS):
        return max(by.late_p99_s, by.backlog_s) + 2 * by.crossing_s
    if metric.startswith(QUEUES):
        late_s = {"mean": by.late_mean_s, "max": by.late_max_s}.get(
            metric.rsplit(".", 1)[1], by.late_p99_s
        )
        return late_s * by.rate_bps / 8
    if metric in ("pause.time_s", "pause.longest_s"):
        return min(abs(value) * by.late_p99_s / by.reaction_s, abs(value))
    if metric.startswith(SHARES):
        return by.share
    if metric == "throughput_bps":
        return abs(value) * (by.share + by.backlog_s / by.phase_s)
    if metric.startswith(RATES):
        return abs(value) * by.share
    if metric.startswith(COUNTS):
        return float(by.frames)
    return 0.0


def backlog_s(stall_s: float, busy: float, reaction_s: float, phase_s: float) -> float:
    """Backlog on a path after a stall, in s, if it lasts long enough to affect a metric of the
    phase.

    A path with utilization `busy` serves the backlog with its spare rate in stall / (1 - busy), or
    its control loop does within its reaction time. Until then frames wait as long as the stall
    was; their own departures are not late, because they queue behind others.
    """
    lasting_s = stall_s / (1 - busy) if busy < 1 else reaction_s
    return stall_s if min(lasting_s, reaction_s) >= SEEN * phase_s else 0.0


def uncertainty_of_slowdown(slowdown: float, fct_s: float, by: Distortion) -> float:
    """Uncertainty of a slowdown: the relative uncertainty of its completion time."""
    return abs(slowdown) * uncertainty("fct_s.mean", fct_s, by) / fct_s if fct_s > 0 else 0.0


def is_uncertain(value: float, by: float, low: float | None, high: float | None) -> bool:
    """Return whether a bound lies within the error bar: the value is then undecided.

    (The guard band of JCGM 106:2012, on either side of the bound.)
    """
    return any(bound is not None and abs(value - bound) < by for bound in (low, high))
