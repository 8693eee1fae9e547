"""Headers of OTG flows: fields in the order of the wire, with widths and the model's defaults.

Sources: IEEE 802.3 (Ethernet, PAUSE: clause 31, annex 31B), IEEE 802.1Q (VLAN tag; PFC: clause 36),
RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768 (UDP), RFC 2474 and RFC 3168 (DSCP, ECN). The defaults are
those of the OTG model.
"""

from __future__ import annotations

import ipaddress
import random
from dataclasses import dataclass
from typing import Literal

from orchestrator.otg.otg_reader import Reader

Notation = Literal["number", "mac", "ipv4", "ipv6"]
MOST_VALUES = 1 << 16
"""Values of one field that a flow may go through."""
MAC_LENGTH = 17


@dataclass(frozen=True)
class Field:
    """One field: name, width (bits), default, notation, and the default that stands for `auto`."""

    name: str
    bits: int
    default: int = 0
    notation: Notation = "number"
    auto: bool = False
    """The value follows from other headers or the size where `auto` is chosen or nothing given."""


_PAUSE_ADDRESS = 0x0180C2000001
_ADDRESSES = (Field("dst", 48, 0, "mac"), Field("src", 48, 0, "mac"))
_CONTROL = (
    Field("dst", 48, _PAUSE_ADDRESS, "mac"),
    Field("src", 48, 0, "mac"),
    Field("ether_type", 16, 0x8808),
)
HEADERS: dict[str, tuple[Field, ...]] = {
    "ethernet": (*_ADDRESSES, Field("ether_type", 16, 0xFFFF, auto=True)),
    "vlan": (
        Field("priority", 3),
        Field("cfi", 1),
        Field("id", 12),
        Field("tpid", 16, 0xFFFF, auto=True),
    ),
    "ipv4": (
        Field("version", 4, 4),
        Field("header_length", 4, 5, auto=True),
        Field("priority.phb", 6),
        Field("priority.ecn", 2),
        Field("total_length", 16, 46, auto=True),
        Field("identification", 16),
        Field("reserved", 1),
        Field("dont_fragment", 1),
        Field("more_fragments", 1),
        Field("fragment_offset", 13),
        Field("time_to_live", 8, 64),
        Field("protocol", 8, 61, auto=True),
        Field("header_checksum", 16),
        Field("src", 32, 0, "ipv4"),
        Field("dst", 32, 0, "ipv4"),
    ),
    "ipv6": (
        Field("version", 4, 6),
        Field("traffic_class", 8),
        Field("flow_label", 20),
        Field("payload_length", 16, 0, auto=True),
        Field("next_header", 8, 59, auto=True),
        Field("hop_limit", 8, 64),
        Field("src", 128, 0, "ipv6"),
        Field("dst", 128, 0, "ipv6"),
    ),
    "udp": (
        Field("src_port", 16),
        Field("dst_port", 16),
        Field("length", 16, 0, auto=True),
        Field("checksum", 16),
    ),
    "pfcpause": (
        *_CONTROL,
        Field("control_op_code", 16, 0x0101),
        Field("class_enable_vector", 16),
        *(Field(f"pause_class_{priority}", 16) for priority in range(8)),
    ),
    "ethernetpause": (*_CONTROL, Field("control_op_code", 16, 1), Field("time", 16)),
}
"""Header -> its fields. A VLAN tag lies behind the type of the header before, as `ether_type` of
that names the tag; `tpid` is the type of what follows the tag."""
FIRST = ("ethernet", "pfcpause", "ethernetpause")
"""Headers that a frame begins with."""
FOLLOWERS: dict[str, tuple[str, ...]] = {
    "ethernet": ("vlan", "ipv4", "ipv6"),
    "vlan": ("vlan", "ipv4", "ipv6"),
    "ipv4": ("udp",),
    "ipv6": ("udp",),
    "udp": (),
    "pfcpause": (),
    "ethernetpause": (),
}
"""Header -> headers that may follow it."""
ETHER_TYPES = {"vlan": 0x8100, "ipv4": 0x0800, "ipv6": 0x86DD}
UDP_PROTOCOL = 17


