"""Priority flow control (IEEE 802.1Qbb): MAC control, opcode 0x0101, a time for each priority.

In a descriptor bit n of `mark` enables priority n; the quanta of priorities 0 and 1 lie in
`feedback`, 2 and 3 in `offset`, 4 and 5 in `delta`, 6 and 7 in `inner`, 16 bits each, the smaller
priority in the lower ones.
"""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import UNKNOWN, index_of_mac, mac_of
from orchestrator.engine.frames.blank import blank
from orchestrator.engine.frames.octets import get16, get48, put16, put48
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import NONE, PFC

PRIORITIES = 8


@compiled
def quanta_of(frame, priority):  # type: ignore[no-untyped-def]
    """The quanta of a priority."""
    if priority < 2:
        word = frame.feedback
    elif priority < 4:
        word = frame.offset
    elif priority < 6:
        word = frame.delta
    else:
        word = frame.inner
    return (word >> (16 * (priority & 1))) & 0xFFFF


@compiled
def set_quanta(frame, priority, quanta):  # type: ignore[no-untyped-def]
    """Set the quanta of a priority, at most 65 535."""
    shift = 16 * (priority & 1)
    keep = 0xFFFF << (16 - shift)
    value = min(max(quanta, 0), 0xFFFF) << shift
    if priority < 2:
        frame.feedback = (frame.feedback & keep) | value
    elif priority < 4:
        frame.offset = (frame.offset & keep) | value
    elif priority < 6:
        frame.delta = (frame.delta & keep) | value
    else:
        frame.inner = (frame.inner & keep) | value


@compiled
def encode_pfc(frame, octets):  # type: ignore[no-untyped-def]
    """Write a PFC frame, 60 octets with its padding; 0 when its length is shorter."""
    if frame.length < at.MINIMUM:
        return 0
    put48(octets, 0, at.PAUSE_ADDRESS)
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put16(octets, at.PAUSE_TYPE_AT, at.MAC_CONTROL_TYPE)
    put16(octets, at.PAUSE_OPCODE_AT, at.PFC_OPCODE)
    put16(octets, at.PFC_VECTOR_AT, frame.mark & 0xFF)
    for priority in range(PRIORITIES):
        put16(octets, at.PFC_QUANTA_AT + 2 * priority, quanta_of(frame, priority))
    octets[at.PFC_HEADER : at.MINIMUM] = 0
    return at.MINIMUM


@compiled
def decode_pfc(octets, length, frame):  # type: ignore[no-untyped-def]
    """Fill a descriptor from a MAC control frame. False: no PFC of an emulated node."""
    source = index_of_mac(get48(octets, at.SOURCE_MAC))
    if source == UNKNOWN or get48(octets, 0) != at.PAUSE_ADDRESS:
        return False
    if get16(octets, at.PAUSE_OPCODE_AT) != at.PFC_OPCODE:
        return False
    blank(frame, PFC, length, 0, NONE, source, NONE)
    frame.inner = 0
    frame.mark = get16(octets, at.PFC_VECTOR_AT) & 0xFF
    for priority in range(PRIORITIES):
        set_quanta(frame, priority, get16(octets, at.PFC_QUANTA_AT + 2 * priority))
    return True
