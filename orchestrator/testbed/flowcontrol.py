"""PAUSE settings of a NIC: read, disabled, restored (ETHTOOL_GPAUSEPARAM, linux/ethtool.h).

A NIC that takes part in flow control obeys a PAUSE itself, holds our frames by itself, and shows
us nothing of it. Many NICs never pass a PAUSE to the host: then only held frames show that a device
pauses.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from contextlib import suppress

from orchestrator.targets.software.offloads import SIOCETHTOOL

GET, SET = 0x12, 0x13
LAYOUT = "IIII"
"""Command, then whether it negotiates, obeys (rx) and sends (tx)."""
Words = dict[str, bool]


def _asked(nic: str, *words: int) -> tuple[int, ...]:
    request = ctypes.create_string_buffer(struct.pack(LAYOUT, *words), struct.calcsize(LAYOUT))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        told = struct.pack("16sP8x", nic.encode(), ctypes.addressof(request))
        fcntl.ioctl(control.fileno(), SIOCETHTOOL, told)
    return struct.unpack(LAYOUT, request.raw)[1:]


def read(nic: str) -> Words | None:
    """PAUSE parameters of a NIC; None where it has no flow control, or cannot report it."""
    with suppress(OSError):
        negotiates, obeys, sends = _asked(nic, GET, 0, 0, 0)
        return {"negotiates": bool(negotiates), "obeys": bool(obeys), "sends": bool(sends)}
    return None


def switch_off(nic: str) -> Words | None:
    """Have it neither obey nor send any; how it is then."""
    return restore(nic, {"negotiates": False, "obeys": False, "sends": False})


def restore(nic: str, words: Words | None) -> Words | None:
    """Put it back; nothing to do where it was not known. How it is then."""
    if words is not None and read(nic) not in (None, words):
        with suppress(OSError):  # the resulting state is read back below
            _asked(nic, SET, words["negotiates"], words["obeys"], words["sends"])
    return read(nic)
