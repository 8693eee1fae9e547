"""Observables of an algorithm's state: columns of the samples, and metrics made of them.

A metric of an algorithm is called after its plugin, `codel.sojourn_s.mean`; the unit stands in the
name as it does in those of the core, so that a plan can be read before any plugin is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from orchestrator.plan.metric_registry import (
    BITS_PER_SECOND,
    BYTES,
    COUNT,
    NUMBER,
    OF_A_PLUGIN,
    RATIO,
    SECONDS,
    Unit,
    definition_of,
)

STATISTICS = ("mean", "sd", "min", "max", "p99")
"""Of a gauge within a phase."""
SUFFIXES = {"ps": "_s", "B": "_bytes", "bit/s": "_bps", "1": ""}
"""Unit of the samples -> what a metric is called for its own unit."""
UNITS = {"_s": SECONDS, "_bytes": BYTES, "_bps": BITS_PER_SECOND}
STEP = re.compile(r"(2|10)\^-([1-9][0-9]?)")
"""Unit of a ratio in fixed point: `2^-20`, `10^-12`."""
PLUGIN = "plugin "
"""Prefix of the kind of an entity that has a plugin; the plugin's name follows."""


@dataclass(frozen=True)
class Observed:
    """A field of an algorithm's state that is sampled. Raises ValueError for an unknown unit.

    `field` is also what the samples call it; `unit` one of theirs (B, ps, bit/s, 1), or the step of
    a ratio in fixed point (2^-20, 10^-12). A counter has counted since the run began.
    """

    field: str
    unit: str
    meaning: str
    kind: Literal["gauge", "counter"] = "gauge"
    measured: bool = True
    """Whether there are metrics of it."""
    note: str = ""
    """Of a counter: what a run says of an entity that has counted any, behind the number."""
    known: str = ""
    """Of a gauge: another field of the state that is 0 until this one has a value. Without it, a
    reaction point's is known while its limiter is active, and one's that works with
    acknowledgements from the first of these on; others are from the start of the run."""

    def __post_init__(self) -> None:
        if self.unit not in SUFFIXES and not STEP.fullmatch(self.unit):
            known = ", ".join(SUFFIXES)
            raise ValueError(f"{self.field}: unit {self.unit!r} is none of {known}, 2^-N, 10^-N")
        if self.field.endswith(tuple(UNITS)):
            raise ValueError(f"{self.field}: its unit is not part of the name of a field")
        if self.note and self.kind != "counter":
            raise ValueError(f"{self.field}: a note is of a counter")
        if self.known and self.kind != "gauge":
            raise ValueError(f"{self.field}: a counter is known from the start")

    def metric(self, plugin: str) -> str:
        """Name or prefix of its metrics: `codel.sojourn_s`; empty: it has none."""
        return f"{plugin}.{self.field}{SUFFIXES.get(self.unit, '')}" if self.measured else ""

    def metrics(self, plugin: str) -> dict[str, str]:
        """Metric -> the symbol of its unit."""
        name = self.metric(plugin)
        if not name:
            return {}
        symbol = symbol_of(name, self.unit)
        if self.kind == "counter":
            return {name: symbol}
        return {f"{name}.{part}": symbol for part in STATISTICS}


def scale_of(unit: str) -> float:
    """SI units in one of a sample: 1e-12 of ps, the step of a ratio in fixed point."""
    if unit == "ps":
        return 1e-12
    step = STEP.fullmatch(unit)
    return float(step[1]) ** -int(step[2]) if step else 1.0


def symbol_of(metric: str, unit: str) -> str:
    """The symbol of a metric's unit, from that of its samples."""
    if STEP.fullmatch(unit):
        return RATIO.symbol
    return COUNT.symbol if unit == "1" else unit_of(metric).symbol


def unit_of(metric: str) -> Unit:
    """The unit that the name of an algorithm's metric says; a plain number where it says none."""
    match = OF_A_PLUGIN.fullmatch(metric)
    field = match["field"] if match else ""
    return next((unit for end, unit in UNITS.items() if field.endswith(end)), NUMBER)


def is_of(metric: str, kinds: Iterable[str]) -> bool:
    """True if a metric is called after a plugin that is at an entity of these kinds."""
    plugin = plugin_of(metric)
    return bool(plugin) and PLUGIN + plugin in kinds


def plugin_of(metric: str) -> str:
    """The algorithm that a metric is called after; empty for a declared metric."""
    match = OF_A_PLUGIN.fullmatch(metric)
    return match["plugin"] if match and definition_of(metric) is None else ""
