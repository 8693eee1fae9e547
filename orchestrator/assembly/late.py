"""Lazy ports and inputs: ports that need no event for a frame that leaves, as no observer sees it
before the port is read, and inputs of switches that need none for a transfer that ends."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.assembly.builder import Row, WorldBuilder
from orchestrator.assembly.names import Indices
from orchestrator.engine.records import FRAMES, LATE, LATE_INSIDE, NEVER, NONE
from orchestrator.plan import Port, ResolvedPlan

LEAVES = {"congestion_point": "departure", "pause": "dequeue"}
"""Event of a frame that leaves a buffer, by the kind of algorithm that observes the buffer."""


def is_deaf(resolved: ResolvedPlan, entity: str, port: Port) -> int:
    """1: the congestion point of a buffer, if any, has nothing to do for frames that leave it.

    A kernel that does nothing may have something to do once its parameters have changed. A run that
    is changed while it goes on calls it again by the port (`engine.node.port.be_in_time`); the
    buffer of an input has no such call.
    """
    use = resolved.use("congestion_point", entity)
    if use is None or "departure" not in use.algorithm.kernels:
        return 1
    changes = [each for each in resolved.actions if each.kind == "congestion_point"]
    may_change = entity == port.input or any(entity in each.entities for each in changes)
    return int(not may_change and "departure" in use.params.needless())


def within(builder: WorldBuilder, port: Row, nodes: Collection[int]) -> bool:
    """True if both ends of a port's link are at these nodes (rows)."""
    peer = port["peer"]
    return port["node"] in nodes and peer != NONE and builder.ports[peer]["node"] in nodes


def mark_late(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, nodes: Collection[int]
) -> None:
    """Mark the ports whose data leaves without events and the inputs that are calm (see
    `engine.node.late`, `engine.node.transfer`), of the nodes (rows) that this world drives; all
    rows are there.

    There is one lane. Every frame that is data is only counted where it arrives, where a port is to
    be late; and none is of a group.
    """
    if max(builder.lane_of) > 0 or any(row.get("copies", 0) != 0 for row in builder.flows):
        return
    for entity, row in indices.inputs.items():
        side = builder.inputs[row]
        queue = builder.queues[side["first_queue"]]
        kept = side["retain"] or side["shared"] or builder.ports[queue["port"]]["node"] not in nodes
        queue["calm"] = int(not kept and _is_calm(resolved, entity))
    if any(row.get("mode", FRAMES) != FRAMES for row in builder.flows):
        return
    for port in builder.ports:
        lane = builder.lanes[port["first_lane"]]
        if port["ahead"] and lane["queue"] != NONE and lane["granted"] == NEVER:
            queue = builder.queues[lane["queue"]]
            simple = not port["in_order"] and _is_plain(queue) and _is_open(builder, port)
            if simple and within(builder, port, nodes):
                port["late"] = LATE_INSIDE if queue["crossbar"] else LATE


def _is_calm(resolved: ResolvedPlan, entity: str) -> bool:
    """True if no algorithm that observes a buffer acts on frames that leave it while it
    does not pause its neighbour, and that stays so (`engine.node.port.be_in_time`)."""
    for kind, event in LEAVES.items():
        use = resolved.use(kind, entity)
        if use is None or event not in use.algorithm.kernels:
            continue
        changes = any(each.kind == kind and entity in each.entities for each in resolved.actions)
        if changes or event not in use.params.needless_unless_pausing():
            return False
    return True


def _is_plain(queue: Row) -> bool:
    """True if frames leave a queue by the clock alone, and leave nothing behind. Behind inputs they
    come without events, too: no algorithm may observe that."""
    watched = not queue["deaf"] or queue["pause"] != NONE or queue["watchdog"] != NONE
    points = queue["congestion_point"] != NONE or queue["notification_point"] != NONE
    return not (watched or queue["units"] or (queue["crossbar"] and points))


def _is_open(builder: WorldBuilder, port: Row) -> bool:
    """True if what leaves a port gives no room back at an input."""
    if port["input"] == NONE:
        return True
    side = builder.inputs[port["input"]]
    return not (side["retain"] or side["shared"])
