"""Probes: what a reaction point sends along its path, and what comes back of it.

Tagged frames of a local experimental EtherType, as the paper gives none (FECN, section II knows
them as specially formatted packets of the network). A switch that rewrites one writes the
descriptor's `feedback`, the rate, into a frame made anew.
"""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import UNKNOWN, index_of_mac, mac_of
from orchestrator.engine.frames.blank import blank
from orchestrator.engine.frames.data import put_tag
from orchestrator.engine.frames.octets import (
    get16,
    get32,
    get48,
    get64,
    put16,
    put32,
    put48,
    put64,
    signed32,
)
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import ECHO, PROBE

FORWARD, BACK = 1, 2


@compiled
def encode_probe(frame, octets):  # type: ignore[no-untyped-def]
    """Write a probe or an echo. Returns its octets; 0 when the frame is too short for it."""
    if frame.length < at.MINIMUM:
        return 0
    put48(octets, 0, mac_of(frame.destination))
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put_tag(octets, frame.priority)
    put16(octets, at.TYPE, at.PROBE_TYPE)
    way = FORWARD if frame.kind == PROBE else BACK
    put16(octets, at.PROBE_KIND, (at.PROBE_VERSION << 8) | way)
    put64(octets, at.PROBE_RATE, frame.feedback)
    put32(octets, at.PROBE_FLOW, frame.flow)
    put64(octets, at.PROBE_SEQUENCE, frame.sequence)
    put64(octets, at.PROBE_CREATED, frame.created)
    octets[at.PROBE_HEADER : at.MINIMUM] = 0
    return at.MINIMUM


@compiled
def decode_probe(octets, length, frame):  # type: ignore[no-untyped-def]
    """Fill a descriptor from a tagged probe or echo. False when it is not ours."""
    source = index_of_mac(get48(octets, at.SOURCE_MAC))
    destination = index_of_mac(get48(octets, 0))
    kind = get16(octets, at.PROBE_KIND) - (at.PROBE_VERSION << 8)
    if source == UNKNOWN or destination == UNKNOWN or kind not in (FORWARD, BACK):
        return False
    flow = signed32(get32(octets, at.PROBE_FLOW))
    kind = PROBE if kind == FORWARD else ECHO
    blank(frame, kind, length, get16(octets, at.VLAN + 2) >> 13, flow, source, destination)
    frame.sequence = get64(octets, at.PROBE_SEQUENCE)
    frame.created = get64(octets, at.PROBE_CREATED)
    frame.feedback = get64(octets, at.PROBE_RATE)
    return True
