"""Local timers of a lazy NIC port and its flows, and the earliest arrival of its next frame.

These wakes stand in rows of the agenda (`engine.records.AGENDA`) and not in the tournament, for
which the port's delay line wakes alone: when its first frame is due, or, while it is empty, when
the next frame can arrive at the soonest. That is a bound: whatever makes it earlier is an event
from outside, after which the line's wake is set anew (`schedule_next_arrival`).
"""

from __future__ import annotations

from orchestrator.engine.index_types import FlowIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import line_actor
from orchestrator.engine.node.departure_time import control_departure, flow_departure
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.transmitter import on_wire
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, NONE, PROBE


@inlined
def has_local_timers(w: World, port_index: PortIndex) -> bool:
    """True if a port is one of a NIC's and has its wakes in the agenda."""
    return w.ports[port_index].entries != 0


@inlined
def set_port_timer(w: World, port_index: PortIndex, time: int) -> None:
    """Let a late port wake at `time` (ps; NEVER: not at all) and at no other time."""
    w.agenda[w.ports[port_index].agenda].wake = time


@compiled
def set_flow_timer(w: World, flow_index: FlowIndex, time: int, tokens: int, timer: int) -> None:
    """Let a flow of a late port wake at `time` (ps; NEVER: not at all) and at no other time.

    Its limiter, if it has one, lets a frame go at `tokens` (ps), and may say otherwise at `timer`.
    """
    flow = w.flows[flow_index]
    entry = w.agenda[flow.entry]
    entry.wake = time
    entry.probes = timer
    if flow.head == NONE:
        entry.sends = flow.next_frame
        entry.octets = flow.length
    else:
        entry.sends = min(tokens, timer)  # of one that is ready both are past, and the port waits
        entry.octets = w.made[flow.head].length


@compiled
def earliest_arrival(w: World, port_index: PortIndex) -> int:
    """Earliest arrival (ps) of the next frame of a late port with an empty line, or
    NEVER."""
    port = w.ports[port_index]
    wake = w.agenda[port.agenda].wake
    sends, probes, octets = NEVER, NEVER, NEVER
    for row in range(port.agenda + 1, port.agenda + port.entries):
        entry = w.agenda[row]
        wake = min(wake, entry.wake)
        probes = min(probes, entry.probes)
        if entry.sends < NEVER:
            sends = min(sends, entry.sends)
            octets = min(octets, entry.octets)
    if wake == NEVER:
        return NEVER
    time = NEVER
    if sends < NEVER:
        begins = max(sends, wake, flow_departure(port, w.lanes[port.first_lane]))
        time = begins + on_wire(port, octets + port.overhead)
    if port.control_head != NONE:
        control = max(wake, control_departure(w, port))
    else:
        control = max(wake, probes, port.free_at, port.paused_until)
    if control < time:
        octets = w.types[PROBE].octets
        if port.control_head != NONE:
            octets = min(octets, w.frames[port.control_head].length)
        time = min(time, control + on_wire(port, octets + port.overhead))
    return min(time + port.delay, NEVER)


@compiled
def schedule_next_arrival(w: World, port_index: PortIndex) -> None:
    """Let the line of a late port wake for its first frame, or for the first that may come."""
    port = w.ports[port_index]
    if port.line_head == NONE:
        wake_at(w, line_actor(w, port_index), earliest_arrival(w, port_index))
    else:
        wake_at(w, line_actor(w, port_index), w.frames[port.line_head].due)


@compiled
def reset_next_arrival(w: World) -> None:
    """A value has changed: what was known of the frames that come next need not hold any more."""
    if w.clock[0].late_nics == 0:
        return
    for port_index in range(w.ports.size):
        port = w.ports[port_index]
        if port.entries != 0:
            wake = w.agenda[port.agenda].wake
            for row in range(port.agenda + 1, port.agenda + port.entries):
                entry = w.agenda[row]
                entry.sends = min(wake, entry.wake)
                entry.probes = entry.sends
                entry.octets = 1
            schedule_next_arrival(w, port_index)
