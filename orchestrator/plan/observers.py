"""Plugins by entity, as results name it, and the metrics that an entity has through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan import entity_names
from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.input_problems import near
from orchestrator.plan.lossless_lanes import is_lossless
from orchestrator.plan.metric_registry import metrics_of
from orchestrator.plan.observables import PLUGIN, Observed, is_of, plugin_of
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Nic, PluginTable, Sink, Switch

HOLDERS = ("congestion_point", "pause", "notification_point", "watchdog")
"""Kinds that watch a queue."""


def observed_entities(plan: PlanModel) -> dict[str, frozenset[str]]:
    """As `names.observed_entities`; among the kinds of each, those of the plugins that it has."""
    found = entity_names.entities(plan)
    for name, plugin in _plugins(plan):
        found[name] = found.get(name, frozenset()) | {PLUGIN + plugin}
    return found


def has_metric(metric: str, kinds: frozenset[str]) -> bool:
    """True if something of these kinds has a metric, as far as can be said without its plugins."""
    return metric in metrics_of(kinds) or is_of(metric, kinds)


def _plugins(plan: PlanModel) -> Iterator[tuple[str, str]]:
    """(entity, name of a plugin that it has) of a whole plan."""
    lanes = entity_names.lanes(plan)
    for port in entity_names.ports(plan):
        node = plan.nodes.get(port.node)
        if not isinstance(node, Switch) or not entity_names.is_ours(plan, port.node):
            continue
        for kind in HOLDERS:
            own = getattr(node.ports.get(port.name), kind, None) or getattr(node, kind)
            at_input = getattr(node.inputs, kind, None)
            for lane in lanes:
                if kind != "pause" or node.holds(lane.priorities[0]):
                    yield from _named(port.entity + lane.suffix, own)
                if kind != "pause" or is_lossless(plan, port.input, lane):
                    yield from _named(port.input + lane.suffix, at_input)
    mine = entity_names.limiters(plan)
    for name, node in plan.nodes.items():
        if isinstance(node, Nic | Sink):
            yield from _named(name, node.notification_point)
            yield from _named(name, node.receiver)
        if isinstance(node, Nic):
            for limiter in mine.get(name, ()):
                yield from _named(limiter, node.reaction_point)
    for way in entity_names.directions(plan):
        if not entity_names.is_ours(plan, way.sender.node):
            continue
        line = plan.links[way.link].delay_line
        if not isinstance(line, tuple):
            yield from _named(way.entity, line)
            continue
        for index, stage in enumerate(line):
            yield from _named(way.stage(index), stage)
    for flow in entity_names.flows(plan):
        entry = plan.traffic[flow.entry]
        yield flow.entity, entry.plugin
        yield from _named(flow.entity, entry.transport)


def _named(entity: str, table: PluginTable | None) -> Iterator[tuple[str, str]]:
    if table is not None:
        yield entity, table.plugin


def observation_problems(plan: PlanModel, algorithms: Iterable[Any]) -> Iterator[Problem]:
    """Expectations and figures of what none of a plan's algorithms shows of itself."""
    shown: dict[str, list[Observed]] = {}
    for algorithm in algorithms:
        shown.setdefault(algorithm.name, []).extend(getattr(algorithm, "columns", ()))
    for index, expect in enumerate(plan.expect):
        yield from _unobserved(f"expect[{index}].metric", expect.metric, shown, over_time=False)
    for index, figure in enumerate(plan.figure):
        yield from _unobserved(
            f"figure[{index}].y", figure.y, shown, over_time=is_over_time(figure)
        )


def is_over_time(figure: Figure) -> bool:
    """True if a figure draws samples rather than a metric of theirs."""
    return figure.kind == "cdf" or figure.x == "time"


def _unobserved(
    where: str, name: str, shown: Mapping[str, list[Observed]], *, over_time: bool
) -> Iterator[Problem]:
    plugin = plugin_of(name)
    if plugin not in shown:
        return
    metrics = (one.metrics(plugin) for one in shown[plugin])
    known = [metric for each in metrics for metric in each]
    if over_time:
        known = [one.metric(plugin) for one in shown[plugin] if one.measured]
    if name not in known:
        yield Problem(where, name, f"{plugin} has no such metric; {near(name, known)}")
