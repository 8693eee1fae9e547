"""Control loops of a plan: the sources of each controlled queue, and their reaction times.

Of each the shortest way is taken, and of what the timeline changes the least: what a loop is said
to have felt it may not have, and what it is said not to have felt it has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.plan import Nic, Plan, Port, ResolvedPlan, Switch
from orchestrator.plan.entity_names import is_ours
from orchestrator.plan.shortest_paths import path
from orchestrator.plan.time_varying import shortest_trips
from orchestrator.run.stall_impact import ControlLoop
from orchestrator.targets.software.drain_times import Drains


def loops_of(resolved: ResolvedPlan) -> list[ControlLoop]:
    """Every loop of a plan, one for each queue and kind of clock that its sources live by."""
    found: dict[tuple[str, bool], ControlLoop] = {}
    ways = ControlledQueues(resolved)
    for loop in (*ways.of_flows(), *ways.of_pauses()):
        key = loop.queue, loop.held
        found[key] = _shortest_of(found[key], loop) if key in found else loop
    return list(found.values())


def _shortest_of(one: ControlLoop, other: ControlLoop) -> ControlLoop:
    """Combine two paths by which the same queue is controlled: the shorter counts for both."""
    sooner = min(one, other, key=lambda each: each.answer_ps)
    return ControlLoop(
        one.queue,
        one.nodes | other.nodes,
        sooner.round_trip_ps,
        min(one.drain_ps, other.drain_ps),
        tuple(dict.fromkeys((*one.sources, *other.sources))),
        one.held,
        sooner.acts_ps,
    )


class ControlledQueues:
    """Feedback paths by which queues of a plan are controlled."""

    def __init__(self, resolved: ResolvedPlan) -> None:
        self._resolved, self._plan = resolved, resolved.plan
        self._drains, self._trips = Drains(resolved), shortest_trips(resolved)

    def of_flows(self) -> Iterator[ControlLoop]:
        """Loops of sources that react to their flow's feedback: messages, marks, delays,
        acknowledgements."""
        resolved, plan = self._resolved, self._plan
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
                yield from self._of_reaction_point(source, way)
            if programs or resolved.uses["transport"].get(entry) is not None:
                drain = self._drains.of_host_queue(way[0]) or 0
                yield self.loop(way[0].entity, way, drain, source, held=not programs)

    def _of_reaction_point(self, source: str, way: Sequence[Port]) -> Iterator[ControlLoop]:
        """The queues on the way of a flow whose source has a reaction point.

        A message comes back from the queue, and its NIC takes its time to act on it; marks, and the
        delays of a whole round trip, come from the end.
        """
        resolved, nic = self._resolved, self._plan.nodes[source]
        reaction = resolved.use("reaction_point", source)
        assert reaction is not None
        acts = nic.reaction_time if isinstance(nic, Nic) else 0
        for place, port in enumerate(way):
            node = self._plan.nodes[port.node]
            if not isinstance(node, Switch):
                continue
            before = way[:place]
            point = resolved.use("congestion_point", port.entity)
            if point is not None and (drain := self._drains.of_point(port)) is not None:
                answer = (way, 0) if point.params.marks() else (before, acts)
                yield self.loop(port.entity, answer[0], drain, source, port.node, acts=answer[1])
            elif (drain := self._drains.of_delays(port, reaction.params)) is not None:
                yield self.loop(port.entity, way, drain, source)
            if node.inputs is not None and before:
                entered = _far_end(self._plan, before[-1])
                drain = self._drains.of_input_point(entered)
                if drain is not None:
                    yield self.loop(entered.input, before, drain, source, port.node, acts=acts)

    def of_pauses(self) -> Iterator[ControlLoop]:
        """Loops of PAUSE and PFC: the headroom above the threshold fills during the loop's
        delay."""
        plan = self._plan
        for port in plan.ports():
            if not isinstance(plan.nodes[port.node], Switch):
                continue
            drain = self._drains.of_pause(port)
            if drain is not None:
                others = [one for one in plan.ports() if one.node == port.node and one != port]
                for other in others:
                    yield self.loop(port.entity, [other], drain, other.peer, port.node)
            drain = self._drains.of_input_pause(port)
            if drain is not None:
                yield self.loop(port.input, [port], drain, port.peer, port.node)

    def loop(
        self,
        queue: str,
        way: Sequence[Port],
        drain_ps: int,
        source: str,
        *more: str,
        held: bool = True,
        acts: int = 0,
    ) -> ControlLoop:
        """A loop over the links of a way, there and back; its source acts after `acts` ps."""
        nodes = {source, *more, *(end for port in way for end in (port.node, port.peer))}
        there_and_back = sum(self._trips[port.link] for port in way)
        ours = all(is_ours(self._plan, node) for node in nodes)
        return ControlLoop(
            *(queue, frozenset(nodes), there_and_back, drain_ps, (source,), held and ours, acts)
        )


def _far_end(plan: Plan, port: Port) -> Port:
    """The port at the other end of a port's link."""
    return next(one for one in plan.ports() if one.link == port.link and one != port)
