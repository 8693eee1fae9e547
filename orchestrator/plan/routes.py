"""Next hops: the shortest path by hops, unless the plan's forwarding says otherwise.

They are worked out as they are asked for: a table of every node and every destination would be the
largest thing of a large plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from orchestrator.plan.distances import FAR, Distances, by_its_node, distances
from orchestrator.plan.entries import Switch
from orchestrator.plan.model import PlanModel
from orchestrator.plan.names import Port

__all__ = ["Routes", "Ways", "by_its_node", "path", "routes", "ways"]

Routes = Mapping[str, Mapping[str, str]]
"""Node -> destination node -> name of the port, as that node calls it."""
Ways = Mapping[str, Mapping[str, list[str]]]
"""The same with all ports that a frame may take."""

Answer = TypeVar("Answer")


def routes(plan: PlanModel) -> Routes:
    """Next hops of every node for every NIC and sink; unreachable ones are left out.

    Only switches carry frames of others. Of paths of equal length the one over the link that
    comes first in the plan is taken, so that the same plan always has the same routes.
    """
    return _Table(plan, lambda ports, spreads: ports[0])


def ways(plan: PlanModel) -> Ways:
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
            return f"forwarding leads frames for {destination} round and back to {here}"
        if here != destination and not isinstance(plan.nodes[here], Switch):
            return f"forwarding leads frames for {destination} to {here}, which carries none"
        seen.add(here)
    return taken
