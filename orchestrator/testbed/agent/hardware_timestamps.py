"""Hardware timestamping of a NIC: SIOCGHWTSTAMP, SIOCSHWTSTAMP (linux/net_tstamp.h)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import time
from contextlib import suppress

from orchestrator.engine.datapath.launch_time import QUEUE_NS
from orchestrator.targets.software import etf_qdisc, nic_capabilities, ptp_clock
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
        return _hwtstamp_ioctl(SIOCGHWTSTAMP, nic, OFF)
    return OFF


def set_timestamping(nic: str, wanted: Setting) -> Setting:
    """Set a NIC; returns the driver's setting, which may include more. Raises OSError."""
    return _hwtstamp_ioctl(SIOCSHWTSTAMP, nic, wanted)


def enable_timestamps(nic: str) -> None:
    """Enable timestamps of all frames. Raises Unacceptable, by name, for a NIC without them."""
    if lacks := nic_capabilities.lacking(nic):
        raise Unacceptable("stamps", f"NIC {nic} has no {', no '.join(lacks)}")
    try:
        does = set_timestamping(nic, ON)
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


def _hwtstamp_ioctl(number: int, nic: str, wanted: Setting) -> Setting:
    memory = ctypes.create_string_buffer(struct.pack("3i", *wanted), 12)
    request = struct.pack("16sP8x", nic.encode(), ctypes.addressof(memory))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control.fileno(), number, request)
    flags, sent, received = struct.unpack("3i", memory.raw)
    return flags, sent, received


def enable_launch_time(nic: str) -> None:
    """Enable launch times of a NIC. Raises Unacceptable, by name, for what it lacks."""
    index = socket.if_nametoindex(nic)
    handle, kind = etf_qdisc.root(index)
    if handle not in (0, etf_qdisc.HANDLE):
        text = f"NIC {nic} has a queueing discipline of its own ({kind}), which stays"
        raise Unacceptable("launch", text)
    try:
        etf_qdisc.enable_etf(index, queues(nic))
    except OSError as error:
        raise Unacceptable(
            "launch", f"NIC {nic} has no launch times: {etf_qdisc.why(error)}"
        ) from None
    _check_clock(nic)


def disable_launch_time(nic: str) -> None:
    """Restore the ordinary queues of a NIC that has `etf_qdisc`. Raises OSError."""
    index = socket.if_nametoindex(nic)
    if etf_qdisc.root(index)[0] == etf_qdisc.HANDLE:
        etf_qdisc.disable_etf(index)


def queues(nic: str) -> int:
    """Number of transmit queues of a NIC."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        link = netlink.link("get", index=socket.if_nametoindex(nic))[0]
    return int(link.get_attr("IFLA_NUM_TX_QUEUES") or 1)


def _check_clock(nic: str) -> None:
    """A NIC launches by its own clock at what CLOCK_TAI is to be: both have to tell the same."""
    clock = open_clock(nic)
    try:
        reading = ptp_clock.read(clock)
    except OSError as error:
        text = f"the clock of NIC {nic} cannot be read ({error.strerror})"
        raise Unacceptable("launch", text) from None
    finally:
        os.close(clock)
    ahead = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
    apart = abs(reading.own_ns - reading.system_ns - round(ahead / 10**9) * 10**9)
    if apart > QUEUE_NS:
        raise Unacceptable(
            "launch",
            f"the clock of NIC {nic} is {apart / 1e9:g} s from CLOCK_TAI, and {QUEUE_NS / 1e9:g} s "
            f"are accepted; `phc2sys -s CLOCK_REALTIME -c {nic} -O 37` keeps it there",
        )
