"""Frames leave a delay line: into the peer of this world, or into the outbox of a wire; or another
world has copies of them for the peer (`engine.parallel`), and here they end.

A frame that reaches a sink has no effect there but that it is counted. Such a line has patience:
it wakes once for many frames and hands each over as of the instant it was due; before anything is
sampled, what was due by then is handed over too. So every sample is what it would be with a wake
for each frame, for a fraction of the work.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, PortIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.channel_stages import is_stopped
from orchestrator.engine.node.delay_line import leave_line, schedule_line
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.frame_capture import capture
from orchestrator.engine.node.lazy_nic import (
    reschedule_port,
    sync_arrival,
    take_due_frame,
)
from orchestrator.engine.node.receive_path import handle_arrival
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CORRUPTED, DATA, ELSEWHERE, NONE

LEAST_INTERVAL_PS = 64_000_000
"""Some five full frames at 1 Gb/s; what waits meanwhile takes descriptors."""


@compiled
def receive_synced(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """`receive` a frame that is not data: what it acts on is synced before, rescheduled after."""
    synced = sync_arrival(w, port_index, index, now)
    handle_arrival(w, port_index, index, now)
    if synced != NONE:
        reschedule_port(w, synced)


@compiled
def receive(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """Hand a frame that arrived whole at `port_index` to its node."""
    if w.frames[index].kind == DATA:
        handle_arrival(w, port_index, index, now)
    else:
        receive_synced(w, port_index, index, now)


@compiled
def deliver_due_frames(w: World, port_index: PortIndex, until: int) -> None:
    """Give the peer every frame that was due by `until`, each at its own instant."""
    port = w.ports[port_index]
    while port.line_head != NONE and w.frames[port.line_head].due <= until:
        index = leave_line(w, port_index)
        receive(w, port.peer, index, w.frames[index].due)
    schedule_line(w, port_index)


@inlined
def deliver_from_line(w: World, port_index: PortIndex, now: int) -> None:
    """The delay line of a port is due."""
    port = w.ports[port_index]
    if port.patience > 0:
        deliver_due_frames(w, port_index, now)
        return
    if port.entries == 0:
        index = leave_line(w, port_index)
        schedule_line(w, port_index)
    else:
        index = take_due_frame(w, port_index, now)
        if index == NONE:
            return
    if (
        port.injector != 0
        and w.frames[index].port <= CORRUPTED
        and is_stopped(w, port_index, index, now)
    ):
        return
    if port.wire == NONE:
        capture(w, port_index, index, now, True)
        capture(w, port.peer, index, now, False)
        receive(w, port.peer, index, now)
    elif port.wire == ELSEWHERE:
        capture(w, port_index, index, now, True)
        give_back(w, index)
    else:
        count = w.outbox_count[port.wire]
        w.outbox[port.wire, count] = index
        w.outbox_count[port.wire] = count + 1
