"""Capabilities of this machine's NICs: hardware timestamps, AF_XDP in the driver.

Asked of the kernel: ETHTOOL_GET_TS_INFO, and the generic netlink family `netdev` (Linux 6.3 and
later; before that nothing is known of AF_XDP).
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field

from orchestrator.errors import Refused
from orchestrator.target import OptionalFeature
from orchestrator.targets.software.offloads import SIOCETHTOOL

DRIVER_INFO, TIMESTAMPING = 0x3, 0x41
SEND_BY_HARDWARE, RECEIVE_BY_HARDWARE, HARDWARE_CLOCK = 0, 2, 6
"""Bits of so_timestamping (linux/net_tstamp.h)."""
BASIC, ZERO_COPY = 0, 3
"""Bits of enum netdev_xdp_act: XDP in the driver; AF_XDP without a copy."""
RECEIVE_TIME = 0
"""Bit of enum netdev_xdp_rx_metadata: an XDP program can read when a frame came."""
SEND_TIME, LAUNCH_TIME = 0, 2
"""Bits of enum netdev_xsk_flags: AF_XDP reports transmit times, or takes launch times."""
DEV_GET = 1


@dataclass(frozen=True)
class Abilities:
    """Capabilities of a NIC and its driver."""

    name: str
    driver: str | None
    stamping: int
    """so_timestamping, 0 where it could not be read."""
    xdp: int = 0
    received: int = 0
    sent: int = 0
    known: bool = field(default=False)
    """Whether the kernel tells of AF_XDP."""

    @property
    def able(self) -> dict[str, bool]:
        """By what it is called in `tailback doctor`."""
        found = {
            "receive times by hardware": bool(self.stamping >> RECEIVE_BY_HARDWARE & 1),
            "send times by hardware": bool(self.stamping >> SEND_BY_HARDWARE & 1),
            "hardware clock": bool(self.stamping >> HARDWARE_CLOCK & 1),
        }
        if not self.known:
            return found
        return found | {
            "XDP in the driver": bool(self.xdp >> BASIC & 1),
            "AF_XDP without a copy": bool(self.xdp >> ZERO_COPY & 1),
            "receive times in AF_XDP": bool(self.received >> RECEIVE_TIME & 1),
            "send times in AF_XDP": bool(self.sent >> SEND_TIME & 1),
            "launch times (SO_TXTIME) in AF_XDP": bool(self.sent >> LAUNCH_TIME & 1),
        }


TIMES = ("receive times by hardware", "send times by hardware", "hardware clock")
"""What the option --stamps hardware takes, as `Abilities.able` calls it."""


def lacking(name: str) -> list[str]:
    """Capabilities of TIMES that an interface of this network namespace lacks, all where
    unknown."""
    able = Abilities(name, None, _stamping(name)).able
    return [what for what in TIMES if not able[what]]


def describe_nic(nic: Abilities) -> OptionalFeature:
    """Line of `tailback doctor` about a NIC, with the names of missing capabilities."""
    there = ", ".join(name for name, able in nic.able.items() if able)
    not_there = ", ".join(name for name, able in nic.able.items() if not able)
    who = f"NIC {nic.name}"
    driver = nic.driver or "driver unknown"
    if not not_there:
        return OptionalFeature(who, f"{driver}: {there}", None)
    has = f"{driver} has {there}, and " if there else f"{driver} has "
    hardware = not any(what in not_there for what in TIMES)
    accepted = "software, hardware, auto" if hardware else "software, auto"
    remedy = f"Nothing that runs needs it. stamps in a testbed's inventory: {accepted}."
    return OptionalFeature(
        who, "", Refused(who, f"{has}no {not_there.replace(', ', ', no ')}", remedy)
    )


def list_nics() -> list[Abilities]:
    """The NICs of this process's network namespace that have hardware or a driver of their own."""
    known = _netdev()
    found = []
    for index, name in socket.if_nameindex():
        driver = _driver(name)
        if driver in (None, "veth", "tun", "bridge", "dummy", "ifb"):
            continue
        flags = known.get(index)
        found.append(
            Abilities(name, driver, _stamping(name), *(flags or (0, 0, 0)), flags is not None)
        )
    return found


def _stamping(nic: str) -> int:
    with suppress(OSError):
        stamping: int = struct.unpack_from("I", _ethtool_answer(nic, TIMESTAMPING, 40), 4)[0]
        return stamping
    return 0


def _driver(nic: str) -> str | None:
    with suppress(OSError):
        return (
            _ethtool_answer(nic, DRIVER_INFO, 192)[4:36].split(b"\0")[0].decode("ascii", "replace")
        )
    return None


def _ethtool_answer(nic: str, command: int, room: int) -> bytes:
    """Answer to an ethtool command, behind the command's number. Raises OSError."""
    memory = ctypes.create_string_buffer(struct.pack("I", command), 4 + room)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sP8x", nic.encode(), ctypes.addressof(memory))
        fcntl.ioctl(control.fileno(), SIOCETHTOOL, request)
    return memory.raw


def _netdev() -> dict[int, tuple[int, int, int]]:
    """Interface index -> its XDP, receive metadata and AF_XDP flags; empty without that family."""
    from pyroute2.netlink import NLM_F_REQUEST, genlmsg
    from pyroute2.netlink.exceptions import NetlinkError
    from pyroute2.netlink.generic import GenericNetlinkSocket

    class Device(genlmsg):
        nla_map = (
            ("none", "none"),
            ("index", "uint32"),
            ("pad", "none"),
            ("xdp", "uint64"),
            ("segments", "uint32"),
            ("received", "uint64"),
            ("sent", "uint64"),
        )

    found = {}
    with suppress(NetlinkError, OSError), GenericNetlinkSocket() as netlink:
        netlink.bind("netdev", Device)
        for index, _ in socket.if_nameindex():
            message = Device()
            message["cmd"], message["version"] = DEV_GET, 1
            message["attrs"] = [("index", index)]
            asked = netlink.nlm_request(message, msg_type=netlink.prid, msg_flags=NLM_F_REQUEST)
            for answer in asked:
                flags = [answer.get_attr(key) or 0 for key in ("xdp", "received", "sent")]
                found[index] = (flags[0], flags[1], flags[2])
    return found
