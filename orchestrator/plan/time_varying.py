"""Values of links and queues over a run: the plan's first, then those of its timeline."""

from __future__ import annotations

from collections import defaultdict

from orchestrator.plan.entity_names import Direction, Port
from orchestrator.plan.plan import ResolvedPlan
from orchestrator.plan.plan_tables import Link, Switch


class OverTime:
    """Every value that links and queues have at some time of a run, the plan's first."""

    def __init__(self, resolved: ResolvedPlan) -> None:
        self._plan = resolved.plan
        self._set: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        """Kind, entity and name -> what the timeline sets."""
        for action in resolved.actions:
            if action.kind in ("link", "queue"):
                for entity in action.entities:
                    for name, value in action.values.items():
                        self._set[action.kind, entity, name].append(value)

    def delays(self, way: Direction) -> list[int]:
        """Of a direction of a link (ps)."""
        link = self._plan.links[way.link]
        return [_delay(link, way.sender), *self._later("link", way.entity, "delay")]

    def rates(self, way: Direction) -> list[int]:
        """At which a direction of a link sends (bit/s)."""
        return [self._plan.links[way.link].rate, *self._later("link", way.entity, "rate")]

    def served(self, port: Port) -> list[tuple[int, int]]:
        """At which rates the queue of a switch's port is served (bit/s), each with how many octets
        it holds at some time."""
        node = self._plan.nodes[port.node]
        assert isinstance(node, Switch)
        first = node.service_of(port.name, self._plan.links[port.link].rate)
        rates = [first, *self._later("queue", port.entity, "service_rate")]
        return [(rate, octets) for rate in rates for octets in self._octets(port, node)]

    def inputs(self, port: Port) -> list[int]:
        """Octets that the input of a switch's port holds; none of a switch without inputs."""
        node = self._plan.nodes[port.node]
        if not isinstance(node, Switch) or node.inputs is None:
            return []
        return [node.inputs.buffer, *self._later("queue", port.input, "buffer")]

    def _octets(self, port: Port, node: Switch) -> list[int]:
        return [node.buffer_of(port.name), *self._later("queue", port.entity, "buffer")]

    def _later(self, kind: str, entity: str, name: str) -> list[int]:
        return self._set.get((kind, entity, name), [])


def _delay(link: Link, sender: Port) -> int:
    return link.delay if sender.forward or link.delay_back is None else link.delay_back


def shortest_trips(resolved: ResolvedPlan) -> dict[str, int]:
    """Of each link, the least that its delays there and back come to at any time of a run (ps).

    What a delay line of a plugin adds to them may be nothing.
    """
    times, plan = OverTime(resolved), resolved.plan
    trips = dict.fromkeys(plan.links, 0)
    for way in plan.directions():
        trips[way.link] += min(times.delays(way))
    return trips
