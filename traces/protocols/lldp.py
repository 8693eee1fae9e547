"""LLDP (802.1AB) for DCBX: congestion notification, ETS, PFC and application TLVs of 802.1Q, and
the TLV of CEE (DCB Capability Exchange Protocol Base Specification 1.01)."""

from __future__ import annotations

import struct
from typing import Any

import dpkt  # type: ignore[import-untyped]

ORGANISATION = 127
IEEE_8021 = b"\x00\x80\xc2"
CONGESTION_NOTIFICATION, ETS_CONFIGURATION, ETS_RECOMMENDATION, PFC = 0x08, 0x09, 0x0A, 0x0B
APPLICATION = 0x0C
CEE_ORGANISATION = b"\x00\x1b\x21"
CEE_PRE, CEE = 0x01, 0x02
"""Subtypes of CEE's TLV: before version 1.0, and 1.01."""
CEE_CONTROL, CEE_GROUPS, CEE_PFC, CEE_APPLICATION = 1, 2, 3, 4
PRIORITIES = range(8)


class CongestionNotification(dpkt.Packet):
    """Bit n of each octet is priority n (802.1Q annex D.2.7)."""

    __hdr__ = (("cnpv", "B", 0), ("ready", "B", 0))


class PfcConfiguration(dpkt.Packet):
    """Bit n of `enabled` is priority n (802.1Q annex D.2.10)."""

    __hdr__ = (("_flags", "B", 0), ("enabled", "B", 0))
    __bit_fields__ = {  # noqa: RUF012 (a name that dpkt gives)
        "_flags": (("willing", 1), ("macsec_bypass", 1), ("_reserved", 2), ("capability", 4)),
    }


class Ets(dpkt.Packet):
    """Enhanced transmission selection (802.1Q annex D.2.8), or a recommendation (annex D.2.9)."""

    __hdr__ = (
        ("_flags", "B", 0),
        ("assignment", "I", 0),
        ("bandwidths", "8s", bytes(8)),
        ("algorithms", "8s", bytes(8)),
    )
    __bit_fields__ = {  # noqa: RUF012 (a name that dpkt gives)
        "_flags": (("willing", 1), ("credit_shaper", 1), ("_reserved", 3), ("most_classes", 3)),
    }

    @property
    def classes(self) -> tuple[int, ...]:
        """The traffic class of priority 0 to 7."""
        return tuple((self.assignment >> (28 - 4 * priority)) & 0xF for priority in PRIORITIES)


class ApplicationPriorities(dpkt.Packet):
    """Application priority TLV (802.1Q annex D.2.11): `entries` of (priority, selector, port)."""

    __hdr__ = (("_reserved", "B", 0),)
    entries: list[tuple[int, int, int]]

    def unpack(self, buf: bytes) -> None:
        dpkt.Packet.unpack(self, buf)
        self.entries = [
            (
                self.data[at] >> 5,
                self.data[at] & 7,
                int.from_bytes(self.data[at + 1 : at + 3], "big"),
            )
            for at in range(0, len(self.data) - 2, 3)
        ]


class CeeFeature(dpkt.Packet):
    """A feature of CEE's TLV: versions, flags, and a value."""

    __hdr__ = (("operating", "B", 0), ("most", "B", 0), ("_flags", "B", 0), ("subtype", "B", 0))
    __bit_fields__ = {  # noqa: RUF012 (a name that dpkt gives)
        "_flags": (("enabled", 1), ("willing", 1), ("error", 1), ("_reserved", 5)),
    }


class CeeConfiguration(dpkt.Packet):
    """The value of CEE's TLV: `features` are (type, value) up to the first that is cut off."""

    __hdr__ = ()
    features: list[tuple[int, CeeFeature]]

    def unpack(self, buf: bytes) -> None:
        self.features = []
        self.data = buf
        while len(buf) >= 2:
            head = int.from_bytes(buf[:2], "big")
            kind, length = head >> 9, head & 0x1FF
            if len(buf) < 2 + length:
                break
            value = buf[2 : 2 + length]
            if kind != CEE_CONTROL and length >= 4:
                self.features.append((kind, CeeFeature(value)))
            buf = buf[2 + length :]


SUBTYPES = {
    CONGESTION_NOTIFICATION: CongestionNotification,
    ETS_CONFIGURATION: Ets,
    ETS_RECOMMENDATION: Ets,
    PFC: PfcConfiguration,
    APPLICATION: ApplicationPriorities,
}
"""Of 802.1's organisation."""
CLASSES: dict[bytes, dict[int, type[dpkt.Packet]]] = {
    IEEE_8021: SUBTYPES,
    CEE_ORGANISATION: {CEE: CeeConfiguration},
}
"""By organisation and subtype."""


class Tlv(dpkt.Packet):
    """A type, a length and that many octets."""

    __hdr__ = (("_head", "H", 0),)
    data: Any
    __bit_fields__ = {"_head": (("type", 7), ("length", 9))}  # noqa: RUF012 (a name of dpkt's)

    def unpack(self, buf: bytes) -> None:
        dpkt.Packet.unpack(self, buf)
        if len(self.data) < self.length:
            raise dpkt.NeedData(f"a TLV of {self.length} octets, {len(self.data)} are there")
        self.data = self.data[: self.length]


class OrganisationTlv(Tlv):
    """A TLV of type 127. `data` is of one of CLASSES where it is one, else bytes."""

    oui: bytes
    subtype: int

    def unpack(self, buf: bytes) -> None:
        super().unpack(buf)
        if len(self.data) < 4:
            raise dpkt.NeedData(f"an organisation's TLV of {len(self.data)} octets")
        self.oui, self.subtype = self.data[:3], self.data[3]
        value = self.data[4:]
        kind = CLASSES.get(self.oui, {}).get(self.subtype)
        self.data = value
        if kind is not None:
            try:
                self.data = kind(value)
            except dpkt.UnpackError:
                return  # too short for what it says it is: stays bytes

    def __bytes__(self) -> bytes:
        return self.pack_hdr() + self.oui + bytes([self.subtype]) + bytes(self.data)

    def __len__(self) -> int:
        return 2 + 4 + len(self.data)


class Lldp(dpkt.Packet):
    """A data unit: `tlvs` up to the end mark or to the first that is cut off."""

    __hdr__ = ()
    tlvs: list[Tlv]

    def unpack(self, buf: bytes) -> None:
        self.tlvs = []
        while len(buf) >= 2:
            kind, length = buf[0] >> 1, struct.unpack(">H", buf[:2])[0] & 0x1FF
            if kind == 0 or len(buf) < 2 + length:
                break
            shape = OrganisationTlv if kind == ORGANISATION and length >= 4 else Tlv
            self.tlvs.append(shape(buf[: 2 + length]))
            buf = buf[2 + length :]
        self.data = buf

    def find_all(self, kind: type[dpkt.Packet], subtype: int | None = None) -> list[dpkt.Packet]:
        """All organisations' values of a class, and of a subtype when two share the class."""
        return [
            tlv.data
            for tlv in self.tlvs
            if isinstance(tlv.data, kind) and subtype in (None, getattr(tlv, "subtype", None))
        ]

    def find(self, kind: type[dpkt.Packet], subtype: int | None = None) -> dpkt.Packet | None:
        """The first organisation's value of a class, and of a subtype when two share the class."""
        return next(iter(self.find_all(kind, subtype)), None)
