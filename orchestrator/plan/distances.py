"""Hop distances between switches and the places that frames can be sent to.

Only switches carry frames of others. All NICs and sinks whose only link leads to the same switch
are at one *place*, that switch: the way to it is looked for once. Any other one is a place itself.
So a network of regular shape has as many places as lowest switches, not as hosts.
"""

from __future__ import annotations

from orchestrator.plan.entries import Switch
from orchestrator.plan.kept import once
from orchestrator.plan.model import PlanModel
from orchestrator.plan.names import Port, ports

FAR = -1
"""Distance of what cannot be reached."""


class Distances:
    """The switches of a plan, the places of its NICs and sinks, and the links between them."""

    def __init__(self, plan: PlanModel) -> None:
        self.by_node = by_its_node(plan)
        self.switches = [name for name, node in plan.nodes.items() if isinstance(node, Switch)]
        self.row = {name: row for row, name in enumerate(self.switches)}
        self.places: list[str] = []
        """Nodes."""
        self.place_of: dict[str, int] = {}
        """NIC or sink -> its place, by number."""
        self._beside = [self._switches_beside(name) for name in self.switches]
        self._to: dict[int, list[int]] = {}
        numbers: dict[str, int] = {}
        for name in plan.nodes:
            if name not in self.row:
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

    def _switches_beside(self, name: str) -> set[int]:
        return {self.row[port.peer] for port in self.by_node[name] if port.peer in self.row}

    def _spread_from(self, place: str) -> list[int]:
        found = [FAR] * len(self.switches)
        here = {self.row[place]} if place in self.row else self._switches_beside(place)
        seen, links = set(here), 0 if place in self.row else 1
        while here:
            for row in here:
                found[row] = links
            here = set[int]().union(*(self._beside[row] for row in here)) - seen
            seen |= here
            links += 1
        return found


@once
def distances(plan: PlanModel) -> Distances:
    """Those of a plan."""
    return Distances(plan)


@once
def by_its_node(plan: PlanModel) -> dict[str, list[Port]]:
    """The ports of every node, in the order of the links."""
    by_node: dict[str, list[Port]] = {name: [] for name in plan.nodes}
    for port in ports(plan):
        by_node[port.node].append(port)
    return by_node
