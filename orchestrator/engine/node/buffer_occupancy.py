"""Buffer cells: which frame occupies which cell, so that occupancy can be sampled at random.

The buffer's memory is divided into units of 256 octets; a frame takes as many as it needs, wherever
one is free (IBM input-buffered QCN, section VI: the CulpritArray). Only buffers that are sampled
by occupancy keep them.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE, Frame, Queue


@inlined
def occupy_octets(queue: Queue, frame: Frame, now: int) -> None:
    """A frame is in a queue or a buffer from now on."""
    queue.frames += 1
    queue.bytes += frame.length
    queue.bytes_max = max(queue.bytes_max, queue.bytes)
    frame.entered = now


@inlined
def release_octets(queue: Queue, octets: int) -> None:
    """A frame of so many octets is not in a queue or a buffer any more."""
    queue.bytes -= octets
    queue.frames -= 1
    queue.bytes_out += octets
    queue.frames_out += 1
    if queue.frames == 0:
        queue.emptied += 1


UNIT_OCTETS = 256


@compiled
def allocate_cells(w: World, queue: Queue, index: FrameIndex) -> None:
    """Give a frame the units that it needs."""
    frame = w.frames[index]
    need = (frame.length + UNIT_OCTETS - 1) // UNIT_OCTETS
    frame.unit = queue.free_unit
    unit = queue.free_unit
    last = unit
    for _ in range(need):
        w.units[unit, 0] = index
        last = unit
        unit = w.units[unit, 1]
    w.units[last, 1] = NONE
    queue.free_unit = unit


@compiled
def free_cells(w: World, queue: Queue, index: FrameIndex) -> None:
    """Take a frame out of its units."""
    frame = w.frames[index]
    unit = frame.unit
    last = unit
    while unit != NONE:
        w.units[unit, 0] = NONE
        last = unit
        unit = w.units[unit, 1]
    w.units[last, 1] = queue.free_unit
    queue.free_unit = frame.unit
    frame.unit = NONE


@compiled
def random_frame(w: World, queue: Queue, searches: int) -> FrameIndex:
    """The frame in a unit that is drawn at random until an occupied one is hit; NONE: all free.

    After so many `searches` (0: no bound) the units that follow the last one drawn are looked
    through instead, as that hardware does; frames behind free units are then more likely.
    """
    if queue.frames == 0 or queue.units == 0:
        return NONE
    unit = 0
    done = 0
    while searches == 0 or done < searches:
        queue.lfsr = lfsr_next(queue.lfsr)
        unit = (queue.lfsr * queue.units) >> 32
        if w.units[queue.first_unit + unit, 0] != NONE:
            return w.units[queue.first_unit + unit, 0]
        done += 1
    while w.units[queue.first_unit + unit, 0] == NONE:
        unit += 1
        if unit == queue.units:
            unit = 0
    return w.units[queue.first_unit + unit, 0]


@compiled
def frame_of_largest_source(w: World, queue: Queue) -> FrameIndex:
    """A frame of the source that occupies the most octets; NONE: all units are free.

    Of equals the one that is found first, from the first unit on.
    """
    most = 0
    found = NONE
    for unit in range(queue.first_unit, queue.first_unit + queue.units):
        index = w.units[unit, 0]
        if index != NONE and w.frames[index].unit == unit:
            source = w.frames[index].source
            w.tally[source] += w.frames[index].length
            if w.tally[source] > most:
                most = w.tally[source]
                found = index
    for unit in range(queue.first_unit, queue.first_unit + queue.units):
        index = w.units[unit, 0]
        if index != NONE:
            w.tally[w.frames[index].source] = 0
    return found
