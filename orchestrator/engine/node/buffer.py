"""Frames go into and out of a buffer: counts, units, and the algorithms that watch it."""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message
from orchestrator.engine.index_types import FrameIndex, QueueIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_answers import (
    DROP,
    FORWARD,
    LANE,
    NOTIFY_HEAD,
    NOTIFY_LARGEST,
    NOTIFY_RANDOM_UNIT,
    STAMP,
    STAMP_IF_SMALLER,
    TRIM,
)
from orchestrator.engine.kernel_events import CP_ARRIVAL, CP_DEPARTURE, PAUSE_DEQUEUE, PAUSE_ENQUEUE
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.actors import queue_actor
from orchestrator.engine.node.buffer_occupancy import (
    allocate_cells,
    frame_of_largest_source,
    free_cells,
    occupy_octets,
    random_frame,
    release_octets,
)
from orchestrator.engine.node.control_frames import send_feedback, send_pause
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.latency_histogram import latency_bin
from orchestrator.engine.node.telemetry_stamping import stamp
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    CE,
    CNM,
    DATA,
    ECT0,
    ECT1,
    HOST,
    NONE,
    PAUSE,
    TRIMMED,
    Frame,
    Queue,
)

MARK_BITS = 0xFF
"""A mark is a TOS octet, which has no more."""


@compiled
def schedule_queue(w: World, queue_index: QueueIndex) -> None:
    """Let the queue wake for the timers that its algorithms have set."""
    queue = w.queues[queue_index]
    wake_at(
        w,
        queue_actor(w, queue_index),
        min(queue.congestion_point_timer, queue.pause_timer, queue.watchdog_timer),
    )


@compiled
def notify_chosen_source(
    w: World, queue_index: QueueIndex, notified: int, index: FrameIndex, head: FrameIndex, now: int
) -> None:
    """Send the message under construction for the frame that a kernel has chosen.

    `index` is the frame at hand and `head` the first one of its queue; either may be NONE.
    """
    culprit = index
    if notified == NOTIFY_HEAD and head != NONE:
        culprit = head
    elif notified in (NOTIFY_RANDOM_UNIT, NOTIFY_LARGEST):
        queue = w.queues[queue_index]
        message = w.frames[w.frames.size - 1]
        held = (
            random_frame(w, queue, message.mark)
            if notified == NOTIFY_RANDOM_UNIT
            else frame_of_largest_source(w, queue)
        )
        if held != NONE:
            culprit = held
    if culprit != NONE:
        send_feedback(w, queue_index, culprit, now)


@compiled
def count_mark(w: World, queue: Queue, frame: Frame, before: int) -> None:
    """The mark of a frame, `before`, was changed at a queue: its DSCP stays where that says the
    priority."""
    frame.mark &= MARK_BITS
    if w.nodes[w.ports[queue.port].node].classifier != 0:
        frame.mark = (before & ~CE) | (frame.mark & CE)
    queue.frames_marked += 1


@compiled
def count_marking(w: World, row: int, queue: Queue, frame: Frame, mark: int) -> None:
    """Count a frame in the histograms of its queue's length: that a congestion point saw it, that
    it could have got an ECN mark, that its `mark` was changed (assembly.marking_histograms)."""
    place = latency_bin(queue.bytes)
    w.latency[row, place] += 1
    if mark & CE == ECT0 or mark & CE == ECT1:
        w.latency[row + 1, place] += 1
    if frame.mark != mark:
        w.latency[row + 2, place] += 1


@compiled
def is_trimmable(w: World, frame: Frame) -> bool:
    """True if a frame can be cut to its header: a longer data frame to one node."""
    if frame.kind != DATA or frame.length <= w.types[TRIMMED].octets or frame.flow == NONE:
        return False
    return w.flows[frame.flow].copies == 0


