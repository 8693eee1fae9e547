"""Scapy layers for the CNM and the CN-TAG of 802.1Qau, which scapy does not have.

Scapy is GPL-2.0, so nothing of tailback imports this file: a script that works with scapy does,
`import traces.scapy_layers`, and can then build and dissect `Ether()/CNTag()/IP()` and
`Ether()/CNM()`.
"""

from __future__ import annotations

import scapy.layers.inet
import scapy.layers.inet6  # noqa: F401 (both bind what Ethernet carries)
from scapy.fields import (
    BitField,
    LenField,
    MACField,
    SignedShortField,
    XLongField,
    XShortEnumField,
    XShortField,
)
from scapy.layers.l2 import CookedLinux, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw, bind_layers

from orchestrator.engine.frames.layout import CNM_TYPE

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


for _fields, _upper in list(Ether.payload_guess):
    if "type" in _fields:
        bind_layers(CNTag, _upper, type=_fields["type"])
for _lower in (Ether, Dot1Q, Dot1AD, CookedLinux):
    _field = "proto" if _lower is CookedLinux else "type"
    bind_layers(_lower, CNM, **{_field: CNM_TYPE})
    bind_layers(_lower, CNTag, **{_field: CN_TAG_TYPE})
