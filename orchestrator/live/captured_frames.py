"""Captured frames near an instant, read while the run's loop goes on.

They are copied from the memory of the run; the caller decodes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.live.feed_messages import CapturedFrame


def captured_near(assemblies: Sequence[Assembly], time_ps: int, most: int) -> list[CapturedFrame]:
    """The `most` frames nearest to a time (ps) at all ports that are captured, in order of time.

    The loop counts a frame before it has written all of it, so the last frame of each port is
    left out.
    """
    found = []
    for assembly in assemblies:
        world = assembly.world
        for slot, entity in enumerate(assembly.capture_ports):
            whole = max(int(world.capture_count[slot, 0]) - 1, 0)
            times = world.capture_times[slot, :whole]
            place = int(np.searchsorted(times, time_ps))
            for row in range(max(place - most, 0), min(place + most, whole)):
                found.append((abs(int(times[row]) - time_ps), assembly, slot, entity, row))
    nearest = sorted(found, key=lambda one: one[0])[:most]
    frames = [_copied(assembly, slot, entity, row) for _, assembly, slot, entity, row in nearest]
    return sorted(frames, key=lambda frame: frame.time_ps)


def _copied(assembly: Assembly, slot: int, entity: str, row: int) -> CapturedFrame:
    world = assembly.world
    signed_length = int(world.capture_lengths[slot, row])
    length = ~signed_length if signed_length < 0 else signed_length
    octets = world.capture_octets[slot, row, : min(length, world.capture_octets.shape[2])]
    return CapturedFrame(
        port=entity,
        time_ps=int(world.capture_times[slot, row]),
        outgoing=signed_length < 0,
        length=length,
        octets=octets.tobytes().hex(),
    )
