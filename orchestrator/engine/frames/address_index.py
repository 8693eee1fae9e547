"""Address indices, and the MAC and IPv4 addresses that they stand for.

Every port of an emulated node, and every flow, has an address index of 24 bits. Index i is the
locally administered MAC 02:54:42:xx:xx:xx and the IPv4 address 10.x.y.z with i in the last three
octets, so a capture can be read without a table. An index of a group of nodes has GROUP in it: it
is the multicast MAC 03:54:42:xx:xx:xx and the IPv4 address 239.x.y.z (RFC 2365), with the rest of
the index in the last three octets.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled

MAC_PREFIX = 0x025442 << 24
MULTICAST = 1 << 40
"""The bit of a MAC address that makes it one of a group."""
IP_PREFIX = 10 << 24
GROUP_IP_PREFIX = 239 << 24
ADDRESSES = 1 << 24
GROUP = 1 << 24
"""In an address index: that of a group of nodes."""
UNKNOWN = -1


@compiled
def mac_of(index: int) -> int:
    """The MAC address of an address index, as a 48-bit integer."""
    return MAC_PREFIX | ((index & GROUP) << 16) | (index & 0xFFFFFF)


@compiled
def ip_of(index: int) -> int:
    """The IPv4 address of an address index, as a 32-bit integer."""
    if index & GROUP != 0:
        return GROUP_IP_PREFIX | (index & 0xFFFFFF)
    return IP_PREFIX | (index & 0xFFFFFF)


@compiled
def index_of_mac(mac: int) -> int:
    """The address index of a MAC address; UNKNOWN when it is not an emulated one."""
    if mac & ~0xFFFFFF & ~MULTICAST != MAC_PREFIX:
        return UNKNOWN
    return ((mac & MULTICAST) >> 16) | (mac & 0xFFFFFF)


@compiled
def row_of(index: int) -> int:
    """The row of an address index in tables of addresses, those of groups included."""
    return index & 0xFFFFFF


@compiled
def index_of_ip(ip: int) -> int:
    """The address index of an IPv4 address; UNKNOWN when it is not an emulated one."""
    if ip & ~0xFFFFFF == GROUP_IP_PREFIX:
        return GROUP | (ip & 0xFFFFFF)
    if ip & ~0xFFFFFF != IP_PREFIX:
        return UNKNOWN
    return ip & 0xFFFFFF


def mac_text(index: int) -> str:
    """The MAC address of an index as text: `02:54:42:00:00:07`."""
    return ":".join(f"{octet:02x}" for octet in int(mac_of(index)).to_bytes(6, "big"))


def ip_text(index: int) -> str:
    """The IPv4 address of an index as text: `10.0.0.7`."""
    return ".".join(str(octet) for octet in int(ip_of(index)).to_bytes(4, "big"))
