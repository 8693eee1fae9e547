"""Hardware timestamping of a NIC: SIOCGHWTSTAMP, SIOCSHWTSTAMP (linux/net_tstamp.h)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from contextlib import suppress

from orchestrator.targets.software import nics
from orchestrator.testbed.agent import ethtool
from orchestrator.testbed.wire.envelope import Unacceptable

SIOCSHWTSTAMP, SIOCGHWTSTAMP = 0x89B0, 0x89B1
OFF = (0, 0, 0)
"""struct hwtstamp_config: flags, what is sent (HWTSTAMP_TX_OFF), what comes in
(HWTSTAMP_FILTER_NONE)."""
ON = (0, 1, 1)
"""HWTSTAMP_TX_ON, HWTSTAMP_FILTER_ALL."""

Setting = tuple[int, int, int]


def setting(nic: str) -> Setting:
    """Timestamping setting of a NIC; OFF where its driver cannot report it, as none can be set
    then."""
    with suppress(OSError):
        return _ask(SIOCGHWTSTAMP, nic, OFF)
    return OFF


def put(nic: str, wanted: Setting) -> Setting:
    """Set a NIC; returns the driver's setting, which may include more. Raises OSError."""
    return _ask(SIOCSHWTSTAMP, nic, wanted)


def turn_on(nic: str) -> None:
    """Enable timestamps of all frames. Raises Unacceptable, by name, for a NIC without them."""
    if lacks := nics.lacking(nic):
        raise Unacceptable("stamps", f"NIC {nic} has no {', no '.join(lacks)}")
    try:
        does = put(nic, ON)
    except OSError as error:
        text = f"NIC {nic} does not take times of all frames ({error.strerror})"
        raise Unacceptable("stamps", text) from None
    if does[1:] != ON[1:]:
        text = f"NIC {nic} takes times of some frames alone (filter {does[2]}), not of all"
        raise Unacceptable("stamps", text)


def open_clock(nic: str) -> int:
    """A descriptor of a NIC's clock. Raises Unacceptable."""
    _, number = ethtool.timestamping(nic)
    try:
        return os.open(f"/dev/ptp{number}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        text = f"the clock of NIC {nic} cannot be read: /dev/ptp{number}: {error.strerror}"
        raise Unacceptable("stamps", text) from None


def _ask(number: int, nic: str, wanted: Setting) -> Setting:
    memory = ctypes.create_string_buffer(struct.pack("3i", *wanted), 12)
    request = struct.pack("16sP8x", nic.encode(), ctypes.addressof(memory))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control.fileno(), number, request)
    flags, sent, received = struct.unpack("3i", memory.raw)
    return flags, sent, received
