"""RoCE: the base transport header of InfiniBand over UDP 4791 (v2) or EtherType 0x8915 (v1)."""

from __future__ import annotations

import dpkt  # type: ignore[import-untyped]

from traces.protocols.cnm import CnTag

UDP_PORT = 4791
ETHERTYPE_V1 = 0x8915
GRH_OCTETS = 40
CNP_OPCODE = 0x81
ICRC_OCTETS = 4


class BaseTransport(dpkt.Packet):
    """`data` holds further headers, the payload and the ICRC."""

    __hdr__ = (
        ("opcode", "B", 0),
        ("_flags", "B", 0),
        ("pkey", "H", 0xFFFF),
        ("_queue", "I", 0),
        ("_sequence", "I", 0),
    )
    __bit_fields__ = {  # noqa: RUF012 (a name that dpkt gives)
        "_flags": (("solicited", 1), ("migration", 1), ("pad", 2), ("version", 4)),
        "_queue": (("fecn", 1), ("becn", 1), ("_reserved6", 6), ("qp", 24)),
        "_sequence": (("ack", 1), ("_reserved7", 7), ("psn", 24)),
    }

    @property
    def icrc(self) -> int | None:
        """The invariant CRC, little-endian at the end; None when it is not there."""
        if len(self.data) < ICRC_OCTETS:
            return None
        return int.from_bytes(self.data[-ICRC_OCTETS:], "little")


class Cnp(BaseTransport):
    """A congestion notification packet (RoCEv2): opcode 0x81, BECN set, 16 zero octets."""

    # dpkt's metaclass makes both of what stands in the class itself
    __hdr__ = (("opcode", "B", CNP_OPCODE), *BaseTransport.__hdr__[1:])
    __bit_fields__ = BaseTransport.__bit_fields__


def base_transport(octets: bytes) -> BaseTransport | None:
    """The header at the beginning of `octets`, a Cnp where it is one; None when it is cut off."""
    try:
        kind = Cnp if octets[:1] == bytes([CNP_OPCODE]) else BaseTransport
        return kind(octets)
    except dpkt.UnpackError:
        return None


def roce(ethernet: dpkt.ethernet.Ethernet) -> BaseTransport | None:
    """The RoCE packet in a frame that dpkt has decoded; None when there is none."""
    packet = ethernet.data.data if isinstance(ethernet.data, CnTag) else ethernet.data
    if isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6):
        udp = packet.data
        if isinstance(udp, dpkt.udp.UDP) and udp.dport == UDP_PORT:
            return base_transport(bytes(udp.data))
        return None
    tags = getattr(ethernet, "vlan_tags", None)
    kind = ethernet.data.type if isinstance(ethernet.data, CnTag) else ethernet.type
    if tags and not isinstance(ethernet.data, CnTag):
        kind = tags[-1].type
    if kind == ETHERTYPE_V1 and isinstance(packet, bytes):
        return base_transport(packet[GRH_OCTETS:])
    return None
