"""Route tables of a world: the port to each destination, and port sets for several paths.

A node has a route for every *place* (`orchestrator.plan.shortest_paths`), not for every address:
all
that lie behind one switch have the same one everywhere but there. At that switch the route is HERE,
and the address itself says which port leads to it. Addresses that some node treats in a way of
their own (named in the plan's forwarding, of flows with `via`, of multicast trees) are apart.
"""

from __future__ import annotations

import numpy as np

from orchestrator.assembly.row_index import Indices, is_end, tree_of
from orchestrator.assembly.world_builder import WorldBuilder
from orchestrator.engine.frames.address_index import GROUP
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    COPY,
    LOCAL_DELIVERY,
    NONE,
    PORT_SETS,
    SPREAD_FLOWS,
    SPREAD_FRAMES,
)
from orchestrator.plan import Plan, Switch
from orchestrator.plan.external_nodes import facing
from orchestrator.plan.shortest_paths import FAR, Distances, Hops, distances, tree

NOWHERE = 0
"""The column of addresses that nothing is sent to."""
NEVER_SO_FAR = 1 << 30
"""More links than any way has."""


def add_routes(builder: WorldBuilder, plan: Plan, indices: Indices) -> None:
    """Add routes and ways; all else of the plan is there."""
    _Routing(builder, plan, indices).add()


def ports_by_address(world: World, node: int) -> np.ndarray:
    """int64[addresses]: the port that a node sends by to each address, NONE, or a row of the ways
    (WAYS - row)."""
    ways = world.routes[node][world.behind[:, 0]]
    found: np.ndarray = np.where(ways == LOCAL_DELIVERY, world.behind[:, 1], ways)
    return found


def flood_ports(plan: Plan, indices: Indices) -> dict[int, list[int]]:
    """Port that faces another device, of a switch that learns MAC addresses -> the others of that
    switch which do: a frame for an unknown station that came in there leaves by each of them. Their
    rows are the last of the ways, in this order."""
    rows: dict[str, list[int]] = {}
    for device in facing(plan).values():
        for port in device.values():
            node = plan.nodes[indices.ports[port].node]
            if isinstance(node, Switch) and node.mac_learning is not None:
                rows.setdefault(indices.ports[port].node, []).append(indices.port_rows[port])
    return {
        row: [other for other in mine if other != row]
        for mine in rows.values()
        if len(mine) > 1
        for row in mine
    }


