"""Next hops: the shortest path by hops, unless the plan's forwarding says otherwise.

They are worked out as they are asked for: a table of every node and every destination would be the
largest thing of a large plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from orchestrator.plan.entity_names import Port, ports
from orchestrator.plan.forwarding_hosts import carries, forwarding_hosts
from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plan_tables import Switch
from orchestrator.plan.row_order import in_row_order

# Hop distances between switches and the places that frames can be sent to.
#
# Only switches carry frames of others, and hosts that forward
# (`orchestrator.plan.forwarding_hosts`), which count as switches here. All NICs and sinks whose
# only link leads to the same switch are at one *place*, that switch: the way to it is looked for
# once. Any other one is a place itself. So a network of regular shape has as many places as lowest
# switches, not as hosts.

FAR = -1
"""Distance of what cannot be reached."""


class Distances:
    """The switches of a plan with its hosts that forward, the places of its NICs and sinks, and
    the links between them."""

    def __init__(self, plan: PlanModel) -> None:
        self.by_node = by_its_node(plan)
        self.switches = [name for name, node in plan.nodes.items() if isinstance(node, Switch)]
        self.switches += forwarding_hosts(plan)
        self.row = {name: row for row, name in enumerate(self.switches)}
        self.places: list[str] = []
        """Nodes."""
        self.place_of: dict[str, int] = {}
        """NIC or sink -> its place, by number."""
        self._beside = [self._neighbour_switches(name) for name in self.switches]
        self._to: dict[int, list[int]] = {}
        numbers: dict[str, int] = {}
        for name in plan.nodes:
            if not isinstance(plan.nodes[name], Switch):
                place = self._only_switch(name) or name
                if place not in numbers:
                    numbers[place] = len(self.places)
                    self.places.append(place)
                self.place_of[name] = numbers[place]

    def to(self, place: int) -> list[int]:
        """Links from each switch, by row, to a place; FAR where there is no way."""
        if place not in self._to:
            self._to[place] = self._spread_from(self.places[place])
        return self._to[place]

    def from_switch(self, name: str) -> list[int]:
        """Links from each switch, by row, to a switch; FAR where there is no way."""
        return self._spread_from(name)

    def _only_switch(self, name: str) -> str | None:
        """The switch that a node's only link leads to; None for any other node."""
        mine = self.by_node[name]
        return mine[0].peer if len(mine) == 1 and mine[0].peer in self.row else None

    def _neighbour_switches(self, name: str) -> set[int]:
        return {self.row[port.peer] for port in self.by_node[name] if port.peer in self.row}

    def _spread_from(self, place: str) -> list[int]:
        found = [FAR] * len(self.switches)
        here = {self.row[place]} if place in self.row else self._neighbour_switches(place)
        seen, links = set(here), 0 if place in self.row else 1
        while here:
            for row in here:
                found[row] = links
            here = set[int]().union(*(self._beside[row] for row in here)) - seen
            seen |= here
            links += 1
        return found


@memoized
def distances(plan: PlanModel) -> Distances:
    """Those of a plan."""
    return Distances(plan)


@memoized
def by_its_node(plan: PlanModel) -> dict[str, list[Port]]:
    """The ports of every node, in the order of the links' rows."""
    by_node: dict[str, list[Port]] = {name: [] for name in plan.nodes}
    for port in ports(in_row_order(plan)):
        by_node[port.node].append(port)
    return by_node


__all__ = ["MultipathRoutes", "Routes", "by_its_node", "multipath_routes", "path", "routes"]

Routes = Mapping[str, Mapping[str, str]]
"""Node -> destination node -> name of the port, as that node calls it."""
MultipathRoutes = Mapping[str, Mapping[str, list[str]]]
"""The same with all ports that a frame may take."""

Answer = TypeVar("Answer")


def routes(plan: PlanModel) -> Routes:
    """Next hops of every node for every NIC and sink; unreachable ones are left out.

    Only switches and hosts that forward carry frames of others. Of paths of equal length the one
    over the link that comes first is taken (`orchestrator.plan.row_order`), so that the same plan
    always has the same routes.
    """
    return _Table(plan, lambda ports, spreads: ports[0])


def multipath_routes(plan: PlanModel) -> MultipathRoutes:
    """`routes`, with every port of a shortest path where a switch spreads frames or flows."""
    return _Table(plan, lambda ports, spreads: ports if spreads else ports[:1])


class _Table(Mapping[str, Mapping[str, Answer]]):
    """Node -> what it answers for each destination: the `pick` of the ports it may take."""

    def __init__(self, plan: PlanModel, pick: Callable[[list[str], bool], Answer]) -> None:
        self._plan, self._pick = plan, pick
        self._distances = distances(plan)
        self._rows: dict[str, _Row[Answer]] = {}

    def __getitem__(self, node: str) -> Mapping[str, Answer]:
        if node not in self._rows:
            self._rows[node] = _Row(Hops(self._plan, self._distances, node), self._pick)
        return self._rows[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plan.nodes)

    def __len__(self) -> int:
        return len(self._plan.nodes)


