"""Frame types of the core, in the order in which received frames are matched.

Offsets are those of `engine.frames.layout`; docs/settled/frames.md says where each layout is from.
Data frames are VLAN-tagged UDP over IPv4 with tailback's payload header. One that was returned to
its source (P4QCN) has the same octets, but for its ends, which are exchanged, and its mark; no
source sends to its own flow's address, which is the flow's number, so the two can be distinguished.
"""

from __future__ import annotations

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.frame_field import (
    CHECKED,
    FILL_FF,
    ICRC,
    READ,
    SAME,
    UNCHECKED,
    WRITTEN,
    Field,
    checksum,
    ip,
    length,
    mac,
    near,
    number,
    shown,
)
from orchestrator.engine.frames.frame_type import (
    LINK,
    OPAQUE,
    QUEUED,
    REWRITE_BRIDGED,
    REWRITE_COPY,
    REWRITE_FIELDS,
    Fixed,
    FrameType,
    match_octets,
    write_octets,
)
from orchestrator.engine.records import (
    ACK,
    BRIDGED,
    CNM,
    CNP,
    CREDIT,
    DATA,
    ECHO,
    ENTROPY_BITS,
    GRANT,
    HOST,
    PAUSE,
    PFC,
    PROBE,
    REQUEST,
    RETURNED,
    SACK,
    TRIMMED,
)

SHIFT = at.CNM_MSDU - at.MSDU
"""From an octet of a data frame to the same one of a frame that a CNM samples."""
CNP_PACKET = at.CNP_LENGTH - at.IP


def tag() -> tuple[list[Fixed], list[Field]]:
    """The VLAN tag: our VLAN, the frame's priority."""
    fixed = [
        match_octets(at.VLAN, f"{at.VLAN_TYPE:04x}"),
        write_octets(at.VLAN + 2, f"{at.VLAN_ID:04x}"),
    ]
    return fixed, [number("priority", at.VLAN + 2, 2, low=13, bits=3)]


def ends(flags: int = READ | WRITTEN) -> list[Field]:
    """Both MAC addresses."""
    return [mac("destination", 0, flags), mac("source", at.SOURCE_MAC, flags)]


def hop_ends() -> list[Field]:
    """Both MAC addresses of an IP frame, whose IP addresses say its ends: behind a router they are
    those of a hop, and an external router has a MAC address of its own."""
    return [mac("destination", 0, WRITTEN), mac("source", at.SOURCE_MAC, WRITTEN | UNCHECKED)]


def ipv4(shift: int = 0, protocol: int = at.IP_PROTOCOL_UDP) -> list[Fixed]:
    """Fixed octets of an IPv4 header without options, from the EtherType on."""
    ip_at = at.IP + shift
    return [
        match_octets(at.TYPE + shift, f"{at.IPV4_TYPE:04x}"),
        match_octets(ip_at, "45"),
        write_octets(ip_at + 6, f"{at.IP_DONT_FRAGMENT:04x}"),  # the identification is 0: RFC 6864
        write_octets(ip_at + 8, f"{at.IP_TTL:02x}"),
        match_octets(ip_at + 9, f"{protocol:02x}"),
    ]


def hops() -> Field:
    """The TTL: one less for every router."""
    return number("hops", at.IP + 8, 1, unit=-1, plus=at.IP_TTL)


def our_udp(shift: int = 0) -> list[Fixed]:
    """UDP to our port, our payload's first word."""
    return [
        write_octets(at.UDP + shift, f"{at.SOURCE_PORT_BASE:04x}"),
        match_octets(at.UDP + 2 + shift, f"{at.UDP_PORT:04x}"),
        match_octets(at.MAGIC + shift, f"{at.MAGIC_WORD:08x}"),
    ]


