"""The error bars of all metrics of a run, from its fidelity and its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.plan import Plan
from orchestrator.plan.routes import path
from orchestrator.run.uncertainty import Distortion, uncertainty, uncertainty_of_slowdown

Metrics = dict[str, dict[str, dict[str, Any]]]


def errorbars(plan: Plan, fidelity: Mapping[str, Any], metrics: Metrics) -> Metrics | None:
    """Phase -> entity -> metric -> what it may be off by, where that is not nothing.

    None where no machine was measured: what is simulated is as it is.
    """
    if "lateness_s" not in fidelity:
        return None
    of = _Distortions(plan, fidelity)
    found: Metrics = {}
    for phase, entities in metrics.items():
        for entity, values in entities.items():
            bars = _bars(values, of.entity(entity))
            if bars:
                found.setdefault(phase, {})[entity] = bars
    return found


def _bars(values: Mapping[str, float | None], by: Distortion) -> dict[str, float]:
    bars = {}
    for metric, value in values.items():
        if value is None:
            continue
        if metric.startswith("slowdown."):
            fct = values.get(metric.replace("slowdown.", "fct_s.")) or 0.0
            bar = uncertainty_of_slowdown(value, fct, by)
        else:
            bar = uncertainty(metric, value, by)
        if bar > 0:
            bars[metric] = bar
    return bars


class _Distortions:
    """What the machine did, by the entity that it concerns."""

    def __init__(self, plan: Plan, fidelity: Mapping[str, Any]) -> None:
        late = fidelity["lateness_s"]
        links = fidelity.get("links", {})
        self._extra = {
            name: max(row["delay_s"] - row["planned_delay_s"], 0.0)
            for name, row in links.items()
            if row["delay_s"] is not None
        }
        self._ways = _ways(plan, self._extra)
        self._worst = max(self._ways.values(), default=max(self._extra.values(), default=0.0))
        rates = {port.entity: plan.links[port.link].rate for port in plan.ports()}
        self._rates = rates | {port.input: rates[port.entity] for port in plan.ports()}
        self._fastest = max(self._rates.values(), default=0)
        self._frames = sum(fidelity.get("lost_outside_queues", {}).values()) + sum(
            row["duplicated"] for row in links.values()
        )
        share = self._frames / max(fidelity.get("frames_sent", 0), 1)
        if plan.programs:  # they went on while the clock of the run was held back
            share += fidelity.get("held", {}).get("share", 0.0)
        self._share = share
        self._errors = fidelity.get("rate_error", {})
        self._late = (
            fidelity.get("lateness_mean_s", late["p99"]),
            late["p99"],
            late["max"],
        )
        self._reaction_s = fidelity.get("reaction_time_s", 1.0)

    def entity(self, name: str) -> Distortion:
        """That of one entity; where it is not known apart, the worst of all."""
        mean, p99, most = self._late
        error = self._errors.get(name, max(self._errors.values(), default=0.0))
        return Distortion(
            late_mean_s=mean,
            late_p99_s=p99,
            late_max_s=most,
            crossing_s=self._ways.get(name, self._worst),
            reaction_s=max(self._reaction_s, 1e-12),
            rate_bps=float(self._rates.get(name, self._fastest)),
            share=self._share + error,
            frames=self._frames,
        )


def _ways(plan: Plan, extra: Mapping[str, float]) -> dict[str, float]:
    """Traffic entry -> what the links of its longest way take beyond their delays."""
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    names = {way.sender.entity: way.entity for way in plan.directions()}
    found: dict[str, float] = {}
    done: dict[tuple[str, str], float] = {}
    for flow in plan.flows():
        for member in _ends(plan, flow.destination):
            pair = (flow.node, member)
            if pair not in done:
                ports = path(plan, table, known, *pair)
                way = [] if isinstance(ports, str) else ports
                done[pair] = sum(extra.get(names[port.entity], 0.0) for port in way)
            found[flow.entry] = max(found.get(flow.entry, 0.0), done[pair])
    return found


def _ends(plan: Plan, destination: str) -> Iterable[str]:
    return plan.groups.get(destination, [destination])
