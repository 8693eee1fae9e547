"""Uncertainty of a metric from the machine's distortions, by the kind of the metric.

One verdict for a whole run cannot say it. A departure that is 2 ms late leaves a mean queue of a
loop of 60 ms alone, and makes a latency of 100 us worthless.
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
"""Share of a phase from which on a metric over it shows what a stall left."""
RATES = ("utilization", "throughput_bps", "rate_bps.", "sent_bps.")
COUNTS = ("frames.", "feedback.", "messages.", "echoes.", "pause.count", "reassembly.")


@dataclass(frozen=True)
class Distortion:
    """What was measured of the machine, as far as it concerns one entity."""

    late_mean_s: float = 0.0
    late_p99_s: float = 0.0
    late_max_s: float = 0.0
    backlog_s: float = 0.0
    """What the longest stall leaves waiting on its way: where that is worked off at once, 0."""
    phase_s: float = float("inf")
    """How long it was measured."""
    crossing_s: float = 0.0
    """What the links of its way take beyond their delays, on the mean, together."""
    reaction_s: float = 1.0
    rate_bps: float = 0.0
    """Of the link that its queue is served by."""
    share: float = 0.0
    """Of its traffic that was lost outside the queues, came twice, or was not sent in time."""
    frames: int = 0
    """So many frames that is."""


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
    """What a stall leaves waiting on a way, in s, so long that a metric of the phase shows it.

    A way that is `busy` to a share of its rate works a stall off with what it has to spare, in
    stall / (1 - busy), or its loop does it within the time in which it reacts. Until then frames
    wait as long as the stall was, which none of them is late by: they are behind others.
    """
    lasting_s = stall_s / (1 - busy) if busy < 1 else reaction_s
    return stall_s if min(lasting_s, reaction_s) >= SEEN * phase_s else 0.0


def uncertainty_of_slowdown(slowdown: float, fct_s: float, by: Distortion) -> float:
    """A completion time as a multiple of an ideal one is off by as much of itself as that time."""
    return abs(slowdown) * uncertainty("fct_s.mean", fct_s, by) / fct_s if fct_s > 0 else 0.0


def is_uncertain(value: float, by: float, low: float | None, high: float | None) -> bool:
    """Whether a bound lies within the error bar: then the value is neither within it nor without.

    (The guard band of JCGM 106:2012, on either side of the bound.)
    """
    return any(bound is not None and abs(value - bound) < by for bound in (low, high))