SOURCE_PORT = shown("flow", at.UDP, 2, bits=11)
"""So that other tools tell flows apart: the flow's low bits."""
ENTROPY = near("inner", at.UDP, 2, beside="flow", bits=ENTROPY_BITS)
"""The same for a frame without path entropy; one that has some is that far from its flow's port."""
DATA_FIXED = [*tag()[0], *(f for f in ipv4() if f.at != at.IP + 8), *our_udp()]
DATA_FIELDS = [
    *hop_ends(),
    *tag()[1],
    length(at.IP + 2, at.IP),
    hops(),
    ip("source", at.IP + 12),
    ip("destination", at.IP + 16),
    length(at.UDP + 4, at.UDP),
    number("flow", at.FLOW, 4, signed=True),
    number("sequence", at.SEQUENCE, 8),
    number("created", at.CREATED, 8),
]
DATA_FRAME = FrameType(
    DATA,
    "data",
    "a data frame",
    at.DATA_HEADER,
    at.DATA_HEADER,
    DATA_FIXED,
    [*DATA_FIELDS, ENTROPY, number("mark", at.IP + 1, 1, wraps=True), checksum(at.IP)],
    carried=QUEUED,
    is_ip=True,
    rewrite=REWRITE_FIELDS,
    stamps=at.DATA_HEADER,
)
RETURNED_FRAME = FrameType(
    RETURNED,
    "returned",
    "a data frame's header, returned to its source with a switch's feedback (P4QCN)",
    at.DATA_HEADER,
    at.DATA_HEADER,
    [*DATA_FIXED, match_octets(at.IP + 1, "03", "03")],
    [
        *DATA_FIELDS,
        SOURCE_PORT,
        number("feedback", at.IP + 1, 1, low=2, bits=6),
        number("mark", at.IP + 1, 1, flags=READ),
        Field("", at.IP + 16, 4, SAME, flags=CHECKED, begins=at.FLOW),
        checksum(at.IP),
    ],
    is_ip=True,
    from_end=True,
)
CNM_FRAME = FrameType(
    CNM,
    "CNM",
    "a congestion notification message (IEEE 802.1Qau)",
    at.MINIMUM,
    at.CNM_LENGTH,
    [
        *tag()[0],
        match_octets(at.TYPE, f"{at.CNM_TYPE:04x}"),
        match_octets(at.CNM_FEEDBACK, "0000", "f000"),
        *ipv4(SHIFT),
        *our_udp(SHIFT),
    ],
    [
        mac("destination", 0),
        mac("source", at.SOURCE_MAC, READ | WRITTEN | UNCHECKED),  # a bought switch has its own
        *tag()[1],
        number("feedback", at.CNM_FEEDBACK, 2, bits=6),
        mac("source", at.CNM_CPID, WRITTEN | UNCHECKED),  # each port has its own: 2 zeros follow
        number("offset", at.CNM_OFFSET, 2, unit=at.CNM_UNIT, signed=True),
        number("delta", at.CNM_DELTA, 2, unit=at.CNM_UNIT, signed=True),
        shown("priority", at.CNM_PRIORITY, 2, low=13, bits=3),
        mac("inner", at.CNM_DESTINATION, READ | WRITTEN | UNCHECKED),
        number("mark", at.CNM_MSDU_LENGTH, 2, plus=-at.MSDU),
        shown("mark", at.IP + 2 + SHIFT, 2, plus=-at.IP),
        ip("destination", at.IP + 12 + SHIFT, WRITTEN),
        ip("inner", at.IP + 16 + SHIFT, WRITTEN),
        shown("flow", at.UDP + SHIFT, 2, bits=11),
        shown("mark", at.UDP + 4 + SHIFT, 2, plus=-at.UDP),
        number("flow", at.FLOW + SHIFT, 4, signed=True),
        number("sequence", at.SEQUENCE + SHIFT, 8),
        number("created", at.CREATED + SHIFT, 8),
        checksum(at.IP + SHIFT),
    ],
    octets=at.CNM_LENGTH,
    sample=at.CNM_MSDU,
)
BROADCAST_SOURCE = mac("source", at.SOURCE_MAC, READ | WRITTEN | UNCHECKED)
"""A neighbour that need not be ours: a bought switch has an address of its own."""
MAC_CONTROL = [
    match_octets(0, f"{at.PAUSE_ADDRESS:012x}"),
    match_octets(at.PAUSE_TYPE_AT, f"{at.MAC_CONTROL_TYPE:04x}"),
]
PAUSE_FRAME = FrameType(
    PAUSE,
    "PAUSE",
    "a PAUSE (IEEE 802.3 annex 31B)",
    at.MINIMUM,
    at.MINIMUM,
    [*MAC_CONTROL, match_octets(at.PAUSE_OPCODE_AT, f"{at.PAUSE_OPCODE:04x}")],
    [BROADCAST_SOURCE, number("feedback", at.PAUSE_QUANTA_AT, 2)],
    carried=LINK,
    octets=at.MINIMUM,
)
PFC_FRAME = FrameType(
    PFC,
    "PFC",
    "a PAUSE for some priorities (IEEE 802.1Qbb)",
    at.MINIMUM,
    at.MINIMUM,
    [*MAC_CONTROL, match_octets(at.PAUSE_OPCODE_AT, f"{at.PFC_OPCODE:04x}")],
    [
        BROADCAST_SOURCE,
        number("mark", at.PFC_VECTOR_AT, 2, bits=8, wraps=True),
        *(
            number(word, at.PFC_QUANTA_AT + 4 * pair + 2 * odd, 2, skip=16 * odd, wraps=True)
            for pair, word in enumerate(("feedback", "offset", "delta", "inner"))
            for odd in range(2)
        ),
    ],
    carried=LINK,
    octets=at.MINIMUM,
)
GRANT_FRAME = FrameType(
    GRANT,
    "grant",
    "credits of a link: what the buffer at its end has room for",
    at.MINIMUM,
    at.MINIMUM,
    [
        *MAC_CONTROL,
        match_octets(at.PAUSE_OPCODE_AT, f"{at.GRANT_OPCODE:04x}"),
        match_octets(at.GRANT_WORD_AT, f"{at.GRANT_WORD:08x}"),
    ],
    [
        mac("source", at.SOURCE_MAC),
        number("mark", at.GRANT_VECTOR_AT, 2, bits=8, wraps=True),
        number("sequence", at.GRANT_OCTETS_AT, 8),
    ],
    carried=LINK,
    octets=at.MINIMUM,
)


