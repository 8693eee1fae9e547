"""Parallel simulation of one run in several worlds: each drives nodes of its own, window by window,
and exchanges the frames that leave them between windows.

Every world has the rows of all nodes. A port whose far end another world drives (a *cut* one) keeps
its frames in its own line, where they take room until they are due, and a copy of each goes into
the same line of that other world, which hands it to the far end. A frame is due no sooner than the
link's delay after it was sent; so while a window is no longer than the least delay of the cut
ports, all that is due in a window is known at its beginning (conservative lookahead: Chandy and
Misra, 1979; windows between barriers: Nicol, 1993).

Actors have the same numbers in every world, and of equal times the lower number is first: each node
meets its events in the order in which one world alone would have brought them.

Boxes are written in one window and read in the next, when others are written. No lock is needed: a
thread waits until all have come to the end of the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.compile_options import LINE_WORDS
from orchestrator.engine.datapath.libc import errno_location, sched_yield
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.actors import line_actor
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.node.event_loop import simulate_lazily
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.event_sync import sync_until
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import FRAME, NEVER, NONE

PORT, FROM, TO = range(3)
"""Of a cut: the port's row, the world that drives it, the world that drives its far end."""
INDEX, DUE = range(2)
"""Of the last frame that was copied out of a cut port's line: its descriptor, when it is due."""
TURN, BEGIN = range(2)
"""Of a thread: how many windows it has done, when the next one begins (ps)."""
DONE_TURNS, SOONEST_EVENT = range(2)
"""Of what a thread shows the others: windows done; from there on, by parity of the window, when
anything can happen next (ps)."""
SPINS = 1 << 10
"""Polls of the other threads before the core is yielded."""

MORE, ENDED, STOPPED, FULL = range(4)
"""Why `simulate_windows` returned: it did what it was asked for; the run is over; `stop` was set; a
box has no room, which is an error of their layout."""


class Boxes(NamedTuple):
    """Exchange buffers between the threads of a run; `t` of them, `n` the most frames from one to
    another in a window."""

    progress: np.ndarray  # int64[t, LINE_WORDS]: what a thread writes has a cache line of its own
    stop: np.ndarray  # int64[1]: 1: leave
    cuts: np.ndarray  # int64[c, 3]
    copied: np.ndarray  # int64[c, 2]
    frames: np.ndarray  # FRAME[2, t, t, n]: by parity, from, to
    ports: np.ndarray  # int64[2, t, t, n]: whose line they go into
    stamps: np.ndarray  # int64[2, t, t, n, words]; a single row where the plan has none
    counts: np.ndarray  # int64[2, t, t]


def new_boxes(threads: int, cuts: np.ndarray, room: int, stamps: int) -> Boxes:
    """Empty ones for `room` frames each, with `stamps` words of stamps (0: none)."""
    copied = np.full((len(cuts), 2), NONE, np.int64)
    shape = (2, threads, threads, room)
    return Boxes(
        progress=np.zeros((threads, LINE_WORDS), np.int64),
        stop=np.zeros(1, np.int64),
        cuts=cuts,
        copied=copied,
        frames=np.zeros(shape, FRAME).view(np.recarray),
        ports=np.zeros(shape, np.int64),
        stamps=np.zeros((*shape, stamps) if stamps else (1, 1, 1, 1, 1), np.int64),
        counts=np.zeros(shape[:3], np.int64),
    )


@compiled
def send_to_boxes(w: World, me: int, boxes: Boxes, parity: int, reached: int) -> bool:
    """Copy what was sent through cut ports since the last time; False when a box is full.

    What was due before `reached` has left the lines.
    """
    for other in range(boxes.counts.shape[2]):
        boxes.counts[parity, me, other] = 0
    for row in range(boxes.cuts.shape[0]):
        if boxes.cuts[row, FROM] != me:
            continue
        port_index, other = boxes.cuts[row, PORT], boxes.cuts[row, TO]
        index = w.ports[port_index].line_head
        if boxes.copied[row, DUE] >= reached:
            index = w.frames[boxes.copied[row, INDEX]].next
        while index != NONE:
            k = boxes.counts[parity, me, other]
            if k == boxes.frames.shape[3]:
                return False
            frame = w.frames[index]
            boxes.frames[parity, me, other, k] = frame
            boxes.ports[parity, me, other, k] = port_index
            if w.stamps.shape[0] > 1:
                for word in range(w.stamps.shape[1]):
                    boxes.stamps[parity, me, other, k, word] = w.stamps[index, word]
            boxes.counts[parity, me, other] = k + 1
            boxes.copied[row, INDEX] = index
            boxes.copied[row, DUE] = frame.due
            index = frame.next
    return True


@compiled
def receive_from_boxes(w: World, me: int, boxes: Boxes, parity: int) -> None:
    """Put what others have sent to nodes of this world into the lines that lead to them."""
    for other in range(boxes.counts.shape[1]):
        for k in range(boxes.counts[parity, other, me]):
            index = take(w)
            if index == NONE:
                continue
            w.frames[index] = boxes.frames[parity, other, me, k]
            if w.stamps.shape[0] > 1:
                for word in range(w.stamps.shape[1]):
                    w.stamps[index, word] = boxes.stamps[parity, other, me, k, word]
            frame = w.frames[index]
            frame.next = NONE
            port_index = boxes.ports[parity, other, me, k]
            port = w.ports[port_index]
            if port.line_head == NONE:
                port.line_head = index
                wake_at(w, line_actor(w, port_index), frame.due)
            else:
                w.frames[port.line_tail].next = index
            port.line_tail = index
            port.line_bytes += frame.length


@compiled
def wait_for_all(boxes: Boxes, turns: int) -> bool:
    """Until every thread has done so many windows; False when the run is stopped meanwhile."""
    spins = 0
    while True:
        slowest = turns
        for thread in range(boxes.progress.shape[0]):
            slowest = min(slowest, boxes.progress[thread, DONE_TURNS])
        if slowest >= turns:
            return True
        if boxes.stop[0] != 0:
            return False
        spins += 1
        if spins % SPINS == 0:
            sched_yield()
        else:
            errno_location()  # a call that is not looked into: what others write is read anew


@compiled
def simulate_windows(
    w: World, me: int, boxes: Boxes, state: np.ndarray, window: int, until: int, windows: int
) -> int:
    """Carry out so many windows of `window` ps, or all up to `until` (ps, exclusive).

    `state` int64[2] is this thread's own, zeros at first. Every thread of the run is to be asked
    for as many, at about the same time. Returns MORE, ENDED, STOPPED or FULL.
    """
    for _ in range(windows):
        begin, turn = state[BEGIN], state[TURN]
        if begin >= until:
            sync_until(w, until)
            return ENDED
        parity = turn & 1
        end = min(begin + window, until)
        receive_from_boxes(w, me, boxes, 1 - parity)
        simulate_lazily(w, end, NEVER)  # cut ports are never late
        if not send_to_boxes(w, me, boxes, parity, end):
            boxes.stop[0] = 1
            return FULL
        # what was copied is due in this world's lines, too: its next event is not behind that
        boxes.progress[me, SOONEST_EVENT + parity] = w.tree[1, 0]
        boxes.progress[me, DONE_TURNS] = turn + 1
        if not wait_for_all(boxes, turn + 1):
            return STOPPED
        soonest = NEVER
        for thread in range(boxes.progress.shape[0]):
            soonest = min(soonest, boxes.progress[thread, SOONEST_EVENT + parity])
        state[BEGIN] = max(end, soonest)  # nothing happens anywhere before
        state[TURN] = turn + 1
    return MORE
