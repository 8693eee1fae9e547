"""Acknowledgements of a transport, as captures show them: IPv4 and TCP with timestamps, 70 octets.

They are written and never read: transports run on the simulator. The acknowledgement number counts
segments, the timestamps are microseconds, there is no TCP checksum.
"""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import ip_of, mac_of
from orchestrator.engine.frames.data import VERSION_AND_LENGTH, checksum, put_tag
from orchestrator.engine.frames.octets import put16, put32, put48
from orchestrator.engine.jit import compiled

LENGTH = 70
TCP = 38
TTL_AND_TCP = (at.IP_TTL << 8) | 6
OFFSET_AND_ACK, ECHO = 0x8010, 0x40
TIMESTAMPS = 0x0101080A  # two fillers, kind 8, length 10
PS_PER_US = 10**6


@compiled
def encode_ack(frame, octets):  # type: ignore[no-untyped-def]
    """Write an acknowledgement; 0 when its length is another."""
    if frame.length != LENGTH:
        return 0
    put48(octets, 0, mac_of(frame.destination))
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put_tag(octets, frame.priority)
    put16(octets, at.TYPE, at.IPV4_TYPE)
    put16(octets, at.IP, VERSION_AND_LENGTH)
    put16(octets, at.IP + 2, LENGTH - at.IP)
    put16(octets, at.IP + 4, 0)
    put16(octets, at.IP + 6, at.IP_DONT_FRAGMENT)
    put16(octets, at.IP + 8, TTL_AND_TCP)
    put16(octets, at.IP + 10, 0)
    put32(octets, at.IP + 12, ip_of(frame.source))
    put32(octets, at.IP + 16, ip_of(frame.destination))
    put16(octets, at.IP + 10, checksum(octets, at.IP))
    put16(octets, TCP, at.UDP_PORT)
    put16(octets, TCP + 2, at.SOURCE_PORT_BASE + (frame.flow & at.SOURCE_PORT_MASK))
    put32(octets, TCP + 4, 0)
    put32(octets, TCP + 8, frame.sequence)
    put16(octets, TCP + 12, OFFSET_AND_ACK | (ECHO if frame.mark == 3 else 0))
    put16(octets, TCP + 14, 0xFFFF)
    put32(octets, TCP + 16, 0)
    put32(octets, TCP + 20, TIMESTAMPS)
    put32(octets, TCP + 24, 0)
    put32(octets, TCP + 28, frame.created // PS_PER_US)
    return LENGTH
