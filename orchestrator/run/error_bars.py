"""Error bars: each metric's uncertainty from the distortions of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.plan import Plan
from orchestrator.plan.plan_tables import Nic
from orchestrator.plan.shortest_paths import path
from orchestrator.run.guarded_link import STALLED
from orchestrator.run.metric_uncertainty import (
    Distortion,
    LinkStall,
    backlog_s,
    uncertainty_by_others,
)

Metrics = dict[str, dict[str, dict[str, Any]]]


def errorbars(plan: Plan, fidelity: Mapping[str, Any], metrics: Metrics) -> Metrics | None:
    """Phase -> entity -> metric -> its uncertainty, where that is above 0; None: it has none.

    None where no machine was measured: a simulation has no uncertainty.
    """
    if "lateness_s" not in fidelity:
        return None
    of = _Distortions(plan, fidelity)
    found: Metrics = {}
    for phase, entities in metrics.items():
        busy = {name: values.get("utilization") or 0.0 for name, values in entities.items()}
        for entity, values in entities.items():
            bars = _bars(values, of.entity(entity, _length_s(plan, phase), busy))
            if bars:
                found.setdefault(phase, {})[entity] = bars
    return found


def _bars(values: Mapping[str, float | None], by: Distortion) -> dict[str, float | None]:
    bars = dict[str, float | None]()
    for metric, value in values.items():
        if value is None:
            continue
        bar = uncertainty_by_others(metric, value, values, by)
        if bar is None or bar > 0:
            bars[metric] = bar
    return bars


def _length_s(plan: Plan, phase: str) -> float:
    found = plan.phases.get(phase)
    return (plan.duration if found is None else found.to - found.from_) / 1e12


class _Distortions:
    """Distortions by the machine, by the entity that they concern."""

    def __init__(self, plan: Plan, fidelity: Mapping[str, Any]) -> None:
        late = fidelity["lateness_s"]
        self._reaction_s = fidelity.get("reaction_time_s", 1.0)
        links = fidelity.get("links", {})
        self._extra = {
            name: max(row["delay_s"] - row["planned_delay_s"], 0.0)
            for name, row in links.items()
            if row["delay_s"] is not None
        }
        stalls = [row["extra_delay_s"] for row in links.values() if "extra_delay_s" in row]
        self._stall = _worst_stall(stalls, STALLED * self._reaction_s)
        self._ports = _ports(plan)
        self._ways = {
            entry: max(sum(self._extra.get(link, 0.0) for link in way.values()) for way in ways)
            for entry, ways in self._ports.items()
        }
        self._controlled = any(entry.transport for entry in plan.traffic.values()) or any(
            isinstance(node, Nic) and node.reaction_point for node in plan.nodes.values()
        )
        self._worst = max(self._ways.values(), default=max(self._extra.values(), default=0.0))
        rates = {port.entity: plan.links[port.link].rate for port in plan.ports()}
        self._rates = rates | {port.input: rates[port.entity] for port in plan.ports()}
        self._fastest = max(self._rates.values(), default=0)
        self._frames = sum(fidelity.get("lost_outside_queues", {}).values()) + sum(
            row["duplicated"] for row in links.values()
        )
        share = self._frames / max(fidelity.get("frames_sent", 0), 1)
        if plan.programs:  # programs went on while the run's clock was held back
            share += fidelity.get("held", {}).get("share", 0.0)
        self._share = share
        self._errors = fidelity.get("rate_error", {})
        self._late = (
            fidelity.get("lateness_mean_s", late["p99"]),
            late["p99"],
            late["max"],
        )

    def entity(self, name: str, phase_s: float, busy: Mapping[str, float]) -> Distortion:
        """Distortion of one entity; where that is not known separately, the worst of all.

        `busy` has utilizations by entity.
        """
        way = {port for one in self._ports.get(name, ()) for port in one}
        reaction_s = self._reaction_s if self._controlled else phase_s
        mean, p99, most = self._late
        error = self._errors.get(name, max(self._errors.values(), default=0.0))
        return Distortion(
            late_mean_s=mean,
            late_p99_s=p99,
            late_max_s=most,
            backlog_s=backlog_s(
                most, max((busy.get(port, 0.0) for port in way), default=0.0), reaction_s, phase_s
            ),
            phase_s=phase_s,
            crossing_s=self._ways.get(name, self._worst),
            stall=self._stall,
            reaction_s=max(self._reaction_s, 1e-12),
            rate_bps=float(self._rates.get(name, self._fastest)),
            share=self._share + error,
            frames=self._frames,
        )


def _worst_stall(rows: Iterable[Mapping[str, float]], beyond_s: float) -> LinkStall:
    """The longest delays of links that stall a loop: those above a time."""
    worst = LinkStall()
    for row in rows:
        p99, most = (row[name] if row[name] > beyond_s else 0.0 for name in ("p99", "max"))
        worst = LinkStall(
            max(worst.mean_s, row["stall_mean"]),
            max(worst.rms_s, row["stall_rms"]),
            max(worst.p99_s, p99),
            max(worst.max_s, most),
        )
    return worst


def _ports(plan: Plan) -> dict[str, list[dict[str, str]]]:
    """Traffic entry -> for each of its paths: the ports it leaves through -> their links."""
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    names = {way.sender.entity: way.entity for way in plan.directions()}
    found: dict[str, list[dict[str, str]]] = {}
    done = set[tuple[str, str, str]]()
    for flow in plan.flows():
        for member in _ends(plan, flow.destination):
            if (pair := (flow.entry, flow.node, member)) not in done:
                done.add(pair)
                ports = path(plan, table, known, flow.node, member)
                way = [] if isinstance(ports, str) else ports
                found.setdefault(flow.entry, []).append(
                    {port.entity: names[port.entity] for port in way}
                )
    return found


def _ends(plan: Plan, destination: str) -> Iterable[str]:
    return plan.groups.get(destination, [destination])
