"""Template of a flow's frames: header octets, and the fields that differ from frame to frame."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.otg.header_fields import (
    ETHER_TYPES,
    FIRST,
    FOLLOWERS,
    HEADERS,
    UDP_PROTOCOL,
    Field,
    octets_of,
    read_pattern,
)
from orchestrator.otg.otg_reader import Reader

CHUNK_BITS = 32
"""Fields wider than this are written in pieces."""
LEFT, GOOD, BAD = range(3)
"""How a checksum is written: as the template has it, right, or wrong on purpose."""
ABSENT = -1
_CHECKSUMS = {("ipv4", "header_checksum"): "ipv4_checksum", ("udp", "checksum"): "udp_checksum"}


@dataclass
class Modifier:
    """Field that differs from frame to frame: frame n has `values[n % len(values)]`."""

    bit: int
    bits: int
    values: tuple[int, ...]


@dataclass
class FrameTemplate:
    """Headers of a flow's frames.

    Offsets are in octets, ABSENT where there is no such header. Lengths whose flag is set follow
    from the size of the frame. `mask` has ones where all frames of the flow are alike.
    """

    octets: bytearray = field(default_factory=bytearray)
    mask: bytearray = field(default_factory=bytearray)
    modifiers: list[Modifier] = field(default_factory=list)
    ipv4_at: int = ABSENT
    ipv6_at: int = ABSENT
    udp_at: int = ABSENT
    total_length: bool = False
    payload_length: bool = False
    udp_length: bool = False
    ipv4_checksum: int = LEFT
    udp_checksum: int = LEFT
    control: bool = False
    """PAUSE or PFC: there is no payload, and so no stamp."""


def write_bits(octets: bytearray, bit: int, bits: int, value: int) -> None:
    """Write a value of `bits` bits, the most significant first, from a bit position on."""
    total = len(octets) * 8
    shift = total - bit - bits
    mask = ((1 << bits) - 1) << shift
    number = int.from_bytes(octets, "big") & ~mask | (value << shift) & mask
    octets[:] = number.to_bytes(len(octets), "big")


def read_template(flow: Reader) -> FrameTemplate:
    """The template of a flow's `packet`; problems are recorded in the reader."""
    template = FrameTemplate()
    headers: list[tuple[str, Reader]] = []
    for entry in flow.children("packet"):
        kind = entry.choice(list(HEADERS), "ethernet")
        before = headers[-1][0] if headers else None
        allowed = FOLLOWERS[before] if before else FIRST
        if kind not in allowed:
            follows = f"after {before} {', '.join(allowed) or 'no header'}"
            entry.refuse(
                kind, kind, f"{follows if before else 'first ' + ', '.join(allowed)} may be"
            )
            entry.take(kind)
        else:
            headers.append((kind, entry.child(kind)))
        entry.close()
    if not headers:
        flow.refuse("packet", "no header", f"one of {', '.join(FIRST)} is expected first")
    for row, (kind, header) in enumerate(headers):
        after = headers[row + 1][0] if row + 1 < len(headers) else None
        _append(template, kind, header, after)
        header.close()
    template.control = bool(headers) and headers[0][0] in FIRST[1:]
    return template


def _append(template: FrameTemplate, kind: str, header: Reader, after: str | None) -> None:
    begins = len(template.octets)
    template.octets += bytes(octets_of(kind))
    template.mask += b"\xff" * octets_of(kind)
    if kind in ("ipv4", "ipv6", "udp"):
        setattr(template, f"{kind}_at", begins)
    bit = begins * 8
    priorities = _priority(header) if kind == "ipv4" else {}
    for each in HEADERS[kind]:
        name = each.name
        values = priorities.get(name)
        if (kind, name) in _CHECKSUMS:
            how, values = _checksum(header, name)
            setattr(template, _CHECKSUMS[kind, name], how)
            if how != LEFT:
                write_bits(template.mask, bit, each.bits, 0)
        elif name not in priorities:
            values = read_pattern(header, name, each)
        if values is None:
            values = (_automatic(template, kind, name, after, each),)
            if name in ("total_length", "payload_length", "length"):
                write_bits(template.mask, bit, each.bits, 0)
        write_bits(template.octets, bit, each.bits, values[0])
        if len(values) > 1:
            _modify(template, bit, each.bits, values)
        bit += each.bits


def _automatic(
    template: FrameTemplate, kind: str, name: str, after: str | None, each: Field
) -> int:
    """Value of a field that follows from other headers; lengths are written frame by frame."""
    if name in ("ether_type", "tpid"):
        return ETHER_TYPES.get(after or "", each.default)
    if name in ("protocol", "next_header"):
        return UDP_PROTOCOL if after == "udp" else each.default
    if name in ("total_length", "payload_length"):
        setattr(template, name, True)
    elif name == "length":
        template.udp_length = True
    return each.default


def _modify(template: FrameTemplate, bit: int, bits: int, values: tuple[int, ...]) -> None:
    """Add the pieces of a field that differs, the least significant piece first."""
    write_bits(template.mask, bit, bits, 0)
    for low in range(0, bits, CHUNK_BITS):
        width = min(CHUNK_BITS, bits - low)
        piece = tuple(value >> low & (1 << width) - 1 for value in values)
        template.modifiers.append(Modifier(bit + bits - low - width, width, piece))


def _priority(header: Reader) -> dict[str, tuple[int, ...]]:
    """DSCP and ECN of IPv4's `priority`: `dscp` (phb, ecn) or `raw` (all eight bits)."""
    if not header.has("priority"):
        return {"priority.phb": (0,), "priority.ecn": (0,)}
    priority = header.child("priority")
    if priority.choice(["dscp", "raw"], "dscp") == "raw":
        values = read_pattern(priority, "raw", Field("raw", 8)) or (0,)
        found = {
            "priority.phb": tuple(value >> 2 for value in values),
            "priority.ecn": tuple(value & 3 for value in values),
        }
    else:
        dscp = priority.child("dscp")
        found = {
            "priority.phb": read_pattern(dscp, "phb", Field("phb", 6)) or (0,),
            "priority.ecn": read_pattern(dscp, "ecn", Field("ecn", 2)) or (0,),
        }
        dscp.close()
    priority.close()
    return found


def _checksum(header: Reader, name: str) -> tuple[int, tuple[int, ...]]:
    """How a checksum is written, and the value of one that the flow gives."""
    if not header.has(name):
        return GOOD, (0,)
    checksum = header.child(name)
    if checksum.choice(["generated", "custom"], "generated") == "custom":
        found = LEFT, (checksum.number("custom", 0, 0, 0xFFFF),)
    else:
        word = checksum.text("generated", "good")
        if word not in ("good", "bad"):
            checksum.refuse("generated", word, "good or bad is expected")
        found = BAD if word == "bad" else GOOD, (0,)
    checksum.close()
    return found