class _Routing:
    def __init__(self, builder: WorldBuilder, plan: Plan, indices: Indices) -> None:
        self._builder, self._plan, self._indices = builder, plan, indices
        self._known: Distances = distances(plan)
        self._spread: dict[tuple[int, ...], int] = {}
        nodes = plan.nodes.values()
        apart = {name for node in nodes if isinstance(node, Switch) for name in node.forwarding}
        self._places: list[int] = []
        """Place of each column behind NOWHERE."""
        self._column: dict[str, int] = {}
        """NIC or sink -> its column."""
        self._at: dict[str, list[int]] = {}
        """Node that is a place -> its columns, counted behind NOWHERE."""
        columns: dict[int | str, int] = {}
        for name, place in self._known.place_of.items():
            key = name if name in apart else place
            if key not in columns:
                self._at.setdefault(self._known.places[place], []).append(len(self._places))
                self._places.append(place)
                columns[key] = len(self._places)
            self._column[name] = columns[key]
        links = [self._known.to(place) for place in self._places]
        self._beyond = np.array(links, np.int32).reshape(len(links), len(self._known.switches))
        """int32[columns, switches]: links between them."""

    def add(self) -> None:
        """Everything, place by place, then what is apart."""
        builder, plan, indices = self._builder, self._plan, self._indices
        own = [row for row, flow in enumerate(plan.flows()) if plan.traffic[flow.entry].via]
        first, trees = 1 + len(self._places), len(indices.trees)
        width = first + len(own) + trees
        builder.routes = np.full((len(plan.nodes), width), NONE, np.int64)
        builder.behind = np.full((indices.addresses, 2), NONE, np.int64)
        builder.behind[:, 0] = NOWHERE
        for name, row in indices.nodes.items():
            builder.routes[row, 1:first] = self._of_node(name)
        for name in plan.nodes:
            if is_end(plan, name):
                builder.behind[indices.node_address(name)] = self._behind(name)
        for row, flow in enumerate(plan.flows()):
            builder.behind[row] = self._behind(flow.node)
        for column, row in enumerate(own, first):
            self._return_route(row, column)
        self._add_trees(first + len(own))
        builder.ways += [(COPY, *others) for others in flood_ports(plan, indices).values()]

    def _behind(self, name: str) -> tuple[int, int]:
        """Column of a NIC or sink, and the port that leads to it where that says HERE."""
        place = self._known.places[self._known.place_of[name]]
        if place == name:
            return self._column[name], NONE
        last = next(port for port in self._known.by_node[place] if port.peer == name)
        return self._column[name], self._indices.port_rows[last.entity]

    def _of_node(self, name: str) -> np.ndarray:
        """int64[columns]: the routes of one node."""
        hops = Hops(self._plan, self._known, name)
        found = self._over_switches(hops)
        for place in {name, *hops.ends} & self._at.keys():
            for column in self._at[place]:
                found[column] = self._direct_route(hops, place)
        for destination, port in hops.forwarding.items():
            found[self._column[destination] - 1] = self._indices.port_rows[f"{name}.{port}"]
        return found

    def _over_switches(self, hops: Hops) -> np.ndarray:
        """The routes over the switches beside a node; of all ports on shortest paths, or the first
        one where the node does not spread."""
        found = np.full(len(self._places), NONE, np.int64)
        if not hops.upon:
            return found
        names, rows = zip(*hops.upon, strict=True)
        links = self._beyond[:, rows]
        if hops.row is not None:
            wanted = self._beyond[:, hops.row] - 1
        else:
            wanted = np.where(links == FAR, NEVER_SO_FAR, links).min(axis=1)
        nearer = (links == wanted[:, None]) & (wanted >= 0)[:, None]
        if not hops.spreads:
            first = np.array([self._indices.port_rows[f"{hops.name}.{one}"] for one in names])
            return np.where(nearer.any(axis=1), first[nearer.argmax(axis=1)], NONE)
        known: dict[bytes, int] = {}
        for column, pattern in enumerate(np.packbits(nearer, axis=1)):
            key = pattern.tobytes()
            if key not in known:
                over = [one for one, taken in zip(names, nearer[column], strict=True) if taken]
                known[key] = self._port_or_set(hops.name, over) if over else NONE
            found[column] = known[key]
        return found

    def _direct_route(self, hops: Hops, place: str) -> int:
        """The route to a place that is this node, or a NIC or sink at the end of its links."""
        if place == hops.name:
            return NONE if hops.row is None else LOCAL_DELIVERY
        over = hops.over(self._known.place_of[place])
        return self._port_or_set(hops.name, over if hops.spreads else over[:1])

    def _port_or_set(self, name: str, ports: list[str]) -> int:
        """The route over some ports of a node: the port, or a row of the ways."""
        rows = [self._indices.port_rows[f"{name}.{port}"] for port in ports]
        node = self._plan.nodes[name]
        if len(rows) == 1 or not isinstance(node, Switch):
            return rows[0]
        key = (SPREAD_FRAMES if node.spread == "frames" else SPREAD_FLOWS, *rows)
        if key not in self._spread:
            self._spread[key] = PORT_SETS - len(self._builder.ways)
            self._builder.ways.append(key)
        return self._spread[key]

    def _return_route(self, flow: int, column: int) -> None:
        """Return route of a flow with `via`, over that link: a column of its own."""
        builder, indices = self._builder, self._indices
        builder.routes[:, column] = builder.routes[:, builder.behind[flow, 0]]
        entities = list(indices.port_rows)
        sender = indices.ports[entities[builder.flows[flow]["port"]]]
        peer = indices.nodes[sender.peer]
        back = next(port for port in indices.ports_of[sender.peer] if port.link == sender.link)
        builder.routes[peer, column] = indices.port_rows[back.entity]
        builder.behind[flow, 0] = column

    def _add_trees(self, first: int) -> None:
        """Routes of multicast frames, a column for each tree."""
        builder, indices = self._builder, self._indices
        columns = {key: first + place for place, key in enumerate(indices.trees)}
        entities = list(indices.port_rows)
        for row, flow in enumerate(self._plan.flows()):
            if not flow.members:
                continue
            key = tree_of(flow)
            column, address = columns[key], indices.trees[key] & ~GROUP
            builder.behind[address, 0] = column
            root = indices.ports[entities[builder.flows[row]["port"]]].peer
            for node, ports in tree(self._plan, root, flow.members)[0].items():
                if builder.routes[indices.nodes[node], column] == NONE:
                    rows = [indices.port_rows[f"{node}.{port}"] for port in ports]
                    builder.routes[indices.nodes[node], column] = PORT_SETS - len(builder.ways)
                    builder.ways.append((COPY, *rows))
