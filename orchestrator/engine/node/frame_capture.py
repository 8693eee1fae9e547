"""Frame capture at a port: time and first octets per frame; overflow is counted.

A capture is taken on the wire, behind the sender's delay line: an outgoing frame and the same
frame at the other end have the same time, but for what a real wire adds.
"""

from __future__ import annotations

from orchestrator.engine.frames.address_index import GROUP, UNKNOWN
from orchestrator.engine.frames.ipv4_header import address_hop
from orchestrator.engine.frames.roce_frame_types import encode_frame
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.telemetry_stamping import encode_stamps
from orchestrator.engine.records import ALTERED, NONE


@compiled
def store_frame(w, slot, frame, now, outgoing, octets):
    """Store one frame in a capture slot: `octets` are its first ones, zeros follow."""
    position = w.capture_count[slot, 0]
    if position == w.capture_times.shape[1]:
        w.capture_count[slot, 1] += 1
        return
    w.capture_count[slot, 0] = position + 1
    w.capture_times[slot, position] = now
    w.capture_lengths[slot, position] = ~frame.length if outgoing else frame.length
    snap = min(w.capture_octets.shape[2], frame.length, octets.size)
    for place in range(snap):
        w.capture_octets[slot, position, place] = octets[place]


@compiled
def write_hop_addresses(w, port_index, frame, octets):
    """Write the MAC addresses that an IP frame has on the way from a port to or from a router."""
    port = w.ports[port_index]
    if port.next_hop != NONE and w.types[frame.kind].is_ip != 0 and frame.destination & GROUP == 0:
        routed = w.nodes[port.node].routed != 0
        address_hop(octets, port.address if routed else UNKNOWN, port.next_hop)


@compiled
def corrupt_last_octet(octets, known, length):
    """Invert the last octet of a frame of which `known` octets are written; zeros lie between."""
    if length <= octets.size:
        for place in range(known, length):
            octets[place] = 0
        octets[length - 1] ^= 0xFF


@inlined
def capture(w, port_index, index, now, outgoing):
    """Capture a frame if the plan captures its port; else not even a call is made."""
    if w.captured[port_index] != NONE:
        store_encoded(w, port_index, index, now, outgoing)


@compiled
def store_encoded(w, port_index, index, now, outgoing):
    """Keep a frame of a captured port whose octets have to be written from its descriptor first."""
    slot = w.captured[port_index]
    if w.capture_count[slot, 0] == w.capture_times.shape[1]:
        w.capture_count[slot, 1] += 1
        return
    frame = w.frames[index]
    octets = w.octets[0]
    sender = port_index if outgoing else w.ports[port_index].peer
    written = encode_stamps(w, index, octets, encode_frame(w, frame, octets))
    write_hop_addresses(w, sender, frame, octets)
    octets[written : w.capture_octets.shape[2]] = 0
    if frame.port == ALTERED:
        corrupt_last_octet(octets, written, frame.length)
    store_frame(w, slot, frame, now, outgoing, octets)
