"""Frames leave a delay line: into the peer of this world, or into the outbox of a wire; or another
world has copies of them for the peer (`engine.parallel`), and here they end.

A frame that reaches a sink has no effect there but that it is counted. Such a line has patience:
it wakes once for many frames and hands each over as of the instant it was due; before anything is
sampled, what was due by then is handed over too. So every sample is what it would be with a wake
for each frame, for a fraction of the work.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.delay_line import leave_line, schedule_line
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.fault_injection import drop_corrupted
from orchestrator.engine.node.frame_capture import capture
from orchestrator.engine.node.lane_flow_control import count_pause
from orchestrator.engine.node.lazy_egress import sync_all_egress
from orchestrator.engine.node.lazy_nic import is_frame_due, run_all_local_timers
from orchestrator.engine.node.local_timers import schedule_next_arrival
from orchestrator.engine.node.port_scheduler import disable_lazy_port
from orchestrator.engine.node.receive_path import receive
from orchestrator.engine.records import CORRUPTED, ELSEWHERE, NONE

LEAST_INTERVAL_PS = 64_000_000
"""Some five full frames at 1 Gb/s; what waits meanwhile takes descriptors."""


@compiled
def deliver_due_frames(w, port_index, until):
    """Give the peer every frame that was due by `until`, each at its own instant."""
    port = w.ports[port_index]
    while port.line_head != NONE and w.frames[port.line_head].due <= until:
        index = leave_line(w, port_index)
        receive(w, port.peer, index, w.frames[index].due)
    schedule_line(w, port_index)


@compiled
def sync_counters(w, now):
    """Bring the counts up to `now`: what late ports and NICs have sent, frames due in lines that
    have patience, time under PAUSE. The last comes behind all the others: a frame of a line that
    has patience may be a PAUSE, and acts at the instant it was due."""
    sync_all_egress(w, now - 1)
    run_all_local_timers(w, now - 1)
    for port_index in range(w.ports.size):
        if w.ports[port_index].patience > 0:
            deliver_due_frames(w, port_index, now - 1)
    for port_index in range(w.ports.size):
        count_pause(w, port_index, now)


@compiled
def disable_laziness(w, port_index, now):
    """From now on a port sends each frame when it can, and its line hands it over when it is due.

    What was due before is handed over now, and the line wakes for the first of the others.
    """
    port = w.ports[port_index]
    if port.entries != 0:
        return  # it minds whatever is changed as it is
    disable_lazy_port(w, port_index, now)
    deliver_due_frames(w, port_index, now - 1)
    port.patience = 0
    port.ahead = 0
    schedule_line(w, port_index)


@inlined
def deliver_from_line(w, port_index, now):
    """The delay line of a port is due."""
    port = w.ports[port_index]
    if port.patience > 0:
        deliver_due_frames(w, port_index, now)
        return
    if port.entries == 0:
        index = leave_line(w, port_index)
        schedule_line(w, port_index)
    elif is_frame_due(w, port_index, now):
        index = leave_line(w, port_index)
        schedule_next_arrival(w, port_index)
    else:
        return
    if port.injector != 0 and w.frames[index].port == CORRUPTED:
        drop_corrupted(w, port_index, index)
    elif port.wire == NONE:
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
