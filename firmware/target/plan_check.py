"""Check of a plan against the gateware: refuses before the run, by name, what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from firmware.target.compiled_points import KIND, is_compiled
from orchestrator.capability import IN_ENGINE, Capability
from orchestrator.errors import Refused
from orchestrator.plan import Nic, Node, Plan, ResolvedPlan, Sink, Switch
from orchestrator.plan.entity_names import link_of
from orchestrator.plan.external_nodes import externals
from orchestrator.plan.forwarding_hosts import forwarding_hosts
from orchestrator.plan.timeline_actions import injections_at
from orchestrator.target import Target, runs_on

TARGET = "gateware"
PREFIX = f"target {TARGET}: "
SIMULATED = "simulated"
IN_VERILOG = frozenset({Capability.VERILOG})
NOTHING: Mapping[str, Callable[[str], Iterator[Refused]]] = {}
SHOWN = 4
"""Most locations named for the same lack."""
UNCOUNTED = frozenset({"times_emptied"})
"""Quantities that no register of the gateware counts."""


def on_gateware(plan: Plan) -> list[str]:
    """Nodes on gateware: all NICs and switches without another target.

    Sinks count frames, which is a host's work: they are always compiled nodes.
    """
    return [name for name, node in plan.nodes.items() if _is_gateware(node)]


def _is_gateware(node: Node) -> bool:
    return not isinstance(node, Sink) and node.target != SIMULATED


def check(
    resolved: ResolvedPlan,
    installed: Iterable[Target],
    more: Iterable[Refused] = (),
    compiled: Mapping[str, Callable[[str], Iterator[Refused]]] = NOTHING,
) -> None:
    """Raises Refused for all lacks of the gateware, and for those that the caller adds.

    `compiled`: kind of algorithm -> refusals of one that has no module by hand, by its holder;
    all others of these are refused.
    """
    missing = missing_capabilities(resolved, installed, compiled)
    reasons = list({str(lack): lack for lack in (*missing, *more)}.values())
    if len(reasons) == 1:
        raise reasons[0]
    where: dict[tuple[str, str], list[str]] = {}
    for one in reasons:
        where.setdefault((one.lack, one.remedy), []).append(one.who.removeprefix(PREFIX))
    if where:
        rows = "".join(
            f"\n  {_shortened_list(names)}: {lack}. {remedy}"
            for (lack, remedy), names in where.items()
        )
        things = f"{len(where)} thing{'s' * (len(where) > 1)}"
        raise Refused(f"target {TARGET}", f"it lacks {things}", f"Where, and what would do:{rows}")


def _shortened_list(names: list[str]) -> str:
    """The first ones, and the number of the others; a fabric has thousands."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def missing_capabilities(
    resolved: ResolvedPlan,
    installed: Iterable[Target],
    compiled: Mapping[str, Callable[[str], Iterator[Refused]]] = NOTHING,
) -> Iterator[Refused]:
    """Refusals for all requirements of a plan that the gateware lacks."""
    plan = resolved.plan
    mine = on_gateware(plan)
    for name, node in plan.nodes.items():
        place = getattr(node, "target", None)
        if place not in (None, TARGET, SIMULATED):
            yield refusal(
                name,
                f"target {place!r} is none that it can be joined to",
                f"Name {TARGET} or {SIMULATED}.",
            )
    if not mine:
        yield refusal("the plan", "none of its nodes is gateware", "Use the target simulated.")
        return
    for name in externals(plan):
        yield refusal(
            name, "it is external, and gateware joins no devices of others", "Use software."
        )
    if externals(plan):
        return
    yield from _plan_lacks(plan)
    for name in mine:
        yield from _node_lacks(plan, name)
    yield from _changes(resolved, mine)
    for kind, holders in resolved.uses.items():
        for holder, use in holders.items():
            place = TARGET if _owner(plan, kind, holder) & set(mine) else SIMULATED
            capabilities = IN_VERILOG if place == TARGET else IN_ENGINE
            if place == TARGET and kind in compiled and is_compiled(resolved, use.algorithm):
                yield from compiled[kind](holder)
            elif lacks := use.algorithm.lacks(capabilities):
                yield refusal(
                    holder,
                    f"the {kind} {use.algorithm.name} does not run on {place}, which lacks "
                    f"{' and '.join(lacks)}",
                    runs_on(use.algorithm, installed),
                )
            elif place == TARGET and kind == KIND:
                yield from _congestion_point(holder, use.params.model_dump())


def _owner(plan: Plan, kind: str, holder: str) -> set[str]:
    """Nodes in which a use of a plugin runs."""
    if kind == "delay_line":
        return set(plan.links[link_of(holder)].ends)
    if kind == "traffic":
        return {flow.node for flow in plan.flows() if flow.entry == holder}
    return {holder.split(".")[0].partition("/")[0]}


SUPPORTED_KEYS = {
    "nic": {"reaction_points", "reaction_point", "limiter", "host_queue"},
    "switch": {"service_rate", "buffer", "congestion_point", "pause", "ports", "forwarding"},
}
"""Keys of a node's table that gateware supports; `_node_lacks` checks some others separately."""
SEPARATELY_CHECKED_KEYS = {"kind", "target", "inputs", "host_queues", "reaction_time", "forwards"}


