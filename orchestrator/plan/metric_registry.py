"""Registry of metrics: what each kind of entity has, derived from the declarations.

A metric is declared once: those of the core in `queue_metrics`, `link_metrics`,
`endpoint_metrics`, `traffic_metrics` and `external_node_metrics`, those of a plugin by its hook
`tailback_metric_types`. Every table here follows from the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeGuard

from orchestrator.plan import (
    endpoint_metrics,
    external_node_metrics,
    link_metrics,
    queue_metrics,
    traffic_metrics,
)
from orchestrator.plan.former_names import METRICS as FORMER_METRICS
from orchestrator.plan.former_names import current_metric
from orchestrator.plan.input_problems import near
from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    BYTES,
    CAPTURES,
    COUNT,
    COUNTER,
    GAUGE,
    HERTZ,
    HISTOGRAM,
    MARKS,
    MESSAGES,
    NUMBER,
    RATIO,
    RUN,
    SAMPLE_UNITS,
    SECONDS,
    WATCHDOG,
    Curve,
    Declaration,
    Metric,
    Sampled,
    Unit,
)
from orchestrator.plan.traffic_metrics import SIZE_CLASSES
from orchestrator.plan.units import UnitError

__all__ = [
    "BITS_PER_SECOND", "BYTES", "CAPTURES", "COUNT", "COUNTER", "GAUGE", "HERTZ", "HISTOGRAM",
    "MESSAGES", "NUMBER", "RATIO", "RUN", "SECONDS", "SIZE_CLASSES", "Metric", "Unit",
]  # fmt: skip

DECLARED: dict[str, tuple[Declaration, ...]] = {
    "port": queue_metrics.PORT,
    "input": queue_metrics.INPUT,
    "link": link_metrics.LINK,
    "lane": link_metrics.LANE,
    "stage": link_metrics.STAGE,
    "limiter": endpoint_metrics.LIMITER,
    "flow": endpoint_metrics.FLOW,
    "multicast": endpoint_metrics.MULTICAST,
    "copy": endpoint_metrics.COPY,
    "entry": traffic_metrics.ENTRY,
    "traffic": traffic_metrics.TRAFFIC,
    "network": traffic_metrics.NETWORK,
    "nic": endpoint_metrics.NIC,
    "sink": endpoint_metrics.SINK,
    "switch": queue_metrics.SWITCH,
    "external": external_node_metrics.EXTERNAL,
    "external port": external_node_metrics.EXTERNAL_PORT,
    "messages": traffic_metrics.OF_MESSAGES,
}
"""Kind of entity -> its declarations. A traffic entry of one flow is that flow too; every entry,
and all traffic together, may have messages."""

DEFINITIONS: dict[str, dict[str, Metric]] = {
    kind: {one.name: one for one in declared if isinstance(one, Metric)}
    for kind, declared in DECLARED.items()
}
"""Kind of entity -> metric -> its declaration. A value is None (null) where the definition gives
none: no samples, nothing active, nothing received."""
METRICS: dict[str, dict[str, Unit]] = {
    kind: {name: one.unit for name, one in metrics.items()} for kind, metrics in DEFINITIONS.items()
}
"""Kind of entity -> metric -> unit."""
CORE = {name: one for metrics in reversed(DEFINITIONS.values()) for name, one in metrics.items()}
"""Every metric of the core by its name, as the first kind declares it."""


def _samples(declared: Iterable[Declaration]) -> tuple[Sampled, ...]:
    """The samples of some declarations: in order, those with a condition behind the others."""
    found = [one.sampled if isinstance(one, Metric) else one for one in declared]
    samples = [one for one in found if isinstance(one, Sampled)]
    groups = dict.fromkeys(("", MARKS, *(one.when for one in samples if one.when != WATCHDOG)))
    return tuple(one for when in (*groups, WATCHDOG) for one in samples if one.when == when)


ENTITIES = {kind: samples for kind, declared in DECLARED.items() if (samples := _samples(declared))}
"""Kind of entity (orchestrator.plan.entity_names.entities) -> all that can be sampled of it."""
REMOVED = tuple(one for one in ENTITIES["port"] if one.removed)
"""Counts of frames that a congestion point removes from its queue, without sending them."""


def samples_of(kind: str, when: str = "") -> tuple[Sampled, ...]:
    """The samples of a kind of entity under a condition (`Sampled.when`)."""
    return tuple(one for one in ENTITIES[kind] if one.when == when)


def conditions_of(kind: str) -> tuple[str, ...]:
    """The conditions of the samples of a kind of entity, in the order of its samples."""
    return tuple(dict.fromkeys(one.when for one in ENTITIES[kind] if one.when))


def counted_by(kind: str, *conditions: str) -> dict[str, str]:
    """Metric -> the sampled counter whose increase it is, of a kind of entity.

    With conditions: of the samples under these alone (`Sampled.when`).
    """
    return {
        one.name: one.sampled.quantity
        for one in DEFINITIONS[kind].values()
        if one.sampled is not None and (not conditions or one.sampled.when in conditions)
    }


def _is_curve(one: Declaration, *, over_time: bool) -> TypeGuard[Metric | Curve]:
    if isinstance(one, Curve):
        return one.over_time or not over_time
    return isinstance(one, Metric) and one.curve


def _curves(declared: Iterable[Declaration], *, over_time: bool) -> dict[str, Unit]:
    """What figures can draw of a kind of entity, over time or as a distribution -> its unit."""
    found: dict[str, Unit] = {}
    for one in declared:
        sampled = one.sampled if isinstance(one, Metric) else one
        if isinstance(sampled, Sampled) and sampled.drawn:
            found[sampled.quantity] = SAMPLE_UNITS[sampled.unit]
        elif _is_curve(one, over_time=over_time):
            found[one.name] = one.unit
    return found


CURVES = {
    kind: curves
    for kind, declared in DECLARED.items()
    if (curves := _curves(declared, over_time=True))
}
"""Kind of entity -> what can be drawn of it over time, and the unit of that.

