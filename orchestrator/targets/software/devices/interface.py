"""State of one named interface of this network namespace: MTU, carrier, losses."""

from __future__ import annotations

import fcntl
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from orchestrator.targets.software.devices.ears import PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC
from orchestrator.targets.software.sockets import ETH_P_ALL, SOL_PACKET

SIOCGIFFLAGS, SIOCGIFMTU = 0x8913, 0x8921
RUNNING = 0x40
LOST = (3, 11, 12)
"""Columns of /proc/net/dev, from 1: what came damaged; what was to be sent and was not."""


@dataclass(frozen=True)
class Counters:
    """Counters of an interface."""

    lost: int

    def __sub__(self, other: Counters) -> Counters:
        return Counters(self.lost - other.lost)


def _asked(number: int, name: str) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        return fcntl.ioctl(control.fileno(), number, struct.pack("16s24x", name.encode()))[16:]


def has_carrier(name: str) -> bool:
    """Return whether an interface is up and has a carrier. Raises OSError."""
    flags: int = struct.unpack_from("H", _asked(SIOCGIFFLAGS, name))[0]
    return bool(flags & RUNNING)


def mtu(name: str) -> int:
    """Octets behind the Ethernet header. Raises OSError."""
    number: int = struct.unpack_from("i", _asked(SIOCGIFMTU, name))[0]
    return number


def counters(name: str) -> Counters:
    """Current counters. Raises OSError where there is no such interface."""
    for line in Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        found, _, rest = line.partition(":")
        if found.strip() == name:
            words = rest.split()
            return Counters(sum(int(words[column - 1]) for column in LOST))
    raise OSError(f"no interface {name}")


def hear_everything(raw: socket.socket, name: str) -> None:
    """Bind a packet socket to one interface, in promiscuous mode."""
    request = struct.pack("iHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
    raw.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
    raw.bind((name, ETH_P_ALL))