class _Row(Mapping[str, Answer]):
    """Destination -> what one node answers."""

    def __init__(self, hops: Hops, pick: Callable[[list[str], bool], Answer]) -> None:
        self._hops, self._pick = hops, pick

    def __getitem__(self, destination: str) -> Answer:
        ports = self._hops.towards(destination)
        if not ports:
            raise KeyError(destination)
        return self._pick(ports, self._hops.spreads)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._hops.destinations() if self._hops.towards(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Hops:
    """The ports of one node, and what each of them leads to."""

    def __init__(self, plan: PlanModel, known: Distances, name: str) -> None:
        node = plan.nodes[name]
        self.name, self._known = name, known
        self.row = known.row.get(name)
        self.forwarding: Mapping[str, str] = node.forwarding if isinstance(node, Switch) else {}
        """Destination -> the port that the plan's own table names."""
        self.spreads = isinstance(node, Switch) and node.spread != "none"
        """True if frames may take any of several ports."""
        mine = known.by_node[name]
        self.upon = [(port.name, known.row[port.peer]) for port in mine if port.peer in known.row]
        """Ports that lead to switches, those of the first links first, and the switch's row."""
        self.ends: dict[str, list[str]] = {}
        """NIC or sink at the other end of a link -> the ports that lead there."""
        for port in mine:
            if port.peer not in known.row:
                self.ends.setdefault(port.peer, []).append(port.name)
        self._order = {port.name: at for at, port in enumerate(mine)}
        self._over: dict[int, list[str]] = {}

    def destinations(self) -> Iterator[str]:
        """All names that a frame can be addressed to."""
        yield from self._known.place_of
        yield from (name for name in self.forwarding if name not in self._known.place_of)

    def towards(self, destination: str) -> list[str]:
        """Names of the ports on shortest paths, or the one that the plan's forwarding names."""
        if destination in self.forwarding:
            return [self.forwarding[destination]]
        place = self._known.place_of.get(destination)
        if place is None or destination == self.name:
            return []
        if self._known.places[place] == self.name:
            return self.ends[destination][:1]
        return self.over(place)

    def over(self, place: int) -> list[str]:
        """Names of the ports on shortest paths to a place that this node is not itself."""
        if place not in self._over:
            self._over[place] = self._nearer(place)
        return self._over[place]

    def _nearer(self, place: int) -> list[str]:
        beyond = self._known.to(place)
        straight = self.ends.get(self._known.places[place], [])
        if self.row is not None:
            wanted = beyond[self.row] - 1
        else:
            reached = [beyond[row] for _, row in self.upon if beyond[row] != FAR]
            wanted = 0 if straight else min(reached, default=FAR)
        if wanted < 0:
            return []
        found = [name for name, row in self.upon if beyond[row] == wanted]
        if straight and wanted == 0:
            found = sorted([*found, *straight], key=lambda name: self._order[name])
        return found


class RoutingLoop(str):
    """The sentence about a path that leads round; `ports` are those on it until it is back."""

    ports: list[Port]

    def __new__(cls, destination: str, back_at: str, ports: list[Port]) -> RoutingLoop:
        """The path to a destination that is back at a node after these ports."""
        text = f"forwarding leads frames for {destination} round and back to {back_at}"
        loop = super().__new__(cls, text)
        loop.ports = ports
        return loop


def endless_loop(plan: PlanModel, start: str, destination: str) -> list[str]:
    """Nodes of a loop on the ways from a node to another, without an IP router among them: frames
    would go round it without end. [] where there is none."""
    table, over = multipath_routes(plan), {(p.node, p.name): p.peer for p in ports(plan)}
    after: dict[str, list[str]] = {}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here not in after:
            names = table[here].get(destination, []) if here != destination else []
            after[here] = [over[here, name] for name in names if (here, name) in over]
            waiting += [node for node in after[here] if carries(plan, node)]
    left = {here: nodes for here, nodes in after.items() if _keeps_ttl(plan, here)}
    while ended := [here for here, nodes in left.items() if left.keys().isdisjoint(nodes)]:
        for here in ended:
            del left[here]
    trail: list[str] = []
    here = next(iter(left), "")
    while here and here not in trail:
        trail.append(here)
        here = next(node for node in left[here] if node in left)
    return trail[trail.index(here) :] if here else []


def _keeps_ttl(plan: PlanModel, name: str) -> bool:
    """True if a node sends frames on and takes nothing off their TTL."""
    node = plan.nodes[name]
    return carries(plan, name) and not (isinstance(node, Switch) and node.forwards_by == "ip")


def path(
    plan: PlanModel, table: Routes, known: dict[str, Port], start: str, destination: str
) -> list[Port] | str:
    """The ports a frame leaves through on its way, or a sentence saying why it does not arrive.

    `known` are the plan's ports by entity.
    """
    here, taken = start, list[Port]()
    seen = {start}
    while here != destination:
        port = known.get(f"{here}.{table[here].get(destination)}")
        if port is None:
            return f"there is no way from {here} to {destination}"
        taken.append(port)
        here = port.peer
        if here in seen:
            loop = RoutingLoop(destination, here, taken)
            return loop if carries(plan, here) else str(loop)
        if here != destination and not carries(plan, here):
            return f"forwarding leads frames for {destination} to {here}, which carries none"
        seen.add(here)
    return taken


Tree = dict[str, list[str]]
"""Switch -> names of the ports that get a copy."""


def tree(plan: PlanModel, root: str, members: tuple[str, ...]) -> tuple[Tree, list[str]]:
    """(ports by switch, members that cannot be reached) of the shortest paths from `root`.

    Of paths of equal length the one over the links that come first is taken; every
    switch gets a frame once.
    """
    by_node = by_its_node(plan)
    came_by: dict[str, tuple[str, str]] = {}
    waiting = deque([root])
    while waiting:
        here = waiting.popleft()
        if not isinstance(plan.nodes[here], Switch):
            continue
        for port in by_node[here]:
            if port.peer not in came_by and port.peer != root:
                came_by[port.peer] = (here, port.name)
                waiting.append(port.peer)
    wanted: dict[str, set[str]] = {}
    for member in members:
        here = member
        while here != root and here in came_by:
            before, name = came_by[here]
            wanted.setdefault(before, set()).add(name)
            here = before
    found = {
        node: [port.name for port in by_node[node] if port.name in names]
        for node, names in wanted.items()
    }
    return found, [member for member in members if member != root and member not in came_by]