Rates, utilisation and `paused` (the share of time held) are of windows; the others of every sample.
A limiter has a rate while it is active. Counts are since the run began.
"""
DISTRIBUTIONS = {
    kind: curves
    for kind, declared in DECLARED.items()
    if (curves := _curves(declared, over_time=False))
}
"""The same for a cdf: of frames `latency_s`, of messages `fct_s` and `slowdown`."""


def _labels() -> dict[str, str]:
    """Name -> its name on axes, of everything that is declared with one."""
    found: dict[str, str] = {}
    for declared in DECLARED.values():
        for one in declared:
            if isinstance(one, Metric) and one.sampled is not None and one.sampled.label:
                found.setdefault(one.sampled.quantity, one.sampled.label)
            if one.label:
                found.setdefault(one.quantity if isinstance(one, Sampled) else one.name, one.label)
    return found


LABELS = _labels()
"""Names on axes; other quantities are named as in results."""

OF_A_PLUGIN = re.compile(
    r"(?P<plugin>[a-z0-9][a-z0-9-]*)\.(?P<field>[a-z][a-z0-9_]*)(?:\.(?P<part>\w+))?"
)
"""Name of a metric that an algorithm brings (orchestrator.plan.observables)."""
NAME = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_]*)*")
"""Name of a metric that a plugin declares."""

PLUGIN_METRICS: dict[str, Metric] = {}
"""Metrics that plugins of this process declare, by name (`register_metric`)."""


def register_metric(metric: Metric) -> None:
    """Accept a plugin's metric in expectations and figures.

    Raises ValueError for the name of another metric, a name that no metric may have, a kind of
    entity that does not exist, and a declaration that does not compute anything.
    """
    if not NAME.fullmatch(metric.name):
        raise ValueError(
            f"the metric {metric.name!r} has a name of other characters than a-z, 0-9, _, - and ."
        )
    if metric.name in CORE:
        raise ValueError(f"the metric {metric.name!r} is one of tailback's own; give it another")
    if metric.name in PLUGIN_METRICS and PLUGIN_METRICS[metric.name] != metric:
        raise ValueError(f"the metric {metric.name!r} is one of another plugin; give it another")
    if unknown := [kind for kind in metric.entities if kind not in DECLARED]:
        raise ValueError(
            f"the metric {metric.name!r} has no kind of entity {unknown[0]!r}; "
            f"{near(unknown[0], DECLARED)}"
        )
    if not metric.entities or metric.compute is None:
        raise ValueError(f"the metric {metric.name!r} needs `entities` and `compute`")
    PLUGIN_METRICS[metric.name] = metric


def definition_of(name: str) -> Metric | None:
    """The declaration of a metric of the core or of a plugin; None for one of an algorithm."""
    return CORE.get(name) or PLUGIN_METRICS.get(name)


def axis_label(name: str) -> str:
    """Name of a quantity on axes."""
    plugin = PLUGIN_METRICS.get(name)
    return plugin.label or name if plugin is not None else LABELS.get(name, name)


def unknown_metric_text(name: str) -> str:
    """Error text for a metric that no entity has."""
    return f"there is no such metric; {near(name, {**CORE, **PLUGIN_METRICS}, FORMER_METRICS)}"


def check_metric_name(name: str) -> str:
    """The current name of a metric that something may have. Raises ValueError.

    Which ones a plugin brings is looked up later; none of them begins as one of these does.
    """
    name = current_metric(name)
    begins = {metric.partition(".")[0] for metric in CORE}
    brought = OF_A_PLUGIN.fullmatch(name)
    if definition_of(name) is None and (brought is None or brought["plugin"] in begins):
        raise ValueError(unknown_metric_text(name))
    return name


def metrics_of(kinds: frozenset[str]) -> dict[str, Unit]:
    """The metrics of an entity that is of these kinds."""
    found = {name: unit for kind in kinds for name, unit in METRICS.get(kind, {}).items()}
    plugins = {
        n: one.unit for n, one in PLUGIN_METRICS.items() if not kinds.isdisjoint(one.entities)
    }
    return found | plugins


def metrics_by_kind() -> dict[str, dict[str, Unit]]:
    """Kind of entity -> metric -> unit, with the metrics of plugins."""
    return {kind: metrics_of(frozenset({kind})) for kind in METRICS}


def bound(value: object, unit: Unit, *, bare: bool = False) -> int | float:
    """A bound of an expectation in the unit of its metric (SI). Raises UnitError."""
    if unit.quantity is None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        kind = {RATIO: "a ratio", NUMBER: "a number"}.get(unit, "a count")
        raise UnitError(f"the metric is {kind}: a number without unit is expected")
    base = unit.quantity.parse(value, bare=bare)
    return base if unit.scale == 1 else base / unit.scale
