"""Metric families for Prometheus, derived from the declarations of metrics and samples.

The rules are those of "Metric and label naming" (Prometheus) and of OpenMetrics 1.0: a prefix, base
units (bytes, seconds, bytes per second, ratio) at the end of the name, `_total` behind counters,
what is measured in labels. A sampled quantity becomes `tailback_KIND_QUANTITY_UNIT`, a field of an
algorithm's state `tailback_algorithm_PLUGIN_FIELD_UNIT`, a metric of `result.json`
`tailback_result_KIND_METRIC_UNIT` with the label `phase`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from orchestrator.algorithm import Algorithm
from orchestrator.plan.metric import Metric, Sampled
from orchestrator.plan.metric_registry import DEFINITIONS, ENTITIES, PLUGIN_METRICS
from orchestrator.plan.observables import STEP, Observed
from orchestrator.plan.observables import scale_of as scale_of_step

PREFIX = "tailback"
RUN_LABELS = ("run", "target")
"""Labels of everything that a run exports: its identifier, its target."""
ENTITY_LABELS: dict[str, tuple[str, ...]] = {
    "port": ("priority",),
    "input": ("priority",),
    "lane": ("priority",),
    "flow": ("flow",),
    "multicast": ("flow",),
    "copy": ("flow",),
}
"""Kind of entity -> labels beside `node` and `entity`. `priority` is empty where all priorities
share a queue."""
PRIORITY = re.compile(r"/p([0-7])$")

BASE_UNITS: dict[str, tuple[str, float]] = {
    "B": ("bytes", 1.0),
    "ps": ("seconds", 1e-12),
    "s": ("seconds", 1.0),
    "bit/s": ("bytes_per_second", 1 / 8),
    "Hz": ("hertz", 1.0),
    "ratio": ("ratio", 1.0),
    "count": ("", 1.0),
    "1": ("", 1.0),
}
"""Unit of a sample or metric -> base unit of Prometheus, and how many of it one unit is."""
UNIT_WORDS: dict[str, frozenset[str]] = {
    "bytes": frozenset({"bytes"}),
    "seconds": frozenset({"ps", "s", "seconds"}),
    "bytes_per_second": frozenset({"bps"}),
    "hertz": frozenset({"hz"}),
    "ratio": frozenset({"ratio"}),
}
"""Base unit -> words by which names within tailback end for it; the base unit replaces them."""
RESERVED_WORDS = {
    "counter": "counts",
    "gauge": "level",
    "histogram": "distribution",
    "summary": "digest",
}
"""Types of metrics, which are no words of a name -> the word instead."""
RESERVED_ENDINGS = {
    "count": "events",
    "sum": "added",
    "bucket": "group",
    "total": "overall",
    "created": "made",
    "info": "details",
}
"""Suffixes with a meaning to OpenMetrics -> the word instead."""


@dataclass(frozen=True)
class Family:
    """Metric family. `scale`: units of the family in one unit of tailback's own value.

    `name` is without the suffix `_total` of counters; see `exported`.
    """

    name: str
    kind: Literal["gauge", "counter"]
    unit: str
    meaning: str
    labels: tuple[str, ...]
    scale: float = 1.0

    @property
    def exported(self) -> str:
        """Name of its series, as queries have it."""
        return self.name + ("_total" if self.kind == "counter" else "")


def base_unit(symbol: str) -> tuple[str, float]:
    """Base unit of a unit of samples, of metrics, or of a ratio in fixed point, and its scale.

    Raises KeyError for a unit that has no base unit.
    """
    if STEP.fullmatch(symbol):
        return "ratio", scale_of_step(symbol)
    return BASE_UNITS[symbol]


def family_name(words: str, unit: str) -> str:
    """Name of a family without `_total`: words of tailback's names, then the base unit."""
    tokens = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_").split("_")
    mine = [RESERVED_WORDS.get(t, t) for t in tokens if t not in UNIT_WORDS.get(unit, ())]
    if not unit and mine:
        mine[-1] = RESERVED_ENDINGS.get(mine[-1], mine[-1])
    return "_".join([PREFIX, *mine, *filter(None, [unit])])


def _meaning(text: str, symbol: str) -> str:
    return f"{text}; here in bytes per second" if symbol == "bit/s" else text


def sampled_family(kind: str, sampled: Sampled) -> Family:
    """Family of a sampled quantity of a kind of entity."""
    unit, scale = base_unit(sampled.unit)
    labels = (*RUN_LABELS, "node", "entity", *ENTITY_LABELS.get(kind, ()))
    name = family_name(f"{kind} {sampled.quantity}", unit)
    meaning = _meaning(f"{kind}: {sampled.meaning}", sampled.unit)
    return Family(name, sampled.kind, unit, meaning, labels, scale)


def observed_family(plugin: str, observed: Observed) -> Family:
    """Family of a field of an algorithm's state."""
    unit, scale = base_unit(observed.unit)
    labels = (*RUN_LABELS, "node", "entity", "priority", "flow")
    name = family_name(f"algorithm {plugin} {observed.field}", unit)
    meaning = _meaning(f"{plugin}: {observed.meaning}", observed.unit)
    return Family(name, observed.kind, unit, meaning, labels, scale)


def result_family(kind: str, metric: str, symbol: str, meaning: str) -> Family:
    """Family of a metric of `result.json`; `kind` is that of its entity, or an algorithm's name."""
    unit, scale = base_unit(symbol)
    labels = (*RUN_LABELS, "entity", "phase")
    name = family_name(f"result {kind} {metric}", unit)
    meaning = _meaning(f"result, {kind}: {meaning}", symbol)
    return Family(name, "gauge", unit, meaning, labels, scale)


SAMPLED: dict[tuple[str, str], Family] = {
    (kind, sampled.quantity): sampled_family(kind, sampled)
    for kind, declared in ENTITIES.items()
    for sampled in declared
}
"""(kind of entity, quantity) -> family, of all that the core samples."""


def result_families() -> dict[tuple[str, str], Family]:
    """(kind of entity, metric) -> family, of all that the core and plugins declare."""
    declared: dict[tuple[str, str], Metric] = {
        (kind, metric.name): metric
        for kind, metrics in DEFINITIONS.items()
        for metric in metrics.values()
    }
    for metric in PLUGIN_METRICS.values():
        declared |= {(kind, metric.name): metric for kind in metric.entities}
    return {
        key: result_family(key[0], metric.name, metric.unit.symbol, metric.meaning)
        for key, metric in declared.items()
    }


def observed_families(algorithms: Iterable[Algorithm]) -> dict[tuple[str, str], Family]:
    """(plugin, field) -> family, of the state that algorithms show."""
    return {
        (algorithm.name, observed.field): observed_family(algorithm.name, observed)
        for algorithm in algorithms
        for observed in algorithm.columns
    }


def entity_labels(entity: str) -> dict[str, str]:
    """Labels that an entity's name carries: priority (of `switch.sink/p3`), flow (of `gen.0@a`)."""
    priority = PRIORITY.search(entity)
    return {"priority": priority[1] if priority else "", "flow": entity.partition("@")[0]}
