"""Longest frame through each direction of a link."""

from __future__ import annotations

from orchestrator.plan.entity_names import Flow
from orchestrator.plan.external_nodes import facing
from orchestrator.plan.plan import Plan, ResolvedPlan
from orchestrator.plan.plan_tables import Switch
from orchestrator.plan.shortest_paths import MultipathRoutes

LONGEST_MESSAGE = 110
"""Octets of a tagged CNM, the longest frame of a node's own: it may go any way."""


def frames_of(resolved: ResolvedPlan) -> dict[str, int]:
    """Traffic entry -> octets of its longest frame."""
    uses = resolved.uses["traffic"]
    own = {name: use.params.frame_lengths() for name, use in uses.items()}
    return {
        name: entry.frame if (lengths := own.get(name)) is None else lengths[1]
        for name, entry in resolved.plan.traffic.items()
    }


def bridged_frames(plan: Plan) -> dict[str, int]:
    """Port that faces another device, of a switch that learns MAC addresses -> octets of the
    longest frame of such devices that it forwards, without VLAN tags; and those of the device at
    its other end."""
    found: dict[str, int] = {}
    for ports in facing(plan).values():
        for theirs, ours in ports.items():
            node = plan.nodes[ours.partition(".")[0]]
            if isinstance(node, Switch) and node.mac_learning is not None:
                found |= dict.fromkeys((theirs, ours), node.mac_learning.longest_frame)
    return found


def longest_frames(resolved: ResolvedPlan) -> dict[str, int]:
    """Port that sends (`switch.sink`) -> octets without FCS of the longest frame that leaves it.

    Data frames go the ways of their flows. What a program's peer answers is as long as what it
    sends and comes back any way: a plan with programs has its longest frame everywhere.
    """
    plan = resolved.plan
    longest = dict.fromkeys((way.sender.entity for way in plan.directions()), 0)
    bridged = bridged_frames(plan)
    if not plan.traffic:
        return longest | bridged
    longest = dict.fromkeys(longest, LONGEST_MESSAGE) | bridged
    of = frames_of(resolved)
    if plan.programs:
        most = max(*of.values(), LONGEST_MESSAGE)
        return {port: max(most, octets) for port, octets in longest.items()}
    ways = plan.multipath_routes()
    peers = {way.sender.entity: way.receiver.node for way in plan.directions()}
    for flow in plan.flows():
        octets = of[flow.entry]
        for port in flow_ports(ways, peers, flow):
            longest[port] = max(longest[port], octets)
    return longest


def flow_ports(ways: MultipathRoutes, peers: dict[str, str], flow: Flow) -> set[str]:
    """Every port that a frame of the flow may leave through, copies for a group included."""
    taken: set[str] = set()
    for destination in flow.members or (flow.destination,):
        waiting, seen = [flow.node], {flow.node}
        while waiting:
            here = waiting.pop()
            for name in ways[here].get(destination, []):
                port = f"{here}.{name}"
                taken.add(port)
                if peers[port] not in seen and peers[port] != destination:
                    seen.add(peers[port])
                    waiting.append(peers[port])
    return taken
