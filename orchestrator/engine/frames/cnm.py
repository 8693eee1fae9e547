"""Congestion notification messages (IEEE 802.1Qau), as a congestion point sends them back.

Octets 18 on: version (4 bits) 0, reserved (6) 0, quantised feedback (6) · CPID (8 octets) ·
cnmQOffset (2) · cnmQDelta (2) · encapsulated priority (2, in the top 3 bits) · encapsulated
destination MAC (6) · encapsulated MSDU length (2) · the sampled frame's first 64 MSDU octets.

In a CNM's descriptor `source` is the congestion point's address, `destination` the sampled
frame's source, `flow`, `sequence`, `created` and `priority` are the sampled frame's, `mark` is
its length and `inner` the address index it was going to. Its octets are made again from these.
"""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import UNKNOWN, index_of_mac, mac_of
from orchestrator.engine.frames.blank import blank
from orchestrator.engine.frames.data import is_ours, put_msdu, put_tag
from orchestrator.engine.frames.octets import (
    get16,
    get32,
    get48,
    get64,
    put16,
    put48,
    signed16,
    signed32,
)
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import CNM, NONE

KNOWN_MSDU = at.DATA_HEADER - at.MSDU  # octets of a data frame's MSDU that are not padding


@compiled
def in_units(octets):  # type: ignore[no-untyped-def]
    """Octets to units of CNM_UNIT, rounded down, saturated to 16-bit two's complement."""
    return min(max(octets // at.CNM_UNIT, -0x8000), 0x7FFF)


@compiled
def cnm_length(sampled_length):  # type: ignore[no-untyped-def]
    """Length of the CNM about a tagged frame of `sampled_length` octets."""
    msdu = min(max(sampled_length - at.MSDU, 0), at.CNM_MSDU_OCTETS)
    return max(at.CNM_MSDU + msdu, at.MINIMUM)


@compiled
def encode_cnm(frame, octets):  # type: ignore[no-untyped-def]
    """Write a CNM. Returns its octets; 0 when the descriptor cannot be one (length, sample)."""
    sampled = frame.mark
    size = cnm_length(sampled)
    if sampled < at.DATA_HEADER or frame.length < size:
        return 0
    put48(octets, 0, mac_of(frame.destination))
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put_tag(octets, frame.priority)
    put16(octets, at.TYPE, at.CNM_TYPE)
    put16(octets, at.CNM_FEEDBACK, frame.feedback & 0x3F)
    put48(octets, at.CNM_CPID, mac_of(frame.source))
    put16(octets, at.CNM_CPID + 6, 0)  # each port has a MAC of its own: its CP needs no number
    put16(octets, at.CNM_OFFSET, in_units(frame.offset))
    put16(octets, at.CNM_DELTA, in_units(frame.delta))
    put16(octets, at.CNM_PRIORITY, (frame.priority & 7) << 13)
    put48(octets, at.CNM_DESTINATION, mac_of(frame.inner))
    put16(octets, at.CNM_MSDU_LENGTH, sampled - at.MSDU)
    put_msdu(
        octets,
        at.CNM_MSDU,
        sampled,
        frame.destination,
        frame.inner,
        frame.flow,
        frame.sequence,
        frame.created,
        0,
        0,
    )
    octets[at.CNM_MSDU + KNOWN_MSDU : size] = 0
    return size


@compiled
def decode_cnm(octets, length, held, frame):  # type: ignore[no-untyped-def]
    """Fill a descriptor from a tagged CNM of which `held` octets are there. False: not ours.

    A CNM that samples a frame of somebody else's is understood too; its flow is then NONE.
    """
    source = index_of_mac(get48(octets, at.SOURCE_MAC))
    destination = index_of_mac(get48(octets, 0))
    if source == UNKNOWN or destination == UNKNOWN or held < at.CNM_MSDU:
        return False
    if get16(octets, at.CNM_FEEDBACK) >> 12 != 0:  # a version that we do not know
        return False
    known = held >= at.CNM_MSDU + KNOWN_MSDU and is_ours(octets, at.CNM_MSDU)
    shift = at.CNM_MSDU - at.MSDU
    flow = signed32(get32(octets, at.FLOW + shift)) if known else NONE
    blank(frame, CNM, length, get16(octets, at.VLAN + 2) >> 13, flow, source, destination)
    frame.sequence = get64(octets, at.SEQUENCE + shift) if known else 0
    frame.created = get64(octets, at.CREATED + shift) if known else 0
    frame.feedback = get16(octets, at.CNM_FEEDBACK) & 0x3F
    frame.offset = signed16(get16(octets, at.CNM_OFFSET)) * at.CNM_UNIT
    frame.delta = signed16(get16(octets, at.CNM_DELTA)) * at.CNM_UNIT
    frame.inner = index_of_mac(get48(octets, at.CNM_DESTINATION))
    frame.mark = get16(octets, at.CNM_MSDU_LENGTH) + at.MSDU
    return True
