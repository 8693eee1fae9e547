"""Departure times: when a port may send its next frame.

Eager ports wake by these functions, lazy ones compute their departures by them, and the earliest
arrival behind a lazy NIC, which bounds how long its line may sleep, is derived from them.
"""

from __future__ import annotations

from orchestrator.engine.jit import inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import GRANT, NEVER, NONE, PAUSE, PFC, Frame, Lane, Port


@inlined
def is_pause(frame: Frame) -> bool:
    """True if a frame is PAUSE, PFC or a grant: no pause holds it back."""
    return frame.kind in (PAUSE, PFC, GRANT)


@inlined
def control_departure(w: World, port: Port) -> int:
    """Time at which the first control frame of a port may leave (ps); the port has one."""
    if is_pause(w.frames[port.control_head]):
        return port.free_at
    return max(port.free_at, port.paused_until)


@inlined
def flow_departure(port: Port, lane: Lane) -> int:
    """Time at which a ready flow of a lane may send (ps)."""
    return max(port.free_at, port.paused_until, lane.paused_until)


@inlined
def queue_departure(port: Port, lane: Lane) -> int:
    """Time at which the first frame of a lane's queue may leave (ps): the service rate holds it
    back, too."""
    return max(flow_departure(port, lane), port.next_service)


@inlined
def next_departure(w: World, port: Port, lane: Lane) -> int:
    """Time at which the next data frame of a lane may leave (ps); NEVER if it has none."""
    if lane.ready_head != NONE:
        return flow_departure(port, lane)
    if lane.queue != NONE and w.queues[lane.queue].frames > 0:
        return queue_departure(port, lane)
    return NEVER