def _probe(kind: int, name: str, summary: str, way: int) -> FrameType:
    return FrameType(
        kind,
        name,
        summary,
        at.MINIMUM,
        at.MINIMUM,
        [
            *tag()[0],
            match_octets(at.TYPE, f"{at.PROBE_TYPE:04x}"),
            match_octets(at.PROBE_KIND, f"{at.PROBE_VERSION:02x}{way:02x}"),
        ],
        [
            *ends(),
            *tag()[1],
            number("feedback", at.PROBE_RATE, 8),
            number("flow", at.PROBE_FLOW, 4, signed=True),
            number("sequence", at.PROBE_SEQUENCE, 8),
            number("created", at.PROBE_CREATED, 8),
        ],
        octets=at.MINIMUM,
    )


FORWARD, BACK = 1, 2
PROBE_FRAME = _probe(PROBE, "probe", "a probe on its way forward (FECN)", FORWARD)
ECHO_FRAME = _probe(ECHO, "echo", "a probe that was turned round (FECN)", BACK)
CNP_FRAME = FrameType(
    CNP,
    "CNP",
    "a congestion notification packet (RoCEv2): BTH opcode 0x81 with BECN",
    at.CNP_LENGTH,
    at.CNP_LENGTH,
    [
        *tag()[0],
        *(f for f in ipv4() if f.at != at.IP + 8),
        write_octets(at.IP + 1, f"{at.ROCE_TOS:02x}"),
        match_octets(at.IP + 2, f"{CNP_PACKET:04x}"),
        write_octets(at.UDP, f"{at.SOURCE_PORT_BASE:04x}"),
        match_octets(at.UDP + 2, f"{at.ROCE_PORT:04x}"),
        write_octets(at.UDP + 4, f"{at.CNP_LENGTH - at.UDP:04x}"),
        match_octets(at.BTH, f"{at.CNP_OPCODE:02x}"),
        write_octets(at.BTH + 2, f"{at.BTH_PKEY:04x}{at.BTH_BECN:02x}"),
    ],
    [
        *hop_ends(),
        *tag()[1],
        hops(),
        ip("source", at.IP + 12),
        ip("destination", at.IP + 16),
        SOURCE_PORT,
        number("flow", at.BTH_PAIR, 3, flags=READ | WRITTEN | FILL_FF),
        checksum(at.IP),
        Field("", at.CNP_ICRC, 4, ICRC, flags=WRITTEN | CHECKED, begins=at.IP),
    ],
    is_ip=True,
    octets=at.CNP_LENGTH,
)