@compiled
def can_change_lane(w: World, queue_index: QueueIndex, frame: Frame, priority: int) -> bool:
    """True if a priority has another lane, and the frame a DSCP or tag that can carry it."""
    queue = w.queues[queue_index]
    if priority > 7 or queue.input != NONE or (queue.priorities >> priority) & 1 == 1:
        return False
    if w.nodes[w.ports[queue.port].node].classifier != 0:
        return w.types[frame.kind].is_ip != 0
    return w.types[frame.kind].pcp_tags > 0 or frame.kind == HOST


@inlined
def call_arrival_kernel(
    w: World, queue_index: QueueIndex, index: FrameIndex, head: FrameIndex, now: int
) -> int:
    """The congestion point of a queue sees a data frame that comes.

    Returns DROP, TRIM or LANE + priority when that is what becomes of it, else FORWARD. `head` is
    the first frame of its queue; NONE. The caller saw that there is such a point.
    """
    queue = w.queues[queue_index]
    frame = w.frames[index]
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, CNM)
    mark = frame.mark
    answer = kernel_calls.call_frame_kernel(
        w, queue.congestion_point, CP_ARRIVAL, queue, frame, now, spare
    )
    if queue.marks_arriving != 0:
        count_marking(w, queue.marks_arriving, queue, frame, mark)
    if frame.mark != mark:
        count_mark(w, queue, frame, mark)
    if answer == FORWARD:
        return FORWARD
    if answer == DROP:
        return DROP
    if answer == TRIM:
        return TRIM if is_trimmable(w, frame) else FORWARD
    if answer >= LANE:
        return answer if can_change_lane(w, queue_index, frame, answer - LANE) else FORWARD
    notify_chosen_source(w, queue_index, answer, index, head, now)
    return FORWARD


@inlined
def enter_buffer(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> None:
    """A frame takes its room; the caller saw that there is some, and keeps the frame's list."""
    queue = w.queues[queue_index]
    frame = w.frames[index]
    occupy_octets(queue, frame, now)
    if queue.units > 0:
        allocate_cells(w, queue, index)
    if queue.pause != NONE:
        spare = w.frames[w.frames.size - 1]
        clear_message(spare, PAUSE)
        if (
            kernel_calls.call_frame_kernel(w, queue.pause, PAUSE_ENQUEUE, queue, frame, now, spare)
            != 0
        ):
            send_pause(w, queue_index, now)
    if queue.congestion_point_timer != queue.pause_timer:
        schedule_queue(w, queue_index)


@inlined
def leave_buffer(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> int:
    """A frame gives its room back. Returns True when the congestion point drops it.

    Where its algorithms are calm they have nothing to do for it.
    """
    queue = w.queues[queue_index]
    frame = w.frames[index]
    release_octets(queue, frame.length)
    if queue.units > 0:
        free_cells(w, queue, index)
    if queue.calm > queue.pausing:
        return False
    spare = w.frames[w.frames.size - 1]
    cp, pause = queue.congestion_point, queue.pause
    dropped = False
    if cp != NONE and queue.deaf == 0:
        clear_message(spare, CNM)
        mark = frame.mark
        answer = kernel_calls.call_frame_kernel(w, cp, CP_DEPARTURE, queue, frame, now, spare)
        if queue.marks_leaving != 0:
            count_marking(w, queue.marks_leaving, queue, frame, mark)
        if frame.mark != mark:
            count_mark(w, queue, frame, mark)
        dropped = answer == DROP
        if STAMP <= answer <= STAMP_IF_SMALLER:
            stamp(w, queue.port, index, answer - STAMP, now)
        elif answer != FORWARD and not dropped:
            notify_chosen_source(w, queue_index, answer, index, index, now)
    if pause != NONE:
        clear_message(spare, PAUSE)
        if kernel_calls.call_frame_kernel(w, pause, PAUSE_DEQUEUE, queue, frame, now, spare) != 0:
            send_pause(w, queue_index, now)
    if queue.congestion_point_timer != queue.pause_timer:
        schedule_queue(w, queue_index)
    return dropped
