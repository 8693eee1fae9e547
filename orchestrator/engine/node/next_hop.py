"""Next hop of a frame: the output port towards its destination, or one of several (ECMP).

A switch that spreads takes one of the shortest ways for each flow, by a hash of its addresses and
of the path entropy that a frame's source gave it, or for each frame, at random (packet spraying:
IBM input-buffered QCN, section II.A).
"""

from __future__ import annotations

from orchestrator.engine.frames.address_index import row_of
from orchestrator.engine.index_types import NodeIndex, PortIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    COPY,
    DATA,
    ENTROPY_BITS,
    LOCAL_DELIVERY,
    NONE,
    PORT_SETS,
    SPREAD_FRAMES,
    TRIMMED,
    Frame,
)

MIX = 0x9E3779B1
"""2^32 over the golden ratio: neighbouring numbers come out far apart (multiplicative hashing)."""
MIX_ENTROPY = 0x85EBCA6B
"""Another odd number, for the entropy."""
LOW_32 = 0xFFFFFFFF


@inlined
def output_port(w: World, node_index: NodeIndex, frame: Frame) -> PortIndex:
    """A port; NONE without a route; what is below NONE is a row of the ways, for a copy each."""
    address = row_of(frame.destination)
    way = w.routes[node_index, w.behind[address, 0]]
    if way >= NONE:
        return way
    if way == LOCAL_DELIVERY:
        return w.behind[address, 1]
    return spread_port(w, node_index, way, frame)


@compiled
def spread_port(w: World, node_index: NodeIndex, way: PortIndex, frame: Frame) -> PortIndex:
    """One of several ways to spread over; `way` itself where all of them are to be taken."""
    row = PORT_SETS - way
    count = w.ways[row, 1]
    if w.ways[row, 0] == COPY:
        return way
    if w.ways[row, 0] == SPREAD_FRAMES:
        node = w.nodes[node_index]
        node.lfsr = lfsr_next(node.lfsr)
        return w.ways[row, 2 + ((node.lfsr * count) >> 32)]
    key = (frame.source * MIX + frame.destination) & LOW_32
    if frame.inner != NONE and (frame.kind == DATA or frame.kind == TRIMMED):
        entropy = (frame.inner + 1) & ((1 << ENTROPY_BITS) - 1)
        key = (key + entropy * MIX_ENTROPY) & LOW_32
    key = ((key ^ node_index) * MIX) & LOW_32
    key = ((key ^ (key >> 15)) * MIX) & LOW_32
    return w.ways[row, 2 + ((key * count) >> 32)]
