"""Pool of frame descriptors. It has room for the most that a plan can need, and takes memory for
those that were in use at once.

A descriptor is handed out again as soon as it was given back; a new one only while none is unused
that was in use before. So the array is used from its beginning, up to `clock.frames_used` (the
high-water mark); what lies beyond was never read or written, and the system backs it with no memory
(`engine.reserved_memory`). `w.free` is a stack of those that were given back, and grows likewise.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex
from orchestrator.engine.jit import inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE


@inlined
def take(w: World) -> FrameIndex:
    """The index of an unused descriptor, or NONE (counted) when the pool is empty."""
    clock = w.clock[0]
    if clock.free == 0:
        index = clock.frames_used
        if index == w.free.size:
            clock.no_descriptor += 1
            return NONE
        clock.frames_used = index + 1
        return index
    clock.free -= 1
    return w.free[clock.free]


@inlined
def give_back(w: World, index: FrameIndex) -> None:
    """Return a descriptor that is in no list."""
    clock = w.clock[0]
    w.free[clock.free] = index
    clock.free += 1


def unused_descriptors(world: World) -> int:
    """How many can be taken before the pool is empty."""
    clock = world.clock[0]
    return int(clock.free + len(world.free) - clock.frames_used)
