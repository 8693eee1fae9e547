"""Equal flows of which one gets next to nothing at a drop-tail queue, while others fill it."""

from __future__ import annotations

from orchestrator.plan import Port, ResolvedPlan, Switch
from orchestrator.plan.entity_names import Flow
from orchestrator.recording import Recording

SHARE = 0.1
"""Of the mean of all flows of its traffic entry to its destination: below it a flow starves."""
SHOWN = 4
"""So many flows are named; there may be thousands."""
UNEQUAL = (
    ": it is full in octets, where a shorter frame may find room and a longer one none, and the "
    "last place is drawn among frames of equal length"
)


def starvation_notes(resolved: ResolvedPlan, recording: Recording) -> list[str]:
    """A sentence for each port where flows starve.

    Looked at are the flows of a traffic entry to one destination, and those of entries that differ
    in `frame` alone, where each flow has a NIC of its own, none is started or stopped by the
    timeline, and the last queue drops what finds no room (`frames_dropped`) with no congestion
    point to say which.
    """
    plan = resolved.plan
    if not len(recording.times_ps):
        return []
    last = {
        (column.entity, column.quantity): int(recording.values[-1, row])
        for row, column in enumerate(recording.columns)
        if column.quantity in ("bytes_received", "frames_dropped")
    }
    moved = {name for a in resolved.actions if a.verb in ("start", "stop") for name in a.entities}
    alike = _entries_by_all_but_frame(resolved)
    groups: dict[tuple[str, str], list[Flow]] = {}
    for flow in plan.flows():
        if not flow.members and flow.entity not in moved:
            groups.setdefault((flow.entry, flow.destination), []).append(flow)
            if flow.entry in alike:
                groups.setdefault((alike[flow.entry], flow.destination), []).append(flow)
    sentences = []
    for (entry, destination), flows in groups.items():
        drops = [p for p in _last_ports(resolved, destination) if last.get((p, "frames_dropped"))]
        got = {flow.entity: last.get((flow.entity, "bytes_received"), 0) for flow in flows}
        apart = len({flow.node for flow in flows}) == len(flows) > 1
        mean = sum(got.values()) / len(flows)
        starving = [name for name, octets in got.items() if octets < SHARE * mean]
        if apart and drops and starving:
            some = ", ".join(starving[:SHOWN]) + (" and more" if len(starving) > SHOWN else "")
            equal = entry in plan.traffic
            sentences.append(
                f"{drops[0]}: {len(starving)} of {len(flows)} "
                + (f"equal flows of {entry}" if equal else f"flows of {entry} with unequal frames")
                + f" starve at this drop-tail queue ({some}: below {SHARE:.0%} of the mean)"
                + (_remedy(resolved) if equal else UNEQUAL)
            )
    return sentences


def _entries_by_all_but_frame(resolved: ResolvedPlan) -> dict[str, str]:
    """Traffic entry -> names of the entries that differ from it in `frame` and ends alone."""
    found: dict[str, list[str]] = {}
    traffic = resolved.plan.traffic
    for name, entry in traffic.items():
        if entry.transport is None:
            key = str(entry.model_dump(exclude={"from_", "to", "via", "pairing", "frame"}))
            found.setdefault(key, []).append(name)
    return {
        name: ", ".join(names[:SHOWN]) + (" and more" if len(names) > SHOWN else "")
        for names in found.values()
        if len({traffic[name].frame for name in names}) > 1
        for name in names
    }


def _last_ports(resolved: ResolvedPlan, destination: str) -> list[str]:
    """Ports of switches that lead to a node, without a congestion point."""

    def drops_tail(port: Port) -> bool:
        is_switch = isinstance(resolved.plan.nodes[port.node], Switch)
        return is_switch and resolved.use("congestion_point", port.entity) is None

    ports = resolved.plan.ports()
    return [p.entity for p in ports if p.peer == destination and drops_tail(p)]


def _remedy(resolved: ResolvedPlan) -> str:
    plan = resolved.plan
    if plan.phase == "aligned":
        return '; its sources are phase-locked where nothing else differs: set phase = "random"'
    return ""
