"""Calls of the algorithms' kernels on their instances, by the event of `engine.events`.

Where an algorithm has a state per flow, a frame's kernels get that of the frame's flow; state 0 is
that of frames without one, and of what happens without a frame.
"""

from __future__ import annotations

from orchestrator.engine.index_types import InstanceIndex
from orchestrator.engine.jit import call_kernel, inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import Frame, Record


@inlined
def call_frame_kernel(
    w: World,
    instance: InstanceIndex,
    event: int,
    entity: Record,
    frame: Frame,
    now: int,
    message: Frame,
) -> int:
    """Call the instance's kernel for an event that has a frame; 0 when it has none for it."""
    i = w.instances[instance]
    kernel = i.kernels[event]
    if kernel == 0:
        return 0
    state = i.state + i.stride * (frame.flow + 1)
    return call_kernel(kernel, state, i.params, entity, frame, now, message)


@inlined
def call_time_kernel(
    w: World,
    instance: InstanceIndex,
    event: int,
    entity: Record,
    frame: Frame,
    now: int,
    message: Frame,
) -> int:
    """Call the instance's kernel for an event without a frame; 0 when it has none for it."""
    i = w.instances[instance]
    kernel = i.kernels[event]
    if kernel == 0:
        return 0
    return call_kernel(kernel, i.state, i.params, entity, frame, now, message)
