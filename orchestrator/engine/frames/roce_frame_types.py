"""Layouts of RoCEv2 reliable connections: data, acknowledgement and CNP of a flow with `roce`.

They are rows of the table of frame types for frames of the kinds DATA, ACK and CNP, so that nodes
treat these as any other; `layout_of` gives a frame's row. InfiniBand, volume 1, 9.2 (base transport
header), 9.3 (RETH, AETH) and annex A17 (RoCEv2) define the octets.

A descriptor holds what the headers say: of data `feedback` the opcode, `delta` AckReq and twice the
PadCnt, `offset` the DMA length; of an acknowledgement `feedback` the syndrome, `delta` the MSN. The
PSN of either is `sequence`, in 24 bits. Destination queue pairs are numbered 0x800000 plus the flow
where it goes to, 0x400000 plus the flow where it comes from.

When a packet was made stands in the eight octets behind the base transport header: of a RETH these
are the virtual address, which refers to no memory here, else the first octets of the payload. All
other octets of a payload are 0. The R_Key is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.core_frame_types import (
    ENTROPY,
    SOURCE_PORT,
    hop_ends,
    hops,
    ipv4,
    tag,
)
from orchestrator.engine.frames.frame_codec import encode_by
from orchestrator.engine.frames.frame_field import (
    Field,
    checksum,
    ip,
    last_icrc,
    length,
    number,
)
from orchestrator.engine.frames.frame_type import (
    QUEUED,
    REWRITE_FIELDS,
    Fixed,
    FrameType,
    match_octets,
    write_octets,
)
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.records import (
    ACK,
    CNP,
    DATA,
    ROCE_ACK,
    ROCE_CNP,
    ROCE_DATA,
    Frame,
)

ACK_OPCODE = 0x11
SEND_FIRST, WRITE_FIRST = 0x00, 0x06
"""Opcode of the first packet of a message of several; those of the others count on from it."""
MIDDLE, LAST, ONLY = 1, 2, 4
"""From the first one's opcode to that of a middle and of the last packet, and of an only one."""
ACK_SYNDROME = 0x1F
"""AETH: an acknowledgement without end-to-end credits (InfiniBand, volume 1, 9.7.5.1.2)."""
NAK_SYNDROME = 0x60
"""AETH: a negative acknowledgement, PSN sequence error."""
RNR_SYNDROME = 0x20
"""AETH: a negative acknowledgement, receiver not ready, plus the code of a time in five bits."""
SYNDROME_TYPE = 0x60
"""Bits of a syndrome that tell an ACK, an RNR NAK and a NAK apart."""
RETH_OCTETS = 16
MIGRATED = 0x40
"""Bit of the octet behind the opcode: the connection's path is the migrated one, as ever."""
AT_DESTINATION, AT_SOURCE = 0x80, 0x40
"""First octet of a destination queue pair's number: it is the end that a flow goes to, or from."""
MOST_ROCE_FLOWS = 1 << 20
"""Flows whose numbers the 20 low bits of a queue pair's number hold."""
PSN_BITS = 24
PSN_MASK = (1 << PSN_BITS) - 1
LEAST_PAYLOAD = 16
"""Octets of the payload of a packet without RETH: those of the time and of the fields behind it."""

_FLAGS, _PAIR, _PSN = at.BTH + 1, at.BTH + 5, at.BTH + 9
_ACK_REQUEST = at.BTH + 8
_EXTENDED = at.BTH + 12
_DMA_LENGTH = _EXTENDED + 12
_ICRC = at.UDP + 8
DATA_OCTETS = _EXTENDED + 4
"""Octets of a data frame with one tag and IPv4 that are no payload, RETH or padding."""
ACK_OCTETS = _EXTENDED + 8


def _packet(end: int) -> tuple[list[Fixed], list[Field]]:
    """What all packets to one end of a queue pair have; the ICRC comes last."""
    fixed = [
        *tag()[0],
        *(f for f in ipv4() if f.at != at.IP + 8),
        write_octets(at.UDP, f"{at.SOURCE_PORT_BASE:04x}"),
        match_octets(at.UDP + 2, f"{at.ROCE_PORT:04x}"),
        match_octets(_PAIR, f"{end:02x}", "f0"),
    ]
    fields = [
        *hop_ends(),
        *tag()[1],
        length(at.IP + 2, at.IP),
        hops(),
        ip("source", at.IP + 12),
        ip("destination", at.IP + 16),
        length(at.UDP + 4, at.UDP),
        number("flow", _PAIR, 3, bits=20),
    ]
    return fixed, fields


