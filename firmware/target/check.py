"""What the gateware lacks of what a plan asks for: refused before the run, by name."""

from __future__ import annotations

from orchestrator.errors import Refused
from orchestrator.plan import Nic, Node, Plan, ResolvedPlan, Sink, Switch

TARGET = "gateware"
SIMULATED = "simulated"
LONGEST_FRAME = 9216
UNCOUNTED = frozenset({"times_emptied"})
"""Quantities that no register of the gateware holds."""


def on_gateware(plan: Plan) -> list[str]:
    """The nodes that are gateware: all NICs and switches that do not say otherwise.

    Sinks count frames, which is the work of a host: they always live beside the gateware.
    """
    return [name for name, node in plan.nodes.items() if _is_gateware(node)]


def _is_gateware(node: Node) -> bool:
    return not isinstance(node, Sink) and node.target != SIMULATED


def check(resolved: ResolvedPlan) -> None:
    """Raises Refused for the first thing that gateware cannot do."""
    plan = resolved.plan
    mine = on_gateware(plan)
    for name, node in plan.nodes.items():
        place = getattr(node, "target", None)
        if place not in (None, TARGET, SIMULATED):
            raise refused(
                name,
                f"target {place!r} is none that it can be joined to",
                f"Name {TARGET} or {SIMULATED}.",
            )
    if not mine:
        raise refused("the plan", "none of its nodes is gateware", "Use the target simulated.")
    _whole(plan)
    for name in mine:
        _node(plan, name)
    for kind, holders in resolved.uses.items():
        for holder, use in holders.items():
            place = TARGET if _owner(plan, kind, holder) & set(mine) else SIMULATED
            if place not in use.algorithm.targets:
                raise refused(
                    holder,
                    f"the {kind} {use.algorithm.name} does not run on {place}",
                    f"It runs on: {', '.join(sorted(use.algorithm.targets))}.",
                )
            if place == TARGET and kind == "congestion_point":
                _congestion_point(holder, use.params.model_dump())


def _owner(plan: Plan, kind: str, holder: str) -> set[str]:
    """The nodes that a use of a plugin is at work in."""
    if kind == "delay_line":
        return set(plan.links[holder].ends)
    if kind == "traffic":
        return {flow.node for flow in plan.flows() if flow.entry == holder}
    return {holder.split(".")[0]}


KNOWN = {
    "nic": {"reaction_points", "reaction_point", "limiter", "host_queue"},
    "switch": {"service_rate", "buffer", "congestion_point", "pause", "ports", "forwarding"},
}
"""What a node in gateware follows of its table; `_node` speaks of some others in its own words."""
SPOKEN_OF = {"kind", "target", "inputs", "host_queues", "reaction_time"}


def _whole(plan: Plan) -> None:
    """What plans can have that no gateware knows."""
    if plan.groups:
        raise refused("the plan", "it sends no multicast frames", "Leave `groups` out.")
    if plan.programs:
        raise refused("the plan", "it runs no programs", "The target software can.")
    for name, entry in plan.traffic.items():
        if entry.transport is not None:
            raise refused(f"traffic.{name}", "it has no transport", "Leave `transport` out.")


def _node(plan: Plan, name: str) -> None:
    node = plan.nodes[name]
    for key, field in type(node).model_fields.items():
        given = getattr(node, key)
        if key not in KNOWN[node.kind] | SPOKEN_OF and given != field.get_default(
            call_default_factory=True
        ):
            raise refused(name, f"it knows no {key!r}", f"Leave {key!r} out, or run it elsewhere.")
    ports = [port for port in plan.ports() if port.node == name]
    if len(plan.lanes()) > 1:
        raise refused(
            name, "its ports have one lane for all priorities", 'Set priorities = "shared".'
        )
    if isinstance(node, Switch) and node.inputs is not None:
        raise refused(name, "it is output queued", "Leave `inputs` out.")
    if isinstance(node, Switch) and len(ports) < 2:
        raise refused(name, "it needs two ports at least", "Link it to a second node.")
    if isinstance(node, Nic):
        if len(ports) != 1:
            raise refused(
                name, f"it has one port, the plan wants {len(ports)}", "Use a NIC per port."
            )
        if node.host_queues == "shared":
            raise refused(
                name, "its flows have queues of their own", 'Set host_queues = "per-flow".'
            )
        if node.reaction_time:
            raise refused(name, "its limiters act at once", "Set reaction_time to 0.")
        for entry in {flow.entry for flow in plan.flows() if flow.node == name}:
            if plan.traffic[entry].frame < 70:
                raise refused(f"traffic.{entry}", "a frame has 70 octets at least", "Set frame.")


def _congestion_point(holder: str, params: dict[str, object]) -> None:
    if str(params.get("sampling", "")).startswith("occupancy") or params.get("keep_alive"):
        raise refused(
            holder,
            "it samples arrivals, the head or departures",
            'Set sampling to "arrival", "head" or "departure", keep_alive = false.',
        )


def refused(who: str, lack: str, remedy: str) -> Refused:
    return Refused(f"target {TARGET}: {who}", lack, remedy)
