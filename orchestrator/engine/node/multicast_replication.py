"""Multicast replication: one copy of a frame for each port that it leaves a switch by.

At an input a frame is sampled once and has room once, which is free when the last copy has left
(IBM input-buffered QCN, section III.A: every multicast frame is sampled on par with unicast
frames); before an output every copy counts by itself.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, NodeIndex, range
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.telemetry_stamping import copy_stamps
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE


@compiled
def copy_of(w: World, node_index: NodeIndex, index: FrameIndex) -> FrameIndex:
    """Another descriptor of the same frame, with its octets where there are any; or NONE."""
    other = take(w)
    if other == NONE:
        return NONE
    w.frames[other] = w.frames[index]
    copy_stamps(w, index, other)
    w.nodes[node_index].copied += 1
    if w.octets.shape[0] > 1:
        for place in range(min(w.frames[index].length, w.octets.shape[1])):
            w.octets[other, place] = w.octets[index, place]
    return other


@compiled
def deliver_copy(w: World, node_index: NodeIndex, index: FrameIndex) -> None:
    """A member of a group received a frame: count it as that member's."""
    frame = w.frames[index]
    flow = w.flows[frame.flow]
    for row in range(flow.first_copy, flow.first_copy + flow.copies):
        member = w.flows[row]
        if member.node == node_index:
            member.frames_received += 1
            member.bytes_received += frame.length
            if frame.sequence < member.latest:
                member.frames_reordered += 1
            else:
                member.latest = frame.sequence + 1
    w.clock[0].delivered += 1
    give_back(w, index)
