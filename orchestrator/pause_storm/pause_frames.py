"""The two frames of a hold: PAUSE or PFC with quanta, and the same with quanta 0."""

from __future__ import annotations

import struct

import numpy as np

from orchestrator.engine.frames import frame_layout as at

LENGTH = at.MINIMUM
HOLDS, LETS_GO = range(2)


def frames_of(mac: str, priorities: tuple[int, ...] | None, quanta: int) -> np.ndarray:
    """uint8[2, 60] without FCS: PFC for some priorities, or 802.3x PAUSE where they are None.

    `mac` is the sender's, as in 02:00:00:00:00:01.
    """
    head = at.PAUSE_ADDRESS.to_bytes(6) + bytes.fromhex(mac.replace(":", ""))
    head += struct.pack("!H", at.MAC_CONTROL_TYPE)
    found = np.zeros((2, LENGTH), np.uint8)
    for row, each in ((HOLDS, quanta), (LETS_GO, 0)):
        if priorities is None:
            body = struct.pack("!HH", at.PAUSE_OPCODE, each)
        else:
            vector = sum(1 << priority for priority in set(priorities))
            times = [each if priority in priorities else 0 for priority in range(8)]
            body = struct.pack("!HH8H", at.PFC_OPCODE, vector, *times)
        found[row, : len(head + body)] = np.frombuffer(head + body, np.uint8)
    return found
