"""Quantities that a figure can draw (over time, as distribution, as metric), and their units."""

from __future__ import annotations

from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.metric_registry import (
    BITS_PER_SECOND,
    BYTES,
    COUNT,
    HERTZ,
    METRICS,
    NUMBER,
    OF_A_PLUGIN,
    RATIO,
    SECONDS,
    Unit,
)
from orchestrator.plan.metric_registry import bound as read_bound
from orchestrator.plan.observables import unit_of as unit_of_brought
from orchestrator.plan.units import UnitError, parse_ratio

OF = " of "
"""Between an entity and the plan in whose run it is."""
CURVES: dict[str, dict[str, Unit]] = {
    "port": {
        "queue_bytes": BYTES,
        "utilization": RATIO,
        "throughput_bps": BITS_PER_SECOND,
        "service_rate": BITS_PER_SECOND,
        "frames_dropped": COUNT,
        "frames_dropped_early": COUNT,
        "frames_trimmed": COUNT,
        "frames_moved": COUNT,
        "storms": COUNT,
        "storms_over": COUNT,
        "frames_marked": COUNT,
        "feedback_sent": COUNT,
        "pause_sent": COUNT,
    },
    "input": {
        "queue_bytes": BYTES,
        "throughput_bps": BITS_PER_SECOND,
        "frames_dropped": COUNT,
        "frames_dropped_early": COUNT,
        "frames_marked": COUNT,
        "feedback_sent": COUNT,
        "pause_sent": COUNT,
    },
    "link": {
        "throughput_bps": BITS_PER_SECOND,
        "utilization": RATIO,
        "frames_dropped": COUNT,
        "paused": RATIO,
    },
    "lane": {"paused": RATIO},
    "limiter": {
        "rate_bps": BITS_PER_SECOND,
        "target_bps": BITS_PER_SECOND,
        "feedback_received": COUNT,
    },
    "flow": {"sent_bps": BITS_PER_SECOND, "throughput_bps": BITS_PER_SECOND},
    "multicast": {"sent_bps": BITS_PER_SECOND},
    "copy": {"throughput_bps": BITS_PER_SECOND},
    "entry": {"sent_bps": BITS_PER_SECOND, "throughput_bps": BITS_PER_SECOND},
}
"""Kind of entity -> what can be drawn of it over time, and the unit of that.

Rates, utilisation and `paused` (the share of time held) are of windows; the others of every sample.
A limiter has a rate while it is active. Counts are since the run began.
"""
DISTRIBUTIONS: dict[str, dict[str, Unit]] = {
    **CURVES,
    "entry": {**CURVES["entry"], "latency_s": SECONDS},
    "messages": {"fct_s": SECONDS, "slowdown": RATIO},
}
"""The same for a cdf: of frames `latency_s`, of messages `fct_s` and `slowdown`."""

WORDS = {
    "queue_bytes": "queue",
    "utilization": "utilisation",
    "throughput_bps": "throughput",
    "sent_bps": "rate sent",
    "service_rate": "service rate",
    "rate_bps": "rate limit",
    "target_bps": "target rate",
    "paused": "time held by PAUSE",
    "frames_dropped": "frames dropped",
    "frames_dropped_early": "frames dropped early",
    "frames_trimmed": "frames trimmed",
    "frames_moved": "frames sent on in another lane",
    "storms": "storms found",
    "storms_over": "storms that are over",
    "frames_marked": "frames marked",
    "feedback_sent": "messages sent",
    "feedback_received": "messages received",
    "pause_sent": "PAUSE frames sent",
    "latency_s": "latency",
    "latency_s.mean": "mean latency",
    "frames.drop_ratio": "frames dropped",
    "fct_s": "completion time",
}
"""Names on axes; other quantities are named as in results."""

SCALES: dict[str, dict[str, float]] = {
    BYTES.symbol: {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9},
    BITS_PER_SECOND.symbol: {"b/s": 1.0, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12},
    SECONDS.symbol: {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    HERTZ.symbol: {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6},
    RATIO.symbol: {"%": 0.01, "": 1.0},
    COUNT.symbol: {"": 1.0},
    NUMBER.symbol: {"": 1.0},
}
"""Unit of a quantity -> what an axis may count in, ascending -> the quantity's units of one."""


def drawn_of(figure: Figure) -> dict[str, dict[str, Unit]]:
    """Kind of entity -> what this kind of figure can draw of it."""
    if figure.kind == "cdf":
        return DISTRIBUTIONS
    return CURVES if figure.x == "time" else METRICS


def unit_of(figure: Figure) -> Unit:
    """The unit of what a figure draws. Raises KeyError when nothing has such a thing."""
    for units in drawn_of(figure).values():
        if figure.y in units:
            return units[figure.y]
    if OF_A_PLUGIN.fullmatch(figure.y):
        return unit_of_brought(figure.y)
    raise KeyError(figure.y)


def value_of(value: object, unit: Unit) -> float:
    """A published value, or an end of an axis, in the unit of the quantity. Raises UnitError."""
    if unit is RATIO and isinstance(value, str):
        return float(parse_ratio(value))
    if unit.quantity is None and isinstance(value, str):
        raise UnitError("a number without unit is expected")
    return float(read_bound(value, unit))


def scale_of(unit: Unit, largest: float) -> tuple[str, float]:
    """(name, quantity's units of one) of the axis unit in which `largest` is at least 1."""
    if unit is RATIO:
        return "", 1.0
    scales = SCALES[unit.symbol]
    fitting = [(name, one) for name, one in scales.items() if largest >= one * (1 - 1e-9)]
    return fitting[-1] if fitting else next(iter(scales.items()))
