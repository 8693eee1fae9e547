"""Lazy ports and inputs: ports that need no event for a frame that leaves, as no observer sees it
before the port is read, and inputs of switches that need none for a transfer that ends.

The rule that the engine keeps for them is stated in `engine.node.event_sync`. Everything that an
engine defers is a field of a row that this module and `node_rows` set. The reference mode
(`TAILBACK_EAGER=1`, option `eager` of target `simulated`) unsets them all: each departure, transfer
and delivery is an event of its own, and the results are the same to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import Row, WorldBuilder
from orchestrator.engine.records import FRAMES, LAZY, LAZY_BEHIND_INPUTS, NEVER, NIC, NONE, SWITCH
from orchestrator.errors import BadInput
from orchestrator.plan import Port, ResolvedPlan

DEPARTURE_EVENTS = {"congestion_point": "departure", "pause": "dequeue"}
"""Event of a frame that leaves a buffer, by the kind of algorithm that observes the buffer."""

VARIABLE = "TAILBACK_EAGER"
"""Environment variable: 1 runs every world without deferral, 0 as the plan's options say."""
EAGER_VALUES = {"": False, "0": False, "1": True}


def is_eager(resolved: ResolvedPlan) -> bool:
    """True if a plan's worlds defer nothing: by its option `eager`, or by TAILBACK_EAGER=1.

    Raises BadInput for another value of the variable.
    """
    value = os.environ.get(VARIABLE, "")
    if value not in EAGER_VALUES:
        raise BadInput(VARIABLE, f"{value!r} is not accepted; 1 (no deferral) or 0 is expected")
    return EAGER_VALUES[value] or bool(getattr(resolved.options, "eager", None))


def deny_laziness(builder: WorldBuilder) -> None:
    """Let every port, line and queue of a world have all its events; all rows are there."""
    builder.eager = True
    for port in builder.ports:
        port["patience"], port["ahead"] = 0, 0
    for queue in builder.queues:
        queue["deaf"] = 0


def lacks_departure_hook(resolved: ResolvedPlan, entity: str, port: Port) -> int:
    """1: the congestion point of a buffer, if any, has nothing to do for frames that leave it.

    A kernel that does nothing may have something to do once its parameters have changed. A run that
    is changed while it goes on calls it again by the port (`disable_laziness`); the
    buffer of an input has no such call.
    """
    use = resolved.use("congestion_point", entity)
    if use is None or "departure" not in use.algorithm.kernels:
        return 1
    changes = [each for each in resolved.actions if each.kind == "congestion_point"]
    may_change = entity == port.input or any(entity in each.entities for each in changes)
    return int(not may_change and "departure" in use.params.needless())


def is_local_link(builder: WorldBuilder, port: Row, nodes: Collection[int]) -> bool:
    """True if both ends of a port's link are at these nodes (rows)."""
    peer = port["peer"]
    return port["node"] in nodes and peer != NONE and builder.ports[peer]["node"] in nodes


def mark_lazy_ports(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, nodes: Collection[int]
) -> None:
    """Mark the ports whose data leaves without events and the inputs that are calm (see
    `engine.node.event_sync`), of the nodes (rows) that this world drives; all
    rows are there.

    There is one lane. Every frame that is data is only counted where it arrives, where a port is to
    be late; and none is of a group. No CNP waits among them.
    """
    if max(builder.lane_of) > 0 or any(row.get("copies", 0) != 0 for row in builder.flows):
        return
    for entity, row in indices.inputs.items():
        side = builder.inputs[row]
        queue = builder.queues[side["first_queue"]]
        kept = side["retain"] or side["shared"] or builder.ports[queue["port"]]["node"] not in nodes
        queue["calm"] = int(not kept and _is_passive(resolved, entity))
    if any(row.get("mode", FRAMES) != FRAMES for row in builder.flows):
        return
    if builder.headers.queued_cnps:
        return
    for port in builder.ports:
        lane = builder.lanes[port["first_lane"]]
        at_switch = builder.nodes[port["node"]]["kind"] == SWITCH
        if at_switch and port["ahead"] and lane["queue"] != NONE and lane["granted"] == NEVER:
            queue = builder.queues[lane["queue"]]
            simple = (
                not port["in_order"] and _is_timed_only(queue) and _frees_no_input(builder, port)
            )
            if simple and is_local_link(builder, port, nodes):
                port["late"] = LAZY_BEHIND_INPUTS if queue["crossbar"] else LAZY


def _is_passive(resolved: ResolvedPlan, entity: str) -> bool:
    """True if no algorithm that observes a buffer acts on frames that leave it while it
    does not pause its neighbour, and that stays so (`disable_laziness`)."""
    for kind, event in DEPARTURE_EVENTS.items():
        use = resolved.use(kind, entity)
        if use is None or event not in use.algorithm.kernels:
            continue
        changes = any(each.kind == kind and entity in each.entities for each in resolved.actions)
        if changes or event not in use.params.needless_unless_pausing():
            return False
    return True


def _is_timed_only(queue: Row) -> bool:
    """True if frames leave a queue by the clock alone, and leave nothing behind. Behind inputs they
    come without events, too: no algorithm may observe that."""
    watched = not queue["deaf"] or queue["pause"] != NONE or queue["watchdog"] != NONE
    points = queue["congestion_point"] != NONE or queue["notification_point"] != NONE
    return not (watched or queue["units"] or (queue["crossbar"] and points))


def _frees_no_input(builder: WorldBuilder, port: Row) -> bool:
    """True if what leaves a port gives no room back at an input."""
    if port["input"] == NONE:
        return True
    side = builder.inputs[port["input"]]
    return not (side["retain"] or side["shared"])


MOST_FLOWS = 8
"""Flows of such a port: all are looked through for the next thing to do."""


def mark_lazy_nics(builder: WorldBuilder, nodes: Collection[int]) -> None:
    """Give the ports that are late and their flows an agenda (see `engine.node.event_sync`), of the
    nodes (rows) that this world drives.

    All rows are there. Frames are made by kernels alone, there is one lane, and whatever a NIC does
    is between the port, its flows, their limiters, and the node at a message from outside.
    """
    if any(row.get("mode", FRAMES) != FRAMES or row.get("copies", 0) for row in builder.flows):
        return
    if max(builder.lane_of) > 0 or builder.headers.queued_cnps:
        return
    flows: dict[int, list[int]] = {}
    for row, flow in enumerate(builder.flows):
        flows.setdefault(flow["port"], []).append(row)
    for row, port in enumerate(builder.ports):
        few = 0 < len(flows.get(row, [])) <= MOST_FLOWS
        if few and is_local_link(builder, port, nodes) and _is_self_contained(builder, port):
            _add_agenda(builder, row, flows[row])


def _is_self_contained(builder: WorldBuilder, port: Row) -> bool:
    """True if no other algorithm affects the frames that leave a port, and its peer is a switch."""
    node, peer = builder.nodes[port["node"]], port["peer"]
    if node["kind"] != NIC or node["forwards"] or peer == NONE:
        return False
    if builder.nodes[builder.ports[peer]["node"]]["kind"] != SWITCH:
        return False
    says = node["notification_point"] != NONE or node["receiver"] != NONE
    shares = node["host_capacity"] > 0 and node["ports"] > 1
    simple = port["delay_line"] == NONE and not port["ahead"] and port["patience"] == 0
    simple = simple and not port.get("injector")
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
