"""Metric names: their units, the kinds of entity that have them, and the parsing of bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.plan.former_names import METRICS as FORMER_METRICS
from orchestrator.plan.former_names import current_metric
from orchestrator.plan.input_problems import near
from orchestrator.plan.units import DURATION, RATE, SIZE, Quantity, UnitError


@dataclass(frozen=True)
class Unit:
    """Unit of a metric; `quantity` reads its bounds, `scale` base units are one SI unit.

    Without a quantity a bound is a plain number.
    """

    symbol: str
    quantity: Quantity | None = None
    scale: int = 1


BYTES = Unit("B", SIZE)
BITS_PER_SECOND = Unit("bit/s", RATE)
SECONDS = Unit("s", DURATION, 10**12)
RATIO = Unit("ratio")
COUNT = Unit("count")
HERTZ = Unit("Hz")
NUMBER = Unit("1")
"""Of an algorithm's own: a count, a ratio, a stage."""

STATISTICS = ("mean", "p50", "p95", "p99")
SIZE_CLASSES = ("small", "medium", "large")
"""Of messages: up to 100 KB, up to 10 MB, more (as in pFabric)."""
CLASS_PREFIXES = ("", *(f"{name}." for name in SIZE_CLASSES))
MESSAGES: dict[str, Unit] = {
    **{f"fct_s.{name}{part}": SECONDS for name in CLASS_PREFIXES for part in STATISTICS},
    **{f"slowdown.{name}{part}": RATIO for name in CLASS_PREFIXES for part in STATISTICS},
    **{f"collective_s.{part}": SECONDS for part in STATISTICS},
    **{f"collective_step_s.{part}": SECONDS for part in STATISTICS},
    "collectives.started": COUNT,
    "collectives.completed": COUNT,
    "messages.started": COUNT,
    "messages.completed": COUNT,
}
"""Of flows that carry messages: completion times, and as multiples of those of an empty path; of
rounds of collectives, and of their steps: from their first message's begin to their last's arrival.
"""

PAUSES = {"pause.time_s": SECONDS, "pause.longest_s": SECONDS}

SENT = {f"sent_bps.{part}": BITS_PER_SECOND for part in ("mean", "sd")}
"""Of what a source sends."""

SWINGS = {
    "queue_bytes.amplitude": BYTES,
    "queue.frequency_hz": HERTZ,
    "queue.overshoot": RATIO,
    "queue.settling_s": SECONDS,
}
"""Oscillation of a queue."""

FAIRNESS = {
    "fairness.jain": RATIO,
    "fairness.max_min": RATIO,
    "fairness.window_mean": RATIO,
    "fairness.window_min": RATIO,
    "fairness.settling_s": SECONDS,
}
"""Fairness among several flows."""

LATENCY = {f"latency_s.{part}": SECONDS for part in ("mean", "p50", "p99", "max")}
SEEN_OF_A_DEVICE: dict[str, Unit] = {
    "throughput_bps": BITS_PER_SECOND,
    **{f"frames.{part}": COUNT for part in ("sent", "reordered", "duplicated", "foreign")},
    "feedback.sent": COUNT,
    "pause.count": COUNT,
    **LATENCY,
}
"""Metrics of an external device, by the captures at the emulated ports."""

