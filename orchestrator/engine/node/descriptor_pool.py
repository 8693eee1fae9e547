"""Pool of frame descriptors, allocated once."""

from __future__ import annotations

from orchestrator.engine.jit import inlined
from orchestrator.engine.records import NONE


@inlined
def take(w):
    """The index of an unused descriptor, or NONE (counted) when the pool is empty."""
    clock = w.clock[0]
    if clock.free == 0:
        clock.no_descriptor += 1
        return NONE
    clock.free -= 1
    return w.free[clock.free]


@inlined
def give_back(w, index):
    """Return a descriptor that is in no list."""
    clock = w.clock[0]
    w.free[clock.free] = index
    clock.free += 1