def _data() -> FrameType:
    fixed, fields = _packet(AT_DESTINATION)
    return FrameType(
        ROCE_DATA,
        "RoCEv2 data",
        "a packet of an RDMA WRITE or SEND over a RoCEv2 reliable connection",
        DATA_OCTETS + LEAST_PAYLOAD,
        _DMA_LENGTH + 4,
        [
            *fixed,
            match_octets(at.BTH, "00", "e0"),
            write_octets(_FLAGS, f"{MIGRATED:02x}"),
            write_octets(at.BTH + 2, f"{at.BTH_PKEY:04x}"),
        ],
        [
            *fields,
            ENTROPY,
            number("feedback", at.BTH, 1, bits=5, wraps=True),
            number("delta", _ACK_REQUEST, 1, low=7, bits=1, wraps=True),
            number("delta", _FLAGS, 1, low=4, bits=2, skip=1, wraps=True),
            number("sequence", _PSN, 3, wraps=True),
            number("created", _EXTENDED, 8),
            number("offset", _DMA_LENGTH, 4, wraps=True),
            number("mark", at.IP + 1, 1, wraps=True),
            checksum(at.IP),
            last_icrc(at.IP, _ICRC),
        ],
        carried=QUEUED,
        is_ip=True,
        rewrite=REWRITE_FIELDS,
        read_as=DATA,
    )


def _acknowledgement() -> FrameType:
    fixed, fields = _packet(AT_SOURCE)
    return FrameType(
        ROCE_ACK,
        "RoCEv2 ACK",
        "an acknowledgement of a RoCEv2 reliable connection: AETH with ACK, NAK or RNR NAK",
        ACK_OCTETS,
        _EXTENDED + 4,
        [
            *fixed,
            match_octets(at.BTH, f"{ACK_OPCODE:02x}"),
            write_octets(_FLAGS, f"{MIGRATED:02x}"),
            write_octets(at.BTH + 2, f"{at.BTH_PKEY:04x}"),
        ],
        [
            *fields,
            SOURCE_PORT,
            number("sequence", _PSN, 3, wraps=True),
            number("feedback", _EXTENDED, 1, wraps=True),
            number("delta", _EXTENDED + 1, 3, wraps=True),
            number("mark", at.IP + 1, 1, wraps=True),
            checksum(at.IP),
            last_icrc(at.IP, _ICRC),
        ],
        carried=QUEUED,
        is_ip=True,
        octets=ACK_OCTETS,
        read_as=ACK,
    )


def _notification() -> FrameType:
    fixed, fields = _packet(AT_SOURCE)
    return FrameType(
        ROCE_CNP,
        "RoCEv2 CNP",
        "a congestion notification packet of a RoCEv2 reliable connection: opcode 0x81 with BECN",
        at.CNP_LENGTH,
        _EXTENDED + 16,
        [
            *fixed,
            write_octets(at.IP + 1, f"{at.ROCE_TOS:02x}"),
            match_octets(at.BTH, f"{at.CNP_OPCODE:02x}"),
            write_octets(at.BTH + 2, f"{at.BTH_PKEY:04x}{at.BTH_BECN:02x}"),
        ],
        [*fields, SOURCE_PORT, checksum(at.IP), last_icrc(at.IP, _ICRC)],
        is_ip=True,
        octets=at.CNP_LENGTH,
        read_as=CNP,
    )


ROCE_TYPES: tuple[FrameType, ...] = (_data(), _acknowledgement(), _notification())
"""Layouts in the order in which received frames are matched, before all types of the core."""


@inlined
def layout_of(w: Any, frame: Frame) -> int:
    """Row of the table of frame types by which a frame is written: its kind, or the layout of that
    for a flow that is a RoCEv2 queue pair."""
    if frame.flow < 0 or frame.flow >= w.flows.size or w.flows[frame.flow].roce == 0:
        return frame.kind
    if frame.kind == DATA:
        return ROCE_DATA
    if frame.kind == ACK:
        return ROCE_ACK
    return ROCE_CNP if frame.kind == CNP else frame.kind


@compiled
def encode_frame(w: Any, frame: Frame, octets: np.ndarray) -> int:
    """Write the known octets of a frame of a world by its layout; how many there were."""
    if frame.kind < 0 or frame.kind >= w.types.shape[0]:
        return 0
    return encode_by(w.types[layout_of(w, frame)], frame, octets)


@inlined
def extend_sequence(number: int, near: int) -> int:
    """The sequence of which `number` has the low 24 bits, within 2^23 of `near`."""
    return near + (((number - near + (1 << (PSN_BITS - 1))) & PSN_MASK) - (1 << (PSN_BITS - 1)))


@inlined
def payload_octets(rest: int, segment: int, has_reth: int) -> int:
    """Octets of a packet's payload without padding, with `rest` octets of its message left."""
    return min(max(rest, 1 if has_reth else LEAST_PAYLOAD), segment)


@inlined
def roce_length(headers: int, payload: int, has_reth: int) -> int:
    """Octets of a data frame with such a payload, RETH and padding included."""
    return headers + payload + (-payload & 3) + (RETH_OCTETS if has_reth else 0)