def _plan_lacks(plan: Plan) -> Iterator[Refused]:
    """Refusals for features of a plan that no gateware has."""
    if plan.headers != type(plan.headers)():
        yield refusal(
            "the plan",
            "its frames have a VLAN tag of VLAN 1, IPv4, and their priority in the tag",
            "Leave the table `headers` out, or run it on simulated or software.",
        )
    if plan.groups:
        yield refusal("the plan", "it sends no multicast frames", "Leave `groups` out.")
    if plan.programs:
        yield refusal("the plan", "it runs no programs", "The target software can.")
    for name, entry in plan.traffic.items():
        if entry.transport is not None:
            yield refusal(f"traffic.{name}", "it has no transport", "Leave `transport` out.")


def _node_lacks(plan: Plan, name: str) -> Iterator[Refused]:
    node = plan.nodes[name]
    for key, field in type(node).model_fields.items():
        given = getattr(node, key)
        if key not in SUPPORTED_KEYS[
            node.kind
        ] | SEPARATELY_CHECKED_KEYS and given != field.get_default(call_default_factory=True):
            yield refusal(name, f"it knows no {key!r}", f"Leave {key!r} out, or run it elsewhere.")
    ports = [port for port in plan.ports() if port.node == name]
    if len(plan.lanes()) > 1:
        yield refusal(
            name, "its ports have one lane for all priorities", 'Set priorities = "shared".'
        )
    if isinstance(node, Switch) and node.inputs is not None:
        yield refusal(name, "it is output queued", "Leave `inputs` out.")
    if isinstance(node, Switch) and len(ports) < 2:
        yield refusal(name, "it needs two ports at least", "Link it to a second node.")
    if isinstance(node, Nic):
        if name in forwarding_hosts(plan):
            yield refusal(
                name,
                "it forwards no frames of others",
                f"Set nodes.{name}.forwards = false and join the ends by switches, or run it on "
                "simulated or software.",
            )
        if len(ports) > 1:
            yield from _several_ports(plan, name, node)
        if node.host_queues == "shared":
            yield refusal(
                name, "its flows have queues of their own", 'Set host_queues = "per-flow".'
            )
        if node.reaction_time:
            yield refusal(name, "its limiters act at once", "Set reaction_time to 0.")
        for entry in sorted({flow.entry for flow in plan.flows() if flow.node == name}):
            if plan.traffic[entry].frame < 70:
                yield refusal(f"traffic.{entry}", "a frame has 70 octets at least", "Set frame.")


def _several_ports(plan: Plan, name: str, node: Nic) -> Iterator[Refused]:
    """Refusals for a NIC of several ports: each is a block with its own limiters."""
    flows = [flow for flow in plan.flows() if flow.node == name]
    for entry in sorted({flow.entry for flow in flows if plan.traffic[flow.entry].via is None}):
        yield refusal(
            f"traffic.{entry}",
            f"{name} has several ports, and messages come back through that of their flow",
            "Name its link: `via`.",
        )
    if node.reaction_point is not None and node.reaction_points < len(flows):
        yield refusal(
            name,
            f"its ports share no limiters, and {node.reaction_points} are too few for each of its "
            f"{len(flows)} flows to have one",
            f"Set reaction_points = {len(flows)}.",
        )


def _congestion_point(holder: str, params: dict[str, object]) -> Iterator[Refused]:
    if params.get("sampling") == "occupancy-max":
        yield refusal(
            holder,
            "it does not look for the source that occupies the most",
            'Set sampling to "occupancy-random", "arrival", "head" or "departure".',
        )
    if params.get("keep_alive"):
        yield refusal(holder, "it does not sample by link time", "Set keep_alive = false.")


def _changes(resolved: ResolvedPlan, mine: list[str]) -> Iterator[Refused]:
    """Refusals for changes: the occupancy of a queue is known only if it began empty, and a port of
    a circuit sends the frames that it was given."""
    injected = injections_at(resolved.actions)
    for entity, injections in injected.items():
        port = next(way.sender for way in resolved.plan.directions() if way.entity == entity)
        if port.node in mine:
            yield refusal(
                port.entity,
                f"it cannot {injections[0].verb} a single frame of {injections[0].key}",
                "Take the step out of the timeline, let it act at a port of a node that is "
                "simulated (`port`), or run the plan on simulated or software.",
            )
    for way in resolved.plan.directions():
        for step in injected.get(way.entity, ()):
            if "damage" in step.values and way.receiver.node in mine:
                yield refusal(
                    way.receiver.entity,
                    f"it gets no frame of {step.key} with a wrong checksum or ICRC",
                    "Take `field` out of the step, or let it act at another port (`port`).",
                )
    for action in resolved.actions:
        if action.kind != "congestion_point" or "sampling" not in action.values:
            continue
        used = resolved.uses["congestion_point"]
        for holder in action.entities:
            before = str(getattr(used[holder].params, "sampling", ""))
            if holder.split(".")[0] in mine and "occupancy" in f"{before} {action.to}":
                yield refusal(
                    holder,
                    f"it does not change to or from sampling by occupancy ({action.key})",
                    "Take the step out of the timeline.",
                )


def refusal(who: str, lack: str, remedy: str) -> Refused:
    return Refused(f"{PREFIX}{who}", lack, remedy)