def _between_ends(port: int, what: int) -> tuple[list[Fixed], list[Field]]:
    """Of a frame in UDP from one end of a flow to the other: what is fixed, and what it says first.

    The octet behind UDP has `what` it is in its upper half.
    """
    fixed = [
        *tag()[0],
        *(f for f in ipv4() if f.at != at.IP + 8),
        write_octets(at.UDP, f"{at.SOURCE_PORT_BASE:04x}"),
        match_octets(at.UDP + 2, f"{port:04x}"),
        match_octets(at.ACK_SAYS, f"{what:x}0", "f0"),
    ]
    said = [
        *hop_ends(),
        *tag()[1],
        length(at.IP + 2, at.IP),
        hops(),
        ip("source", at.IP + 12),
        ip("destination", at.IP + 16),
        SOURCE_PORT,
        length(at.UDP + 4, at.UDP),
        number("feedback", at.ACK_SAYS, 1, bits=4),
        number("flow", at.ACK_SAYS + 1, 3, flags=READ | WRITTEN | FILL_FF),
    ]
    return fixed, said


def _acknowledgement(
    kind: int, name: str, summary: str, version: int, octets: int, more: list[Field]
) -> FrameType:
    fixed, said = _between_ends(at.ACK_PORT, version)
    return FrameType(
        kind,
        name,
        summary,
        octets,
        octets,
        fixed,
        [
            *said,
            number("sequence", at.ACK_SEQUENCE, 4),
            number("created", at.ACK_CREATED, 8),
            number("offset", at.ACK_OFFSET, 4),
            number("delta", at.ACK_DELTA, 4),
            *more,
            number("mark", at.IP + 1, 1, wraps=True),
            checksum(at.IP),
        ],
        carried=QUEUED,
        is_ip=True,
        octets=octets,
        stamps=octets,
    )


ACK_FRAME = _acknowledgement(
    ACK, "ACK", "an acknowledgement of a transport", at.ACK_VERSION, at.ACK_HEADER, []
)
SACK_FRAME = _acknowledgement(
    SACK,
    "SACK",
    "an acknowledgement that tells of single segments",
    at.SACK_VERSION,
    at.SACK_HEADER,
    [number("inner", at.SACK_MAP, 4)],
)
TRIMMED_FRAME = FrameType(
    TRIMMED,
    "trimmed",
    "a data frame that a switch cut to its header",
    at.TRIMMED_HEADER,
    at.TRIMMED_HEADER,
    [
        *(f for f in DATA_FIXED if f.at != at.MAGIC),
        match_octets(at.MAGIC, f"{at.TRIMMED_WORD:08x}"),
    ],
    [
        *DATA_FIELDS,
        ENTROPY,
        number("offset", at.TRIMMED_LENGTH, 2),
        number("mark", at.IP + 1, 1, wraps=True),
        checksum(at.IP),
    ],
    is_ip=True,
    octets=at.TRIMMED_HEADER,
)


def _credit_message(kind: int, name: str, summary: str, what: int) -> FrameType:
    fixed, said = _between_ends(at.CREDIT_PORT, what)
    return FrameType(
        kind,
        name,
        summary,
        at.CREDIT_HEADER,
        at.CREDIT_HEADER,
        fixed,
        [
            *said,
            number("sequence", at.CREDIT_SEQUENCE, 8),
            number("created", at.CREDIT_CREATED, 8),
            number("offset", at.CREDIT_OFFSET, 4),
            checksum(at.IP),
        ],
        is_ip=True,
        octets=at.CREDIT_HEADER,
    )


CREDIT_FRAME = _credit_message(CREDIT, "credit", "what a receiver lets a source send", 1)
REQUEST_FRAME = _credit_message(REQUEST, "request", "what a source wants credit for", 2)
HOST_FRAME = FrameType(
    HOST,
    "host",
    "a program's IPv4 packet, whose octets are its own",
    at.DATA_HEADER,
    OPAQUE,
    carried=QUEUED,
    is_ip=True,
    rewrite=REWRITE_COPY,
)
BRIDGED_FRAME = FrameType(
    BRIDGED,
    "bridged",
    "a frame of another device, which a switch that learns MAC addresses forwards",
    at.MINIMUM,
    OPAQUE,
    carried=QUEUED,
    rewrite=REWRITE_BRIDGED,
)

CORE: tuple[FrameType, ...] = (
    RETURNED_FRAME,  # before data, which any such frame would be
    DATA_FRAME,
    CNM_FRAME,
    PAUSE_FRAME,
    PFC_FRAME,
    GRANT_FRAME,
    PROBE_FRAME,
    ECHO_FRAME,
    CNP_FRAME,
    ACK_FRAME,
    SACK_FRAME,
    TRIMMED_FRAME,
    CREDIT_FRAME,
    REQUEST_FRAME,
    HOST_FRAME,
    BRIDGED_FRAME,
)
"""Frame types that the core sends or forwards: data, notifications, PAUSE, PFC, ACK, credits."""
