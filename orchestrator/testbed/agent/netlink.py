"""Interfaces and sockets of this process's network namespace, read by netlink.

Plain netlink (linux/rtnetlink.h, linux/unix_diag.h): ioctls know IPv4 alone, and sysfs the
namespace that it was mounted in.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

ROUTE, DIAGNOSIS = 0, 4
REQUEST_DUMP = 0x301
ERROR, DONE = 2, 3
GET_LINK, GET_ADDRESS, BY_FAMILY = 18, 22, 20
NAME, LINK, MASTER, INFO, FOREIGN = 3, 5, 10, 18, 37
"""Attributes of a link: its name, what it lies on, what it is a port of, its kind, and whether what
it lies on is in another namespace."""
SHOW_NAME_AND_OWNER = 0x01 | 0x40
SOCKET_NAME, SOCKET_OWNER = 0, 7
LOCAL, ADDRESS = 2, 1
LINK_SCOPE = 253
RECEIVED = 1 << 16


@dataclass(frozen=True)
class Link:
    """An interface. `over` and `master` are interface indices, 0 for none."""

    index: int
    name: str
    master: int
    over: int


def links() -> list[Link]:
    """All interfaces."""
    found = []
    for body in _dump(ROUTE, GET_LINK, struct.pack("16x")):
        has = _attributes(body[16:])
        beyond = FOREIGN in has or _kind(has.get(INFO, b"")) == b"veth"
        lies_on = 0 if beyond else _number(has, LINK)
        (index,) = struct.unpack_from("i", body, 4)
        name = has.get(NAME, b"").rstrip(b"\0").decode("utf-8", "replace")
        found.append(Link(index, name, _number(has, MASTER), lies_on))
    return found


def addresses(index: int) -> list[IPv4Address | IPv6Address]:
    """Addresses of an interface by which it is reached; those that every link gives itself (IPv6,
    link-local) are none."""
    found = []
    for body in _dump(ROUTE, GET_ADDRESS, struct.pack("8x")):
        family, _, _, scope, of = struct.unpack_from("=BBBBi", body)
        has = _attributes(body[8:])
        octets = has.get(LOCAL) or has.get(ADDRESS)
        automatic = family == socket.AF_INET6 and scope == LINK_SCOPE
        if of == index and octets and not automatic:
            found.append(ip_address(octets))
    return found


def holders(name: str) -> list[int]:
    """User numbers of the processes that have bound an abstract socket of this name. Raises
    OSError: unknown."""
    wanted = b"\0" + name.encode()
    body = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, 2**32 - 1, 0, SHOW_NAME_AND_OWNER, 0, 0)
    found = []
    for entry in _dump(DIAGNOSIS, BY_FAMILY, body):
        has = _attributes(entry[16:])
        if has.get(SOCKET_NAME, b"").startswith(wanted):
            found.append(_number(has, SOCKET_OWNER))
    return found


def _kind(info: bytes) -> bytes:
    return _attributes(info).get(1, b"").rstrip(b"\0")


def _number(has: dict[int, bytes], key: int) -> int:
    return int(struct.unpack("I", has[key])[0]) if len(has.get(key, b"")) == 4 else 0


def _attributes(octets: bytes) -> dict[int, bytes]:
    found = {}
    while len(octets) >= 4:
        length, kind = struct.unpack_from("HH", octets)
        if length < 4:
            break
        found[kind & 0x3FFF] = octets[4:length]
        octets = octets[(length + 3) & ~3 :]
    return found


def _dump(protocol: int, kind: int, body: bytes) -> Iterator[bytes]:
    """The bodies of all answers to a request for everything."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as kernel:
        kernel.send(struct.pack("IHHII", 16 + len(body), kind, REQUEST_DUMP, 1, 0) + body)
        while True:
            octets = kernel.recv(RECEIVED)
            while len(octets) >= 16:
                length, what = struct.unpack_from("IH", octets)
                if what == ERROR:
                    code = -struct.unpack_from("i", octets, 16)[0]
                    raise OSError(code, os.strerror(code))
                if what == DONE:
                    return
                yield octets[16:length]
                octets = octets[(length + 3) & ~3 :]
