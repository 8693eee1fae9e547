"""Criteria of a sweep: a metric's threshold, or the wanted precision of its mean.

queue_bytes.sd of switch.sink in steady > 20KB      an edge
utilization of switch.sink in steady = 1%           a width
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import shown
from orchestrator.plan.units import DURATION, RATE, SIZE, UnitError

_EDGE = re.compile(r"(?P<metric>[^<>=]+?)\s*[<>]\s*(?P<value>[^<>=]+)")
_WIDTH = re.compile(r"(?P<metric>[^<>=]+?)\s*=\s*(?P<value>[^<>=]+)")
_SCALES = ((SIZE, 1.0), (RATE, 1.0), (DURATION, 1e-12))
"""Metrics are in SI units, durations of plans in picoseconds."""


@dataclass(frozen=True)
class Edge:
    """Threshold of a metric, as it was written, at which the answer changes."""

    metric: str
    value: float


@dataclass(frozen=True)
class Width:
    """Largest half-width of a metric's 95 % interval: absolute, or relative to the mean."""

    metric: str
    value: float
    relative: bool

    def is_reached(self, mean: float | None, half: float | None) -> bool:
        """Return whether the interval of a mean is narrow enough."""
        if mean is None or half is None:
            return False
        return half <= (self.value * abs(mean) if self.relative else self.value)


def read_edge(text: str, said: str = "--edge") -> Edge:
    """Raises BadInput."""
    match = _EDGE.fullmatch(text.strip())
    value = None if match is None else _number(match["value"])
    if match is None or value is None:
        accepted = "METRIC > VALUE is expected, such as 'queue_bytes.sd of switch.sink > 20KB'"
        raise BadInput(said, [Problem(said, shown(text), accepted)])
    return Edge(match["metric"], value)


def read_width(text: str, said: str = "--narrow") -> Width:
    """Raises BadInput."""
    match = _WIDTH.fullmatch(text.strip())
    written = "" if match is None else match["value"].strip()
    relative = written.endswith("%")
    value = _number(written[:-1]) if relative else _number(written)
    if match is None or value is None or value <= 0:
        accepted = "METRIC = WIDTH is expected, such as 'utilization of switch.sink in run = 1%'"
        raise BadInput(said, [Problem(said, shown(text), accepted)])
    return Width(match["metric"], value / 100 if relative else value, relative)


def _number(text: str) -> float | None:
    """Number in SI units; None where the text is no number."""
    text = text.strip()
    if re.fullmatch(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text):
        return number if math.isfinite(number := float(text)) else None
    for quantity, scale in _SCALES:
        try:
            return quantity.parse(text) * scale
        except UnitError:
            continue
    return None
