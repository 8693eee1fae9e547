"""Lazy NIC ports: ports of NICs that need no events of their own before their frames arrive."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.assembly.builder import Row, WorldBuilder
from orchestrator.assembly.late import within
from orchestrator.engine.records import FRAMES, NEVER, NIC, NONE, SWITCH

MOST_FLOWS = 8
"""Flows of such a port: all are looked through for the next thing to do."""


def mark_late_nics(builder: WorldBuilder, nodes: Collection[int]) -> None:
    """Give the ports that are late and their flows an agenda (see `engine.node.late_nic`), of the
    nodes (rows) that this world drives.

    All rows are there. Frames are made by kernels alone, there is one lane, and whatever a NIC does
    is between the port, its flows, their limiters, and the node at a message from outside.
    """
    if any(row.get("mode", FRAMES) != FRAMES or row.get("copies", 0) for row in builder.flows):
        return
    if max(builder.lane_of) > 0:
        return
    flows: dict[int, list[int]] = {}
    for row, flow in enumerate(builder.flows):
        flows.setdefault(flow["port"], []).append(row)
    for row, port in enumerate(builder.ports):
        few = 0 < len(flows.get(row, [])) <= MOST_FLOWS
        if few and within(builder, port, nodes) and _keeps_to_itself(builder, port):
            _add_agenda(builder, row, flows[row])


def _keeps_to_itself(builder: WorldBuilder, port: Row) -> bool:
    """True if no other algorithm affects the frames that leave a port, and its peer is a switch."""
    node, peer = builder.nodes[port["node"]], port["peer"]
    if node["kind"] != NIC or peer == NONE:
        return False
    if builder.nodes[builder.ports[peer]["node"]]["kind"] != SWITCH:
        return False
    says = node["notification_point"] != NONE or node["receiver"] != NONE
    shares = node["host_capacity"] > 0 and node["ports"] > 1
    simple = port["delay_line"] == NONE and not port["ahead"] and port["patience"] == 0
    return simple and not says and not shares and _lane_of(builder, port)["granted"] == NEVER


def _lane_of(builder: WorldBuilder, port: Row) -> Row:
    return builder.lanes[port["first_lane"]]


def _add_agenda(builder: WorldBuilder, row: int, flows: list[int]) -> None:
    """Rows for a port and its flows, none of which has anything to do yet."""
    never = {"wake": NEVER, "sends": NEVER, "probes": NEVER}
    builder.ports[row]["agenda"] = builder.add(builder.agenda, flow=NONE, **never)
    builder.ports[row]["entries"] = 1 + len(flows)
    for flow in flows:
        builder.flows[flow]["entry"] = builder.add(builder.agenda, flow=flow, **never)
