"""Flows through a port of a run's network, by the plan's routes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.entity_names import Flow
from orchestrator.plan.forwarding_hosts import carries
from orchestrator.plan.shortest_paths import distances
from traces.run_reader import Run

Hop = tuple[str, str]
"""A node, and the name that it gives the port which a frame leaves it through."""


def flows_through(run: Run, port: str) -> list[str]:
    """The sampled flows whose way leads through a switch's port (s.d) or its input (s.h1/in).

    A flow that the plan does not name counts: it is not known to go elsewhere.
    """
    sampled = list(run.table.entities("bytes_received"))
    try:
        plan = run.parsed_plan()
    except BadInput:
        return sampled
    lane = re.search(r"/p(\d)$", port)
    place = port[: lane.start()] if lane else port
    elsewhere: set[str] = set()
    walker = _Walker(plan)
    for flow in plan.flows():
        mine = lane is None or _in_lane(plan, flow, int(lane[1]))
        for member in flow.members or (flow.destination,):
            name = flow.at(member) if flow.members else flow.entity
            if not mine or not walker.passes(flow, member, place):
                elsewhere.add(name)
    return [flow for flow in sampled if flow not in elsewhere]


def _in_lane(plan: Plan, flow: Flow, lane: int) -> bool:
    """True if the flow's priority travels in the lane of that number."""
    priority = plan.traffic[flow.entry].priority
    return any(priority in one.priorities and one.suffix == f"/p{lane}" for one in plan.lanes())


class _Walker:
    """Follows frames from port to port, as far as is needed to tell whether they pass one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ways = plan.multipath_routes()
        self._over = {(d.sender.node, d.sender.name): d.receiver for d in plan.directions()}
        self._by_link = {(p.node, p.link): p.name for p in plan.ports()}
        self._out_of: dict[str, Hop] = {".".join(hop): hop for hop in self._over}
        """Port or input -> the port that frames leave by to pass it."""
        self._known = distances(plan)
        self._links: dict[str, list[int]] = {}
        self._forwards = any(getattr(node, "forwarding", None) for node in plan.nodes.values())
        self._out_of |= {port.input: hop for hop, port in self._over.items()}

    def passes(self, flow: Flow, destination: str, place: str) -> bool:
        """True if frames of a flow may pass a port or an input."""
        via = self._plan.traffic[flow.entry].via
        if via is None and place in self._out_of:  # most are not on any way to the destination
            node, name = self._out_of[place]
            if name not in self._ways[node].get(destination, []):
                return False
            if self._is_off_path(flow.node, node, destination):
                return False
        return place in self._walk(flow.node, destination, via)

    def _is_off_path(self, source: str, switch: str, destination: str) -> bool:
        """True if a switch lies on no shortest path for certain; then no route leads through it,
        except those that the plan's forwarding names."""
        known, row = self._known, self._known.row
        begin = next((port.peer for port in known.by_node[source] if port.peer in row), None)
        if self._forwards or switch not in row or begin is None or len(known.by_node[source]) > 1:
            return False
        if switch not in self._links:
            self._links[switch] = known.from_switch(switch)
        ahead = known.to(known.place_of[destination])
        return self._links[switch][row[begin]] + ahead[row[switch]] != ahead[row[begin]]

    def _walk(self, source: str, destination: str, via: str | None) -> Iterator[str]:
        first = self._ways[source].get(destination, [])[:1]
        if via is not None:
            first = [self._by_link[source, via]]
        waiting: list[Hop] = [(source, name) for name in first]
        seen: set[Hop] = set()
        while waiting:
            hop = waiting.pop()
            if hop in seen or hop not in self._over:
                continue
            seen.add(hop)
            yield ".".join(hop)
            arrived = self._over[hop]
            yield arrived.input
            if arrived.node != destination and carries(self._plan, arrived.node):
                names = self._ways[arrived.node].get(destination, [])
                waiting += [(arrived.node, name) for name in names]
