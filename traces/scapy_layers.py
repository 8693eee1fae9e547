"""scapy layers for CNM and CN-TAG of 802.1Qau, and for tailback's frames over UDP.

Scapy is GPL-2.0, so nothing of tailback imports this file: a script that works with scapy does,
`import traces.scapy_layers`, and can then build and dissect `Ether()/CNTag()/IP()`,
`Ether()/CNM()` and `Ether()/Dot1Q()/IP()/UDP()/Data()/Stamps()`. What is over UDP is made of the
table of frame types (`orchestrator.engine.frames`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scapy.layers.inet
import scapy.layers.inet6  # noqa: F401 (both bind what Ethernet carries)
from scapy.fields import (
    BitField,
    ByteField,
    FieldLenField,
    IntField,
    LenField,
    MACField,
    PacketListField,
    SignedShortField,
    StrLenField,
    XLongField,
    XShortEnumField,
    XShortField,
)
from scapy.layers.inet import UDP
from scapy.layers.l2 import CookedLinux, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw, bind_layers

from orchestrator.engine.frames.core_frame_types import ACK_FRAME, DATA_FRAME, SACK_FRAME
from orchestrator.engine.frames.frame_layout import (
    ACK_PORT,
    CNM_TYPE,
    PAYLOAD,
    SACK_VERSION,
    UDP_PORT,
)
from orchestrator.engine.frames.frame_type import FrameType
from orchestrator.engine.frames.telemetry_header import MOST_STAMPS, STAMP_OCTETS

CN_TAG_TYPE = 0x22E9


class CNM(Packet):
    """Congestion notification message; offset and delta in the standard's units of 64 octets."""

    name = "CNM"
    fields_desc = [  # noqa: RUF012 (a name that scapy gives)
        BitField("version", 0, 4),
        BitField("reserved", 0, 6),
        BitField("feedback", 0, 6),
        XLongField("cpid", 0),
        SignedShortField("offset", 0),
        SignedShortField("delta", 0),
        BitField("priority", 0, 3),
        BitField("rest", 0, 13),
        MACField("destination", "00:00:00:00:00:00"),
        LenField("msdu_length", None),
    ]

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """The sampled frame's beginning has no address header: it is left as octets."""
        return Raw


class CNTag(Packet):
    """Tag with the flow identifier of a reaction point; the original EtherType follows."""

    name = "CN-TAG"
    fields_desc = [  # noqa: RUF012 (a name that scapy gives)
        XShortField("flow", 0),
        XShortEnumField("type", 0x0800, {0x0800: "IPv4", 0x86DD: "IPv6"}),
    ]


class Stamp(Packet):
    """Stamp of one port, in the units of its octets."""

    name = "stamp"
    fields_desc = [  # noqa: RUF012 (a name that scapy gives)
        IntField("queued", 0),
        IntField("sent", 0),
        IntField("time_ns", 0),
        IntField("rate_kbps", 0),
        IntField("port", 0),
    ]

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """The rest of the octets is the next stamp."""
        return b"", s


def _left(packet: Packet) -> int:
    """Octets of room that no stamp takes."""
    return int(packet.room - min(packet.room, packet.stamped)) * STAMP_OCTETS


class Stamps(Packet):
    """The room for stamps in a frame: `stamped` ports have stamped, `stamps` are those there."""

    name = "stamps"
    fields_desc = [  # noqa: RUF012 (a name that scapy gives)
        FieldLenField("room", None, count_of="stamps", fmt="B"),
        ByteField("stamped", 0),
        PacketListField(
            "stamps", [], Stamp, count_from=lambda packet: min(packet.room, packet.stamped)
        ),
        StrLenField("rest", b"", length_from=_left),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Room that no stamp takes is zeros."""
        return pkt.ljust(2 + pkt[0] * STAMP_OCTETS, b"\0") + pay


def _bits(kind: FrameType) -> Iterator[tuple[int, int, str, int]]:
    """(first bit, bits, name, value where it is fixed) of what a type says behind UDP, in order."""
    for one in kind.fixed:
        mask = one.mask or b"\xff" * len(one.octets)
        bits = sum(byte.bit_count() for byte in mask)
        if one.at >= PAYLOAD and bits:
            spare = 8 * len(mask) - bits
            yield 8 * one.at, bits, f"word{one.at}", int.from_bytes(one.octets, "big") >> spare
    for field in kind.fields:
        if field.at >= PAYLOAD and field.name:
            bits = field.bits or 8 * field.octets
            yield 8 * field.end - field.low - bits, bits, field.name, 0


def _layer(name: str, kind: FrameType) -> type[Packet]:
    """A layer of what a frame type says behind UDP; `Stamps` follow where it has room for some."""
    parts = sorted(_bits(kind))
    assert [8 * PAYLOAD, *(begin + bits for begin, bits, _, _ in parts)] == [
        *(begin for begin, _, _, _ in parts),
        8 * kind.known,
    ], "each of its octets belongs to one field"

    def guess(self: Packet, payload: bytes) -> type[Packet]:
        """Stamps, where the first octet says that there is room."""
        there = 0 < payload[0] <= MOST_STAMPS and len(payload) >= 2 + payload[0] * STAMP_OCTETS
        return Stamps if there else Raw

    said: dict[str, Any] = {
        "__doc__": kind.summary,
        "name": kind.name,
        "fields_desc": [BitField(what, value, bits) for _, bits, what, value in parts],
        "guess_payload_class": guess,
    }
    return type(name, (Packet,), said)


Data: type[Packet] = _layer("Data", DATA_FRAME)
Sack: type[Packet] = _layer("Sack", SACK_FRAME)
Ack: type[Packet] = _layer("Ack", ACK_FRAME)


def _which(octets: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
    """An acknowledgement is of the version that its first bits say."""
    return Sack if octets[:1] and octets[0] >> 4 == SACK_VERSION else Ack


Ack.dispatch_hook = staticmethod(_which)  # type: ignore[attr-defined]

for _fields, _upper in list(Ether.payload_guess):
    if "type" in _fields:
        bind_layers(CNTag, _upper, type=_fields["type"])
for _lower in (Ether, Dot1Q, Dot1AD, CookedLinux):
    _field = "proto" if _lower is CookedLinux else "type"
    bind_layers(_lower, CNM, **{_field: CNM_TYPE})
    bind_layers(_lower, CNTag, **{_field: CN_TAG_TYPE})
bind_layers(UDP, Data, dport=UDP_PORT)
bind_layers(UDP, Ack, dport=ACK_PORT)
bind_layers(UDP, Sack, dport=ACK_PORT)
