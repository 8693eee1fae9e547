"""Reading and setting network interfaces by ioctl, in the network namespace of this process.

Plain system calls (linux/sockios.h, linux/ethtool.h): sysfs shows the interfaces of the namespace
it was mounted in, which is not always ours.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from contextlib import suppress
from pathlib import Path

from orchestrator.targets.software.offloads import OFFLOADS, SIOCETHTOOL, ioctl

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCGIFMTU, SIOCGIFHWADDR = 0x8913, 0x8914, 0x8921, 0x8927
UP, RUNNING, LOOPBACK = 0x1, 0x40, 0x8
DRIVER_INFO, LINK_SETTINGS, TIMESTAMPING = 0x3, 0x4C, 0x41
TIMESTAMPS = {
    0: "transmit by hardware",
    1: "transmit by software",
    2: "receive by hardware",
    3: "receive by software",
    6: "hardware clock",
}
"""Bits of so_timestamping (linux/net_tstamp.h)."""
COUNTERS = ("rx_packets", "rx_errors", "rx_dropped", "tx_packets", "tx_errors", "tx_dropped")
_COLUMNS = (2, 3, 4, 10, 11, 12)
"""Of COUNTERS in /proc/net/dev, counted from 1: octets come first, transmit begins at 9."""


def _request(number: int, nic: str, payload: bytes = b"") -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16s24s", nic.encode(), payload)
        return fcntl.ioctl(control.fileno(), number, request)[16:]


def _ethtool(nic: str, data: bytes) -> bytes:
    buffer = ctypes.create_string_buffer(data, len(data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sP8x", nic.encode(), ctypes.addressof(buffer))
        fcntl.ioctl(control.fileno(), SIOCETHTOOL, request)
    return buffer.raw


def flags(nic: str) -> int:
    """The interface's flags. Raises OSError when there is none of that name."""
    number: int = struct.unpack_from("H", _request(SIOCGIFFLAGS, nic))[0]
    return number


def set_up(nic: str, up: bool) -> None:
    """Bring an interface up or down."""
    new = flags(nic) | UP if up else flags(nic) & ~UP
    _request(SIOCSIFFLAGS, nic, struct.pack("H", new & 0xFFFF))


def mtu(nic: str) -> int:
    """Octets behind the Ethernet header."""
    number: int = struct.unpack_from("i", _request(SIOCGIFMTU, nic))[0]
    return number


def mac(nic: str) -> str:
    """The interface's own address."""
    return _request(SIOCGIFHWADDR, nic)[2:8].hex(":")


def driver(nic: str) -> str | None:
    """The name of its driver."""
    with suppress(OSError):
        data = _ethtool(nic, struct.pack("I", DRIVER_INFO) + bytes(192))
        return data[4:36].split(b"\0")[0].decode("ascii", "replace")
    return None


def speed_mbps(nic: str) -> int | None:
    """The link's speed; None when it has none (no carrier) or does not say."""
    with suppress(OSError):
        head = struct.pack("II", LINK_SETTINGS, 0) + bytes(440)
        words = struct.unpack_from("b", _ethtool(nic, head), 18)[0]
        if words < 0:  # the kernel says how many words of link modes it wants to be asked with
            full = bytearray(head)
            struct.pack_into("b", full, 18, -words)
            speed: int = struct.unpack_from("I", _ethtool(nic, bytes(full)), 4)[0]
            return speed if 0 < speed < 2**31 else None
    return None


def timestamping(nic: str) -> tuple[list[str], int | None]:
    """Timestamping flags, and the number of the NIC's PTP clock."""
    with suppress(OSError):
        data = _ethtool(nic, struct.pack("I", TIMESTAMPING) + bytes(40))
        able, clock = struct.unpack_from("Ii", data, 4)
        found = [text for bit, text in TIMESTAMPS.items() if able >> bit & 1]
        return found, clock if clock >= 0 else None
    return [], None


def offloads(nic: str) -> dict[str, bool | None]:
    """Offloads and their states; None: unreadable."""
    state: dict[str, bool | None] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, (read, _) in OFFLOADS.items():
            try:
                state[name] = bool(ioctl(control, nic, read, 0))
            except OSError:
                state[name] = None
    return state


def set_offloads(nic: str, state: dict[str, bool | None]) -> None:
    """Put offloads back; what could not be read stays as it is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, on in state.items():
            if on is not None and name in OFFLOADS:
                with suppress(OSError):  # some follow others; the journal keeps what was meant
                    ioctl(control, nic, OFFLOADS[name][1], int(on))


def counters(nics: list[str]) -> dict[str, dict[str, int]]:
    """The kernel's counters of interfaces, those of /proc/net/dev."""
    found: dict[str, dict[str, int]] = {}
    for line in Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        name, _, rest = line.partition(":")
        if name.strip() in nics:
            words = rest.split()
            found[name.strip()] = {
                key: int(words[place - 1]) for key, place in zip(COUNTERS, _COLUMNS, strict=True)
            }
    return found
