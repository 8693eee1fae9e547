"""Metrics of a run from all plugins: tailback's own, those that plugins declare, and other values.

A plugin cannot replace a metric of tailback's own or of another plugin: such values are left out,
and the plugin and the metric are named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from orchestrator.errors import OUT_OF_ROOM, TailbackError
from orchestrator.plan import Plan
from orchestrator.plan.input_problems import near
from orchestrator.plan.metric import UNITS, Metric
from orchestrator.plan.metric_registry import CORE
from orchestrator.recording import Recording
from orchestrator.registry import Registry, sentence_of

ENTIRE_RUN = "run"
Span = tuple[int, int]


@dataclass
class PhaseMetrics:
    """Metrics of a run; `problems` has a sentence for each metric that was left out."""

    values: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Phase -> entity -> metric -> number or None, in SI units."""
    units: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def put(self, phase: str, entity: str, metrics: Mapping[str, Any]) -> None:
        """Add metrics of an entity in a phase."""
        self.values.setdefault(phase, {}).setdefault(entity, {}).update(metrics)


def measure_metrics(
    registry: Registry,
    plan: Plan,
    recording: Recording,
    phases: Mapping[str, Span],
    *,
    live: bool = False,
) -> PhaseMetrics:
    """All metrics of a recording; `phases` maps names to [from, to) in ps.

    Raises what a plugin of tailback's own raises, unless the run is `live`; an error of another
    plugin leaves that plugin's metrics out.
    """
    found = PhaseMetrics()
    owners: dict[str, str] = {}
    times = recording.times_ps
    spans = {ENTIRE_RUN: (int(times[0]), int(times[-1]))} if len(times) else {}
    spans |= phases
    call = registry.call_by_plugin if live else registry.insist_by_plugin
    for plugin, answer in call("tailback_metrics", recording=recording, phases=spans):
        if registry.is_own(plugin):
            values, units = answer
            for phase, entities in values.items():
                for entity, metrics in entities.items():
                    found.put(phase, entity, metrics)
                    owners.update(dict.fromkeys(metrics, plugin))
            found.units |= units
        else:
            _merge(registry, plugin, answer, spans, found, owners)
    for plugin, metric in registry.metrics.values() if len(times) else ():
        _compute(registry, plugin, metric, plan, recording, spans, found)
    return found


def _merge(
    registry: Registry,
    plugin: str,
    answer: Any,
    spans: Mapping[str, Span],
    found: PhaseMetrics,
    owners: dict[str, str],
) -> None:
    """Add what a plugin's `tailback_metrics` returned, without metrics that are not its own, and
    without those of a phase that the run does not have, or in an unknown unit. Entities may be the
    plugin's own."""
    try:
        values, units = answer
        rows = [
            (phase, entity, name, value)
            for phase, entities in values.items()
            for entity, metrics in entities.items()
            for name, value in metrics.items()
        ]
        units = dict(units)
    except (TypeError, ValueError, AttributeError) as error:
        text = f"tailback_metrics: metrics and their units are expected ({sentence_of(error)})"
        _leave_out(registry, plugin, text, found)
        return
    symbols = [unit.symbol for unit in UNITS]
    named = {row[2] for row in rows}
    for name in units.keys() - named:
        text = f"tailback_metrics: it gives a unit to {name!r}; {near(str(name), map(str, named))}"
        _leave_out(registry, plugin, text, found)
    for phase, entity, name, value in rows:
        lack = ""
        if phase not in spans:
            lack = f"there is no phase {phase!r}; {near(str(phase), spans)}"
        elif (unit := units.get(name, "")) not in ("", *symbols):
            lack = f"{unit!r} is no unit of a metric; {', '.join(symbols)} are accepted"
        if lack:
            _leave_out(registry, plugin, f"its metric {name!r} is left out: {lack}", found)
            continue
        declared = registry.metrics.get(name)
        owner = owners.get(name) if declared is None else declared[0]
        if name in CORE or owner not in (None, plugin):
            whose = "tailback's own" if name in CORE else f"those of {owner}"
            text = f"its metric {name!r} is left out, because it is one of {whose}"
            _leave_out(registry, plugin, text, found)
            continue
        try:
            number = _number(value)
        except ValueError as error:
            _leave_out(registry, plugin, f"its metric {name!r} of {entity}: {error}", found)
            continue
        owners[name] = plugin
        found.put(phase, entity, {name: number})
        found.units[name] = units.get(name, "")


def _compute(
    registry: Registry,
    plugin: str,
    metric: Metric,
    plan: Plan,
    recording: Recording,
    spans: Mapping[str, Span],
    found: PhaseMetrics,
) -> None:
    """Add a declared metric of every entity that has it, in every phase."""
    if metric.compute is None:
        return
    found.units[metric.name] = metric.unit.symbol
    try:
        for phase, span in spans.items():
            for entity in _entities(plan, metric):
                value = _number(metric.compute(recording, entity, span))
                found.put(phase, entity, {metric.name: value})
    except TailbackError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in OUT_OF_ROOM:
            raise
        text = f"its metric {metric.name!r} could not be computed: {sentence_of(error)}"
        _leave_out(registry, plugin, text, found)


def _entities(plan: Plan, metric: Metric) -> Iterator[str]:
    for name, kinds in plan.entities().items():
        if not kinds.isdisjoint(metric.entities):
            yield name


def _leave_out(registry: Registry, plugin: str, text: str, found: PhaseMetrics) -> None:
    registry.blame(plugin, text)
    sentence = f"plugin {plugin}: {text}"
    if sentence not in found.problems:
        found.problems.append(sentence)


def _number(value: Any) -> int | float | None:
    """A value for JSON: a finite number or None. Raises ValueError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number, nor None")
    return int(value) if isinstance(value, Integral) else float(value)
