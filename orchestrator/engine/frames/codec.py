"""`encode` and `decode`: every frame kind of the core, descriptor to octets and back."""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.ack import encode_ack
from orchestrator.engine.frames.cnm import decode_cnm, encode_cnm
from orchestrator.engine.frames.data import decode_data, encode_data
from orchestrator.engine.frames.octets import get16
from orchestrator.engine.frames.pause import decode_pause, encode_pause
from orchestrator.engine.frames.pfc import decode_pfc, encode_pfc
from orchestrator.engine.frames.probe import decode_probe, encode_probe
from orchestrator.engine.frames.roce import decode_cnp, encode_cnp
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import ACK, CNM, CNP, DATA, ECHO, PAUSE, PFC, PROBE, RETURNED

FOREIGN = -1
"""What `decode` answers for a frame that is none of ours."""


@compiled
def encode(frame, octets):  # type: ignore[no-untyped-def]
    """Write the known octets of the frame that `frame` (a FRAME record) describes.

    Returns how many were written; the rest up to the frame's length is zeros, which the caller
    supplies. 0 means that the descriptor has no frame: a kind that this codec does not know, or
    a length that is too short for it. `octets` is uint8[>= 128].
    """
    kind = frame.kind
    if kind in (DATA, RETURNED):
        return encode_data(frame, octets)
    if kind == CNM:
        return encode_cnm(frame, octets)
    if kind == PAUSE:
        return encode_pause(frame, octets)
    if kind == PFC:
        return encode_pfc(frame, octets)
    if kind in (PROBE, ECHO):
        return encode_probe(frame, octets)
    if kind == CNP:
        return encode_cnp(frame, octets)
    if kind == ACK:
        return encode_ack(frame, octets)
    return 0


@compiled
def decode(octets, length, frame):  # type: ignore[no-untyped-def]
    """Fill `frame` from a received frame of `length` octets; returns its kind, or FOREIGN.

    `octets` may hold only the beginning of the frame (a snapped row). Every field is set; for a
    foreign frame none is.
    """
    held = min(length, octets.shape[0])
    if held < at.MINIMUM:
        return FOREIGN
    kind = FOREIGN
    outer = get16(octets, at.VLAN)
    if outer == at.VLAN_TYPE:
        inner = get16(octets, at.TYPE)
        if inner == at.IPV4_TYPE:
            if held >= at.DATA_HEADER and decode_data(octets, length, frame):
                kind = frame.kind
            elif held >= at.CNP_LENGTH and decode_cnp(octets, length, frame):
                kind = CNP
        elif inner == at.CNM_TYPE and decode_cnm(octets, length, held, frame):
            kind = CNM
        elif inner == at.PROBE_TYPE and decode_probe(octets, length, frame):
            kind = frame.kind
    elif outer == at.MAC_CONTROL_TYPE:
        if decode_pause(octets, length, frame):
            kind = PAUSE
        elif decode_pfc(octets, length, frame):
            kind = PFC
    return kind