METRICS: dict[str, dict[str, Unit]] = {
    "port": {
        **{f"queue_bytes.{part}": BYTES for part in ("mean", "sd", "max", "p99")},
        **SWINGS,
        "utilization": RATIO,
        "throughput_bps": BITS_PER_SECOND,
        **{f"frames.{part}": COUNT for part in ("received", "sent", "dropped")},
        "frames.dropped_early": COUNT,
        "frames.drop_ratio": RATIO,
        "frames.trimmed": COUNT,
        "frames.reprioritized": COUNT,
        "storms.detected": COUNT,
        "storms.restored": COUNT,
        "frames.marked": COUNT,
        "feedback.sent": COUNT,
        "pause.count": COUNT,
        "recovery_s": SECONDS,
    },
    "input": {
        **{f"queue_bytes.{part}": BYTES for part in ("mean", "sd", "max", "p99")},
        **SWINGS,
        "throughput_bps": BITS_PER_SECOND,
        **{f"frames.{part}": COUNT for part in ("received", "sent", "dropped")},
        "frames.dropped_early": COUNT,
        "frames.drop_ratio": RATIO,
        "frames.marked": COUNT,
        "feedback.sent": COUNT,
        "pause.count": COUNT,
    },
    "link": {
        "throughput_bps": BITS_PER_SECOND,
        "utilization": RATIO,
        "frames.sent": COUNT,
        "frames.dropped": COUNT,
        **PAUSES,
    },
    "lane": dict(PAUSES),
    "limiter": {
        **{f"rate_bps.{part}": BITS_PER_SECOND for part in ("mean", "sd", "min", "max")},
        **{f"window_bytes.{part}": BYTES for part in ("mean", "sd")},
        **{f"rtt_s.{part}": SECONDS for part in ("mean", "p99")},
        "active.share": RATIO,
        "settling_s": SECONDS,
        "feedback.received": COUNT,
    },
    "flow": {
        "throughput_bps": BITS_PER_SECOND,
        **SENT,
        **{
            f"frames.{part}": COUNT
            for part in ("sent", "received", "dropped", "refused", "reordered", "retransmitted")
        },
    },
    "multicast": {**SENT, "frames.sent": COUNT, "frames.refused": COUNT},
    "copy": {
        "throughput_bps": BITS_PER_SECOND,
        "frames.received": COUNT,
        "frames.reordered": COUNT,
    },
    "entry": {
        "throughput_bps": BITS_PER_SECOND,
        "latency_s.mean": SECONDS,
        "latency_s.p50": SECONDS,
        "latency_s.p99": SECONDS,
        **FAIRNESS,
    },
    "traffic": {
        "throughput_bps": BITS_PER_SECOND,
        **FAIRNESS,
    },
    "network": {"deadlocks": COUNT},
    "nic": {
        **{f"feedback.{part}": COUNT for part in ("ignored", "unassigned", "sent")},
        "echoes.sent": COUNT,
        "credits.sent": COUNT,
    },
    "sink": {"feedback.sent": COUNT, "echoes.sent": COUNT, "credits.sent": COUNT},
    "switch": {
        "reassembly_bytes.mean": BYTES,
        "reassembly_bytes.max": BYTES,
        "reassembly.gaps": COUNT,
        "reassembly.late": COUNT,
    },
    "external": {
        **SEEN_OF_A_DEVICE,
        "frames.received": COUNT,
        "frames.dropped": COUNT,
        "frames.drop_ratio": RATIO,
        "departures": COUNT,
    },
    "external port": SEEN_OF_A_DEVICE,
    "messages": MESSAGES,
}
"""Kind of entity -> metric -> unit. A traffic entry of one flow is that flow too; every entry, and
all traffic together, may have messages."""


OF_A_PLUGIN = re.compile(
    r"(?P<plugin>[a-z0-9][a-z0-9-]*)\.(?P<field>[a-z][a-z0-9_]*)(?:\.(?P<part>\w+))?"
)
"""Name of a metric that an algorithm brings (orchestrator.plan.observables)."""


def unknown_metric_text(name: str) -> str:
    """Error text for a metric that no entity has."""
    known = {metric for metrics in METRICS.values() for metric in metrics}
    return f"there is no such metric; {near(name, known, FORMER_METRICS)}"


def check_metric_name(name: str) -> str:
    """The current name of a metric that something may have. Raises ValueError.

    Which ones a plugin brings is looked up later; none of them begins as one of these does.
    """
    name = current_metric(name)
    known = {metric for metrics in METRICS.values() for metric in metrics}
    begins = {metric.partition(".")[0] for metric in known}
    brought = OF_A_PLUGIN.fullmatch(name)
    if name not in known and (brought is None or brought["plugin"] in begins):
        raise ValueError(unknown_metric_text(name))
    return name


def metrics_of(kinds: frozenset[str]) -> dict[str, Unit]:
    """The metrics of an entity that is of these kinds."""
    return {name: unit for kind in kinds for name, unit in METRICS.get(kind, {}).items()}


def bound(value: object, unit: Unit, *, bare: bool = False) -> int | float:
    """A bound of an expectation in the unit of its metric (SI). Raises UnitError."""
    if unit.quantity is None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        kind = {RATIO: "a ratio", NUMBER: "a number"}.get(unit, "a count")
        raise UnitError(f"the metric is {kind}: a number without unit is expected")
    base = unit.quantity.parse(value, bare=bare)
    return base if unit.scale == 1 else base / unit.scale
