"""Next hops: the shortest path by hops, unless the plan's forwarding says otherwise."""

from __future__ import annotations

from collections import deque

from orchestrator.plan.entries import Switch
from orchestrator.plan.model import PlanModel
from orchestrator.plan.names import Port, ports

Routes = dict[str, dict[str, str]]
"""Node -> destination node -> name of the port, as that node calls it."""
Ways = dict[str, dict[str, list[str]]]
"""The same with all ports that a frame may take."""


def routes(plan: PlanModel) -> Routes:
    """Where every node sends frames for every NIC and sink; unreachable ones are left out.

    Only switches carry frames of others. Of paths of equal length the one over the link that
    comes first in the plan is taken, so that the same plan always has the same routes.
    """
    table = {
        node: {destination: ports[0] for destination, ports in choices.items()}
        for node, choices in _shortest(plan).items()
    }
    for name, node in plan.nodes.items():
        if isinstance(node, Switch):
            table[name].update(node.forwarding)
    return table


def ways(plan: PlanModel) -> Ways:
    """`routes`, with every port of a shortest path where a switch spreads frames or flows."""
    table = _shortest(plan)
    for name, node in plan.nodes.items():
        if not isinstance(node, Switch) or node.spread == "none":
            table[name] = {destination: ports[:1] for destination, ports in table[name].items()}
        if isinstance(node, Switch):
            table[name] |= {destination: [port] for destination, port in node.forwarding.items()}
    return table


def _shortest(plan: PlanModel) -> Ways:
    """The ways to all NICs and sinks; those behind one switch are looked for once."""
    by_node = by_its_node(plan)
    carriers = {name for name, node in plan.nodes.items() if isinstance(node, Switch)}
    table: Ways = {name: {} for name in plan.nodes}
    behind: dict[str, dict[str, list[str]]] = {}
    """Switch -> the ways to it, for all that have their only link to it."""
    for destination in plan.nodes:
        if destination in carriers:
            continue
        near = _only_switch(by_node[destination], carriers)
        if near is None:
            found = _toward(destination, carriers, by_node)
        elif near in behind:
            found = behind[near]
        else:
            found = behind[near] = _toward(near, carriers, by_node)
        for name, hops in found.items():
            if name != destination:
                table[name][destination] = hops
        if near is not None:
            last = next(port for port in by_node[near] if port.peer == destination)
            table[near][destination] = [last.name]
    return table


def _only_switch(ports: list[Port], carriers: set[str]) -> str | None:
    """The switch that a node's only link leads to; None for any other node."""
    return ports[0].peer if len(ports) == 1 and ports[0].peer in carriers else None


def by_its_node(plan: PlanModel) -> dict[str, list[Port]]:
    """The ports of every node, in the order of the links."""
    by_node: dict[str, list[Port]] = {name: [] for name in plan.nodes}
    for port in ports(plan):
        by_node[port.node].append(port)
    return by_node


def _toward(
    destination: str, carriers: set[str], by_node: dict[str, list[Port]]
) -> dict[str, list[str]]:
    """Node -> its ports on shortest paths to `destination`, those of the first links first.

    `carriers` are the nodes that carry frames of others.
    """
    distance = {destination: 0}
    waiting = deque([destination])
    while waiting:
        here = waiting.popleft()
        if here != destination and here not in carriers:
            continue
        for port in by_node[here]:
            if port.peer not in distance:
                distance[port.peer] = distance[here] + 1
                waiting.append(port.peer)
    found = {}
    for name, hops in distance.items():
        nearer = [
            port.name
            for port in by_node[name]
            if distance.get(port.peer) == hops - 1
            and (port.peer in carriers or port.peer == destination)
        ]
        if nearer:
            found[name] = nearer
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
