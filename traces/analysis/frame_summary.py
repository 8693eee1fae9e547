"""Frame summary packed in one int64: the flow's row, ECN, kind, offset of the payload.

From bit 0 on: the row (32 bits), the ECN code point (2), whether it has a number of TCP (1),
whether it may have room for stamps (1), the kind (5), and where the transport header begins (20).
Numbers below 0 say that there is no such row.
"""

from __future__ import annotations

from orchestrator.engine.jit import inlined

UNCACHED = -1
"""No summary yet: the frame has to be dissected."""
FULL = -2
"""The table of flows has to grow first."""
CONTROL = -3
"""A control frame: CONTROL - kind."""
ROW_BITS, ECN_AT, TCP_AT, STAMP_SPACE_AT, KIND_AT, OFFSET_AT = 32, 32, 34, 35, 36, 41
ROW = (1 << ROW_BITS) - 1
KINDS = (1 << (OFFSET_AT - KIND_AT)) - 1
OFFSETS = (1 << 20) - 1


@inlined
def pack_flow(row, kind):
    """Fields that all frames of a flow share."""
    return row | (kind << KIND_AT)


@inlined
def pack_frame(flow, ecn, tcp, room, place):
    """Add the fields of one frame; `tcp` and `room` are 0 or 1, `place` counts from its begin."""
    return (
        flow | (ecn << ECN_AT) | (tcp << TCP_AT) | (room << STAMP_SPACE_AT) | (place << OFFSET_AT)
    )
