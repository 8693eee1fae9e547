"""802.3x PAUSE frames: MAC control, opcode 1, a 16-bit time in quanta of 512 bit times."""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import UNKNOWN, index_of_mac, mac_of
from orchestrator.engine.frames.blank import blank
from orchestrator.engine.frames.octets import get16, get48, put16, put48
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import NONE, PAUSE


@compiled
def encode_pause(frame, octets):  # type: ignore[no-untyped-def]
    """Write a PAUSE frame, 60 octets with its padding; 0 when its length is shorter."""
    if frame.length < at.MINIMUM:
        return 0
    put48(octets, 0, at.PAUSE_ADDRESS)
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put16(octets, at.PAUSE_TYPE_AT, at.MAC_CONTROL_TYPE)
    put16(octets, at.PAUSE_OPCODE_AT, at.PAUSE_OPCODE)
    put16(octets, at.PAUSE_QUANTA_AT, min(max(frame.feedback, 0), 0xFFFF))
    octets[at.PAUSE_HEADER : at.MINIMUM] = 0
    return at.MINIMUM


@compiled
def decode_pause(octets, length, frame):  # type: ignore[no-untyped-def]
    """Fill a descriptor from a MAC control frame. False when it is not a PAUSE of ours."""
    source = index_of_mac(get48(octets, at.SOURCE_MAC))
    if source == UNKNOWN or get48(octets, 0) != at.PAUSE_ADDRESS:
        return False
    if get16(octets, at.PAUSE_OPCODE_AT) != at.PAUSE_OPCODE:
        return False
    blank(frame, PAUSE, length, 0, NONE, source, NONE)
    frame.feedback = get16(octets, at.PAUSE_QUANTA_AT)
    return True
