"""The control loops of a plan: per controlled queue who answers it, and how soon that is there.

Of each the shortest way is taken: what a loop is said to have felt it may not have, and what it is
said not to have felt it has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.engine.node.link import BIT_PS
from orchestrator.plan import Nic, Plan, Port, ResolvedPlan, Switch
from orchestrator.plan.names import is_ours
from orchestrator.plan.routes import path
from orchestrator.run.stalls import Loop
from orchestrator.targets.software.demand import operating, rate_into, serving


def loops_of(resolved: ResolvedPlan) -> list[Loop]:
    """Every loop of a plan, one for each queue and kind of clock that its sources live by."""
    found: dict[tuple[str, bool], Loop] = {}
    for loop in (*_of_flows(resolved), *_of_pauses(resolved)):
        key = loop.queue, loop.held
        found[key] = _joined(found[key], loop) if key in found else loop
    return list(found.values())


def _joined(one: Loop, other: Loop) -> Loop:
    """Two ways that the same queue is controlled by: whichever is shorter counts for both."""
    return Loop(
        one.queue,
        one.nodes | other.nodes,
        min(one.round_trip_ps, other.round_trip_ps),
        min(one.drain_ps, other.drain_ps),
        tuple(dict.fromkeys((*one.sources, *other.sources))),
        one.held,
    )


def _of_flows(resolved: ResolvedPlan) -> Iterator[Loop]:
    """Where a source answers what comes of its flow: messages, marks, delays, acknowledgements."""
    plan = resolved.plan
    table, known = plan.routes(), {port.entity: port for port in plan.ports()}
    ways = {
        (flow.node, member, flow.entry): None
        for flow in plan.flows()
        for member in plan.groups.get(flow.destination, [flow.destination])
    }
    for source, member, entry in ways:
        way = path(plan, table, known, source, member)
        if isinstance(way, str) or not way:
            continue
        programs = resolved.uses["traffic"][entry].algorithm.programs
        if resolved.use("reaction_point", source) is not None:
            yield from _of_reaction_point(resolved, source, way)
        if programs or resolved.uses["transport"].get(entry) is not None:
            node, port = plan.nodes[source], way[0]
            octets = node.host_queue if isinstance(node, Nic) else 0
            drain = octets * BIT_PS // plan.links[port.link].rate
            yield _loop(plan, port.entity, way, drain, source, held=not programs)


def _of_reaction_point(resolved: ResolvedPlan, source: str, way: Sequence[Port]) -> Iterator[Loop]:
    """The queues on the way of a flow whose source has a reaction point.

    A message comes back from the queue; marks, and the delays of a whole round trip, from the end.
    """
    plan = resolved.plan
    reaction = resolved.use("reaction_point", source)
    assert reaction is not None
    for place, port in enumerate(way):
        node = plan.nodes[port.node]
        if not isinstance(node, Switch):
            continue
        rate, capacity = serving(plan, node, port)
        before = way[:place]
        point = resolved.use("congestion_point", port.entity)
        if point is not None:
            answered = way if point.params.marks() else before
            drain = operating(point, rate, capacity) * BIT_PS // rate
            yield _loop(plan, port.entity, answered, drain, source, port.node)
        elif (octets := reaction.params.operating_queue(rate)) is not None:
            yield _loop(plan, port.entity, way, octets * BIT_PS // rate, source)
        if node.inputs is not None and before:
            entered = _far_end(plan, before[-1]).input
            point = resolved.use("congestion_point", entered)
            line = plan.links[before[-1].link].rate
            if point is not None:
                drain = operating(point, line, node.inputs.buffer) * BIT_PS // line
                yield _loop(plan, entered, before, drain, source, port.node)


def _far_end(plan: Plan, port: Port) -> Port:
    """The port at the other end of a port's link."""
    return next(one for one in plan.ports() if one.link == port.link and one != port)


def _of_pauses(resolved: ResolvedPlan) -> Iterator[Loop]:
    """Where neighbours are held by PAUSE or PFC: the room above the mark fills meanwhile."""
    plan = resolved.plan
    for port in plan.ports():
        node = plan.nodes[port.node]
        if not isinstance(node, Switch):
            continue
        _, capacity = serving(plan, node, port)
        pause = resolved.use("pause", port.entity)
        if pause is not None:
            incoming = rate_into(plan, port)
            room = max(capacity - operating(pause, incoming, 0), 0)
            others = [one for one in plan.ports() if one.node == port.node and one != port]
            for other in others:
                drain = room * BIT_PS // incoming
                yield _loop(plan, port.entity, [other], drain, other.peer, port.node)
        pause = resolved.use("pause", port.input) if node.inputs is not None else None
        if pause is not None and node.inputs is not None:
            line = plan.links[port.link].rate
            room = max(node.inputs.buffer - operating(pause, line, 0), 0)
            yield _loop(plan, port.input, [port], room * BIT_PS // line, port.peer, port.node)


def _loop(
    plan: Plan,
    queue: str,
    way: Sequence[Port],
    drain_ps: int,
    source: str,
    *more: str,
    held: bool = True,
) -> Loop:
    """A loop over the links of a way, there and back."""
    nodes = {source, *more, *(end for port in way for end in (port.node, port.peer))}
    links = [plan.links[port.link] for port in way]
    there_and_back = sum(
        link.delay + (link.delay if link.delay_back is None else link.delay_back) for link in links
    )
    ours = all(is_ours(plan, node) for node in nodes)
    return Loop(queue, frozenset(nodes), there_and_back, drain_ps, (source,), held and ours)
