"""Uncertainty of a metric from the machine's distortions, by the kind of the metric.

One verdict for a whole run is too coarse: a departure that is 2 ms late does not change the mean
queue of a loop of 60 ms, and makes a latency of 100 us worthless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.plan import observables
from orchestrator.plan.metric_registry import (
    BITS_PER_SECOND,
    BYTES,
    CORE,
    COUNT,
    COUNTER,
    NUMBER,
    OF_A_PLUGIN,
    PLUGIN_METRICS,
    SECONDS,
    Unit,
)

SETTLING = ("settling_s", "queue.settling_s", "fairness.settling_s")
COLLECTIVES = ("collective_s.", "collective_step_s.")
TIMES = ("latency_s.", "fct_s.", "recovery_s", *COLLECTIVES, *SETTLING)
ROUND_TRIPS = ("rtt_s.",)
QUEUES = ("queue_bytes.", "reassembly_bytes.")
SHARES = ("frames.drop_ratio", "fairness.", "active.share")
SEEN = 0.01
"""Least share of a phase for which a backlog affects a metric over the phase."""
RATES = ("utilization", "throughput_bps", "rate_bps.", "sent_bps.")
COUNTS = (
    *("frames.", "feedback.", "messages.", "echoes.", "credits.", "collectives.", "storms."),
    *("pause.count", "reassembly.", "flows.", "naks."),
)
EXACT = ("deadlocks", "departures")
"""Findings on the recording itself: no distortion puts them off by a part."""


@dataclass(frozen=True)
class LinkStall:
    """Delays by which a link stalls a loop (`guarded_link.STALLED`), over all of its frames."""

    mean_s: float = 0.0
    rms_s: float = 0.0
    p99_s: float = 0.0
    max_s: float = 0.0


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
    stall: LinkStall = LinkStall()
    """Of the link that stalls loops the most."""


def uncertainty(metric: str, value: float, by: Distortion) -> float | None:
    """The error bar of a metric, in its unit: the true value lies within it of 99 in 100 frames.

    Times: what a departure is late by, or waits for behind others that were, and what links keep
    frames back, of a round trip there and back. Queues: what comes in or
    goes out at the link's rate while a departure is late: on the mean, at the 99th percentile, and
    once for the maximum. A pause is as long as a reaction, and begins and ends as late as a
    departure. Rates, counts and shares: what was lost, or made up, of the traffic itself; of what
    got through also what still waits at the end of a phase. A frequency f: each cycle of 1 / f is
    late at its end, f^2 x lateness. Metrics of plugins: by their unit, times as times, octets as
    queues, rates as rates, counters as counts. Delays of a link that stall a loop count as much.

    None for a metric that has no error bar: a ratio, stage or other number of a plugin, of which
    the relation to times and octets is the plugin's own; and those of `uncertainty_by_others`.
    """
    unit = _unit(metric)
    statistic = metric.rsplit(".", 1)[-1]
    stall_s = {"p99": by.stall.p99_s, "max": by.stall.max_s}.get(statistic, 0.0)
    if metric.startswith(TIMES) or unit is SECONDS:
        return max(by.late_p99_s, by.backlog_s, stall_s) + by.crossing_s
    if metric.startswith(ROUND_TRIPS):
        return max(by.late_p99_s, by.backlog_s, stall_s) + 2 * by.crossing_s
    if metric in ("pause.time_s", "pause.longest_s"):
        return min(abs(value) * by.late_p99_s / by.reaction_s, abs(value))
    if metric == "queue.frequency_hz":
        return value * value * by.late_p99_s
    if metric == "fairness.max_min":
        return 2 * abs(value) * by.share
    if metric.startswith(SHARES):
        return by.share
    if metric == "throughput_bps":
        return abs(value) * (by.share + by.backlog_s / by.phase_s)
    if metric in EXACT:
        return 0.0
    if metric.startswith(QUEUES) or unit is BYTES:
        late_s = {
            "mean": max(by.late_mean_s, by.stall.mean_s),
            "max": max(by.late_max_s, by.stall.max_s),
        }.get(statistic, max(by.late_p99_s, by.stall.rms_s))
        return late_s * by.rate_bps / 8
    if metric.startswith(RATES) or unit is BITS_PER_SECOND:
        return abs(value) * by.share
    if metric.startswith(COUNTS) or unit is COUNT:
        return float(by.frames)
    return None


def _unit(metric: str) -> Unit | None:
    """Unit of a plugin's metric; of those of the core, of counts alone. A counter of an algorithm
    has no statistic behind its name."""
    if metric in CORE:
        return COUNT if CORE[metric].unit is COUNT else None
    declared = PLUGIN_METRICS.get(metric)
    if declared is not None:
        return declared.unit if declared.unit is not COUNT or declared.basis == COUNTER else None
    match = OF_A_PLUGIN.fullmatch(metric)
    unit = observables.unit_of(metric)
    return COUNT if unit is NUMBER and match is not None and match["part"] is None else unit


def uncertainty_by_others(
    metric: str, value: float, values: Mapping[str, float | None], by: Distortion
) -> float | None:
    """The error bar of a metric that follows from other metrics of its entity.

    A slowdown is as far off as its completion time. A window is throughput x round trip (Little's
    law): it is off by the share that the round trip is, and by that of the traffic; so is its
    deviation, by as many octets as its mean. An overshoot is max / mean - 1 of a queue. None where
    what it follows from has no value.
    """
    if metric.startswith("slowdown."):
        fct_s = values.get(metric.replace("slowdown.", "fct_s."))
        return _share_of("fct_s.mean", fct_s, abs(value), by)
    if metric.startswith("window_bytes."):
        size = abs(values.get("window_bytes.mean") or value)
        off = _share_of("rtt_s.mean", values.get("rtt_s.mean"), size, by)
        return None if off is None else off + size * by.share
    if metric == "queue.overshoot":
        most = values.get("queue_bytes.max")
        if not most:
            return None
        late_s = by.late_max_s + (1 + value) * by.late_mean_s
        return late_s * by.rate_bps / 8 * (1 + value) / most
    return uncertainty(metric, value, by)


def _share_of(metric: str, other: float | None, size: float, by: Distortion) -> float | None:
    """The share that another metric is off by, of `size`; None where that one has no value."""
    off = uncertainty(metric, other, by) if other is not None and other > 0 else None
    return None if off is None or other is None else size * off / other


def backlog_s(stall_s: float, busy: float, reaction_s: float, phase_s: float) -> float:
    """Backlog on a path after a stall, in s, if it lasts long enough to affect a metric of the
    phase.

    A path with utilization `busy` serves the backlog with its spare rate in stall / (1 - busy), or
    its control loop does within its reaction time. Until then frames wait as long as the stall
    was; their own departures are not late, because they queue behind others.
    """
    lasting_s = stall_s / (1 - busy) if busy < 1 else reaction_s
    return stall_s if min(lasting_s, reaction_s) >= SEEN * phase_s else 0.0


def is_uncertain(value: float, by: float, low: float | None, high: float | None) -> bool:
    """Return whether a bound lies within the error bar: the value is then undecided.

    (The guard band of JCGM 106:2012, on either side of the bound.)
    """
    return any(bound is not None and abs(value - bound) < by for bound in (low, high))
