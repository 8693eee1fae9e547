"""Lazy NIC ports: transmissions are computed on demand instead of one event per frame.

Such a port, its flows and their limiters affect other nodes by the frames that leave alone, and
are observable only when they are read. So neither the port nor its flows wake in the tournament:
their own wakes are rows of the agenda (`local_timers`), and the port's delay line wakes when
a frame is due, or could be. Then, and at every event from outside, a message, a PAUSE, a command
or a sample, the port first carries out what its agenda has up to that instant: one entry
after the other, each at its own time, in the order in which the tournament would have had them
(of equal times the port before its flows, and these by number).

A line has a lower actor number than any port or flow: what is due for these at the very time of a
frame's arrival comes behind it. Nodes have higher ones: for what they do at a time it is over.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, NodeIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.delay_line import leave_line
from orchestrator.engine.node.lazy_egress import sync_egress
from orchestrator.engine.node.local_timers import schedule_next_arrival
from orchestrator.engine.node.nic_transmit import wake_flow
from orchestrator.engine.node.port_scheduler import serve
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import GRANT, NONE, PAUSE, PFC, PROBE


@compiled
def run_local_timers(w: World, port_index: PortIndex, until: int) -> None:
    """Do all that the agenda of a late port has up to `until` (ps, inclusive).

    The caller then sets the line's wake anew (`schedule_next_arrival`).
    """
    port = w.ports[port_index]
    first, end = port.agenda, port.agenda + port.entries
    while True:
        chosen, time = first, w.agenda[first].wake
        for row in range(first + 1, end):
            if w.agenda[row].wake < time:
                chosen, time = row, w.agenda[row].wake
        if time > until:
            return
        w.clock[0].unseen += 1
        port.reached = max(port.reached, time)  # a wake may lie in the past
        if chosen == first or wake_flow(w, w.agenda[chosen].flow, port.reached):
            serve(w, port_index, port.reached)


@compiled
def take_due_frame(w: World, port_index: PortIndex, now: int) -> FrameIndex:
    """The line of a late port wakes. Returns the frame that is due, out of the line; NONE if one
    only might have been."""
    run_local_timers(w, port_index, now - 1)
    index = w.ports[port_index].line_head
    if index != NONE and w.frames[index].due <= now:
        leave_line(w, port_index)
    else:
        index = NONE
    schedule_next_arrival(w, port_index)
    return index


@compiled
def sync_port(w: World, port_index: PortIndex, now: int, until: int) -> None:
    """Something comes to a port from outside at `now`: it is brought up to `until`, if it is late.

    The caller then calls `reschedule_port`.
    """
    port = w.ports[port_index]
    if port.entries != 0:
        run_local_timers(w, port_index, until)
        port.reached = max(port.reached, now)


@inlined
def reschedule_port(w: World, port_index: PortIndex) -> None:
    """Set the line's wake anew after an event from outside: other frames may leave the port now."""
    if w.ports[port_index].entries != 0:
        schedule_next_arrival(w, port_index)


@compiled
def sync_node_ports(w: World, node_index: NodeIndex, now: int, until: int) -> None:
    """`sync_port` all ports of a NIC: its flows share the limiters that are free."""
    node = w.nodes[node_index]
    if w.clock[0].late_nics != 0:
        for port_index in range(node.first_port, node.first_port + node.ports):
            sync_port(w, port_index, now, until)


@compiled
def sync_addressed_port(
    w: World, node_index: NodeIndex, index: FrameIndex, now: int, until: int
) -> PortIndex:
    """`sync_port` the port that a message `index` to a NIC acts on, which is returned, or NONE.

    It may bind a limiter that another flow has let go.
    """
    if w.clock[0].late_nics == 0:
        return NONE
    flow_index = w.address_flow[w.frames[index].destination]
    if flow_index == NONE or w.flows[flow_index].node != node_index:
        return NONE
    port_index = w.flows[flow_index].port
    sync_port(w, port_index, now, until)
    if w.flows[flow_index].limiter == NONE and w.nodes[node_index].limiters > 0:
        sync_node_ports(w, node_index, now, until)
    return port_index


@compiled
def sync_arrival(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> PortIndex:
    """Sync what a frame that is not data acts on where it arrives; returns the port to reschedule,
    or NONE. A CNM of a NIC with a reaction time acts later, by an event of the node."""
    frame = w.frames[index]
    if frame.kind in (PAUSE, PFC, GRANT):
        sync_egress(w, port_index, now)
        sync_port(w, port_index, now, now - 1)
        return port_index
    node_index = w.ports[port_index].node
    if frame.kind == PROBE or w.nodes[node_index].reaction_time != 0:
        return NONE
    return sync_addressed_port(w, node_index, index, now, now - 1)


@compiled
def run_all_local_timers(w: World, until: int) -> None:
    """Bring all late ports of NICs up to `until` (ps, inclusive)."""
    if w.clock[0].late_nics != 0:
        for port_index in range(w.ports.size):
            if w.ports[port_index].entries != 0:
                run_local_timers(w, port_index, until)
                schedule_next_arrival(w, port_index)
