"""Address indices and what they stand for on the wire.

Every port of an emulated node, and every flow, has an address index of 24 bits. Index i is the
locally administered MAC 02:54:42:xx:xx:xx and the IPv4 address 10.x.y.z with i in the last three
octets, so a capture can be read without a table.
"""

from __future__ import annotations

from orchestrator.jit import compiled

MAC_PREFIX = 0x025442 << 24
IP_PREFIX = 10 << 24
ADDRESSES = 1 << 24
UNKNOWN = -1


@compiled
def mac_of(index):  # type: ignore[no-untyped-def]
    """The MAC address of an address index, as a 48-bit integer."""
    return MAC_PREFIX | (index & 0xFFFFFF)


@compiled
def ip_of(index):  # type: ignore[no-untyped-def]
    """The IPv4 address of an address index, as a 32-bit integer."""
    return IP_PREFIX | (index & 0xFFFFFF)


@compiled
def index_of_mac(mac):  # type: ignore[no-untyped-def]
    """The address index of a MAC address; UNKNOWN when it is not one of ours."""
    if mac & ~0xFFFFFF != MAC_PREFIX:
        return UNKNOWN
    return mac & 0xFFFFFF


def mac_text(index: int) -> str:
    """The MAC address of an index as text: `02:54:42:00:00:07`."""
    return ":".join(f"{octet:02x}" for octet in int(mac_of(index)).to_bytes(6, "big"))


def ip_text(index: int) -> str:
    """The IPv4 address of an index as text: `10.0.0.7`."""
    return ".".join(str(octet) for octet in int(ip_of(index)).to_bytes(4, "big"))