def octets_of(header: str) -> int:
    """Length of a header (octets)."""
    return sum(field.bits for field in HEADERS[header]) // 8


def parse_value(given: object, field: Field) -> int:
    """A value in the notation of its field. Raises ValueError with what is accepted."""
    highest = (1 << field.bits) - 1
    if field.notation == "number":
        if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= highest:
            raise ValueError(f"an integer from 0 to {highest} is expected")
        return given
    if field.notation == "mac":
        words = str(given).split(":")
        if len(str(given)) != MAC_LENGTH or len(words) != 6:
            raise ValueError("an address such as 00:00:01:00:00:02 is expected")
        try:
            return int("".join(words), 16)
        except ValueError:
            raise ValueError("an address such as 00:00:01:00:00:02 is expected") from None
    try:
        address = (
            ipaddress.IPv4Address(str(given))
            if field.notation == "ipv4"
            else ipaddress.IPv6Address(str(given))
        )
    except ValueError:
        example = "192.0.2.1" if field.notation == "ipv4" else "2001:db8::1"
        raise ValueError(f"an address such as {example} is expected") from None
    return int(address)


def read_pattern(header: Reader, key: str, field: Field) -> tuple[int, ...] | None:
    """Values that a field of a flow's frames goes through; None for `auto`."""
    if not header.has(key):
        return None if field.auto else (field.default,)
    pattern = header.child(key)
    options = ["value", "values", "increment", "decrement", "random"]
    chosen = pattern.choice(options + ["auto"] * field.auto, "auto" if field.auto else "value")
    found: tuple[int, ...] | None
    if chosen == "auto":
        pattern.take("auto")
        found = None
    elif chosen == "value":
        found = (_value(pattern, "value", field),)
        if field.auto and found == (field.default,) and field.default == 0xFFFF:
            found = None  # the model's default of types stands for `auto`
    elif chosen == "values":
        found = tuple(_parsed(pattern, "values", one, field) for one in pattern.items("values"))
    elif chosen == "random":
        found = _random(pattern.child("random"), field)
    else:
        found = _counter(pattern.child(chosen), field, -1 if chosen == "decrement" else 1)
    if found is not None and not 1 <= len(found) <= MOST_VALUES:
        pattern.refuse(chosen, f"{len(found)} values", f"1 to {MOST_VALUES} values are expected")
        found = (field.default,)
    pattern.close()
    return found


def _parsed(reader: Reader, key: str, given: object, field: Field) -> int:
    try:
        return parse_value(given, field)
    except ValueError as wrong:
        reader.refuse(key, given, str(wrong))
        return field.default


def _value(reader: Reader, key: str, field: Field, default: int | None = None) -> int:
    if not reader.has(key):
        return field.default if default is None else default
    return _parsed(reader, key, reader.take(key), field)


def _counter(counter: Reader, field: Field, sign: int) -> tuple[int, ...]:
    """Values of `increment` and `decrement`: start, step (default 1), count (default 1)."""
    first = _value(counter, "start", field)
    step = _value(counter, "step", field, 1)
    count = counter.number("count", 1, 1, MOST_VALUES)
    counter.close()
    return tuple((first + sign * step * row) % (1 << field.bits) for row in range(count))


def _random(drawn: Reader, field: Field) -> tuple[int, ...]:
    """`count` values (default 1) from `min` to `max`, drawn with `seed` (default 1)."""
    low = _value(drawn, "min", field, 0)
    high = _value(drawn, "max", field, (1 << field.bits) - 1)
    count = drawn.number("count", 1, 1, MOST_VALUES)
    seed = drawn.number("seed", 1, 0, 2**32 - 1)
    if high < low:
        drawn.refuse("max", high, f"at least `min`, {low}, is expected")
        high = low
    drawn.close()
    generator = random.Random(seed)
    return tuple(generator.randint(low, high) for _ in range(count))
