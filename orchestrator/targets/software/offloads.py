"""Offloads of an interface, read and switched off by ioctl (linux/ethtool.h, linux/sockios.h)."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from contextlib import suppress

SIOCETHTOOL = 0x8946
OFFLOADS = {  # name: (command that reads, command that sets)
    "rx_checksum": (0x14, 0x15),
    "tx_checksum": (0x16, 0x17),
    "scatter_gather": (0x18, 0x19),
    "tso": (0x1E, 0x1F),
    "gso": (0x23, 0x24),
    "gro": (0x2B, 0x2C),
}


def ioctl(control: socket.socket, interface: str, command: int, value: int) -> int:
    """Call one ethtool command that has one value; the value afterwards."""
    request = ctypes.create_string_buffer(struct.pack("II", command, value))
    fcntl.ioctl(
        control.fileno(),
        SIOCETHTOOL,
        struct.pack("16sP8x", interface.encode(), ctypes.addressof(request)),
    )
    result: int = struct.unpack_from("II", request)[1]
    return result


def switch_off(interface: str) -> dict[str, bool | None]:
    """Switch every offload off in the calling thread's namespace; the state that it is in then.

    None: could not be read. GRO on a veth would also defer its receive path.
    """
    state: dict[str, bool | None] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, (read, write) in OFFLOADS.items():
            with suppress(OSError):  # the state that is read next says so
                ioctl(control, interface, write, 0)
            try:
                state[name] = bool(ioctl(control, interface, read, 0))
            except OSError:
                state[name] = None
    return state
