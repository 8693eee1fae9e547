"""A field of a frame as data: which word of its descriptor lies where among its octets.

Numbers are big-endian. A frame type lists its fields (`engine.frames.frametype`); the codec walks
over them. What is written is the descriptor's word, without its `skip` lowest bits, divided by
`unit` (rounded down), plus `plus`, kept within what the bits hold; what is read is the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from orchestrator.engine.records import FRAME

NUMBER, MAC, IP, CHECKSUM, ICRC, SAME, NEAR, UDP_CHECKSUM, LAST_ICRC = range(9)
"""Kind of a field: a number; the address that an address index stands for; the checksum of the IPv4
header that begins at its word; RoCE's invariant CRC over the IP packet that begins there; none,
but the condition that the IPv4 address at its octets is that of the number at its word; the low
bits of its word and one, counted on from another word, which is what they are where its word is
NONE; the UDP checksum of the IPv6 packet that begins at its word; the ICRC in the last four octets
of a frame of any length, over all from its word on (`at` has no meaning)."""
READ, WRITTEN, CHECKED, FILL_FF, UNCHECKED, SAMPLED = (1 << bit for bit in range(6))
"""Flags: it fills the descriptor; it fills the octets; octets that say another number than the
descriptor are not of this type (its length is known by then); all ones stand for NONE; an address
that is not emulated is UNKNOWN, where else the frame would not be of this type; it is of the frame
that a message is about (a type says where that begins), and left out where that one is not ours."""
OP, WORD, AT, OCTETS, LOW, MASK, SKIP, UNIT, PLUS, LEAST, MOST, SIGN, FLAGS, RELATIVE = range(14)
COLUMNS = 14
"""Columns of a field's row in the table of types."""
FARTHEST = (1 << 63) - 1


@dataclass(frozen=True)
class Field:
    """One field; see the module. Use the functions below."""

    name: str
    """Of the descriptor, or '' for one that belongs to no word of it."""
    at: int
    octets: int
    op: int = NUMBER
    low: int = 0
    """Bits of the octets below it."""
    bits: int = 0
    """0: all of its octets."""
    skip: int = 0
    unit: int = 1
    plus: int = 0
    signed: bool = False
    wraps: bool = False
    """Only its low bits are of interest: it is not kept within what they hold."""
    flags: int = READ | WRITTEN
    begins: int = 0
    """Of a checksum: the octet where the header that it covers begins; of SAME: the number's."""
    beside: str = ""
    """Of NEAR: the word that it is counted on from; its own field has to come before."""

    @property
    def end(self) -> int:
        """The octet behind it."""
        return self.at + self.octets

    def row(self) -> list[int]:
        """The field as the codec reads it. Raises ValueError for what cannot be."""
        for part in fields(self):
            check_number(self.name or "a field", part, getattr(self, part.name))
        bits = self.bits or 8 * self.octets
        if self.name and self.name not in (FRAME.names or ()):
            raise ValueError(f"a descriptor has no field {self.name!r}")
        if not (0 < self.octets <= 8 and 0 < bits <= 8 * self.octets - self.low):
            raise ValueError(f"{self.name or 'a field'} has {bits} bits in {self.octets} octets")
        if self.unit == 0:
            raise ValueError(f"{self.name} has the unit 0")
        least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if self.signed else (0, 0)
        if not self.signed:
            most = min((1 << bits) - 1, FARTHEST)
        if self.wraps or bits == 64:
            least, most = -FARTHEST - 1, FARTHEST
        word = (FRAME.names or ()).index(self.name) if self.name else 0
        row = [0] * COLUMNS
        row[OP], row[AT], row[OCTETS], row[LOW] = self.op, self.at, self.octets, self.low
        row[WORD] = word if self.op in (NUMBER, MAC, IP, NEAR) else self.begins
        row[RELATIVE] = (FRAME.names or ()).index(self.beside) if self.beside else 0
        row[MASK] = -1 if bits == 64 else (1 << bits) - 1
        row[SKIP], row[UNIT], row[PLUS] = self.skip, self.unit, self.plus
        row[LEAST], row[MOST], row[FLAGS] = least, most, self.flags
        row[SIGN] = 1 << (bits - 1) if self.signed and bits < 64 else 0
        return row


def check_number(whose: str, part: Any, value: Any) -> None:
    """Raise ValueError for a value of a field of a dataclass that is declared an int or a bool and
    is none.

    NumPy's table of types would cut it to one.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    whole = whole or (part.type == "int | None" and value is None)
    if part.type in ("int", "int | None") and not whole:
        raise ValueError(f"{whose}: {part.name} is {value!r:.40}; a whole number is expected")
    if part.type == "bool" and not isinstance(value, bool):
        raise ValueError(f"{whose}: {part.name} is {value!r:.40}; True or False is expected")


def number(name: str, at: int, octets: int, **more: int) -> Field:
    """A number of the descriptor: its field `name`, in `octets` from octet `at` on."""
    return Field(name, at, octets, **more)  # type: ignore[arg-type]


def mac(name: str, at: int, flags: int = READ | WRITTEN) -> Field:
    """The MAC address of an address index."""
    return Field(name, at, 6, MAC, flags=flags)


def ip(name: str, at: int, flags: int = READ | WRITTEN) -> Field:
    """The IPv4 address of an address index."""
    return Field(name, at, 4, IP, flags=flags)


def shown(name: str, at: int, octets: int, **more: int) -> Field:
    """A number that is written for others to see, and not read."""
    return Field(name, at, octets, flags=WRITTEN, wraps=True, **more)  # type: ignore[arg-type]


def near(name: str, at: int, octets: int, beside: str, bits: int) -> Field:
    """Low bits of another number, `beside`, as long as this one is NONE; else that much beyond."""
    return Field(name, at, octets, NEAR, bits=bits, beside=beside)


def length(at: int, less: int) -> Field:
    """The frame's length without the first `less` octets, which has to be right."""
    return Field("length", at, 2, plus=-less, flags=WRITTEN | CHECKED)


def checksum(header: int) -> Field:
    """The checksum of the IPv4 header that begins at octet `header`, which has to be right."""
    return Field("", header + 10, 2, CHECKSUM, flags=WRITTEN | CHECKED, begins=header)


def last_icrc(header: int, at: int) -> Field:
    """The ICRC in the last octets of a RoCEv2 packet whose IP header begins at octet `header`. `at`
    is any octet behind UDP."""
    return Field("", at, 4, LAST_ICRC, flags=CHECKED, begins=header)


def udp_checksum(header: int) -> Field:
    """The checksum of UDP behind the IPv6 header that begins at octet `header` (RFC 8200, 8.1)."""
    return Field("", header + 46, 2, UDP_CHECKSUM, flags=WRITTEN, begins=header)
