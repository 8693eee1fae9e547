"""Claims on the NICs of a machine: survey, exclusive use, set-up, restore."""

from __future__ import annotations

import os
import re
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.targets.software.offloads import switch_off
from orchestrator.testbed.agent import ethtool, hardware_timestamps, netlink
from orchestrator.testbed.agent.agent_messages import NIC, Nic
from orchestrator.testbed.wire.envelope import Unacceptable


def survey() -> list[Nic]:
    """Every interface of this machine but the loopback."""
    found = []
    for index, name in socket.if_nameindex():
        with suppress(OSError, ValueError):  # it went away while we looked
            flags = ethtool.flags(name)
            if flags & ethtool.LOOPBACK:
                continue
            stamps, clock = ethtool.timestamping(name)
            found.append(
                Nic(
                    name=name,
                    mac=ethtool.mac(name),
                    speed_mbps=ethtool.speed_mbps(name),
                    mtu=ethtool.mtu(name),
                    driver=ethtool.driver(name),
                    up=bool(flags & ethtool.UP),
                    carrier=bool(flags & ethtool.RUNNING),
                    address=next(map(str, netlink.addresses(index)), None),
                    offloads=ethtool.offloads(name),
                    timestamping=stamps,
                    ptp_clock=clock,
                )
            )
    return found


def check(name: str, *, in_use: bool = False) -> None:
    """Raises Unacceptable for a NIC that is not there, or in use: as a way to this machine, as a
    port of a bridge or bond, or by an interface that lies on it. With `in_use` those pass, too, but
    for the loopback."""
    if not re.fullmatch(NIC, name):
        raise Unacceptable("no-nic", f"{name[:20]!r} is no name of a NIC")
    links = netlink.links()
    mine = next((link for link in links if link.name == name), None)
    if mine is None:
        known = ", ".join(nic.name for nic in survey()) or "none"
        raise Unacceptable("no-nic", f"there is no NIC {name}; there are: {known}")
    if in_use and not ethtool.flags(name) & ethtool.LOOPBACK:
        return
    if (use := _use(mine, links)) is not None:
        raise Unacceptable(
            "nic-in-use", f"NIC {name} {use}; only NICs that nothing uses are leased"
        )


def _use(mine: netlink.Link, links: list[netlink.Link]) -> str | None:
    """Use of a NIC by others; None: unused."""
    if ethtool.flags(mine.name) & ethtool.LOOPBACK:
        return "is the loopback"
    if found := netlink.addresses(mine.index):
        return f"has the address {found[0]}: it may be the way to this machine"
    if mine.master:
        master = next((link.name for link in links if link.index == mine.master), "another")
        return f"is a port of {master}"
    if above := [link.name for link in links if link.over == mine.index]:
        return f"carries {above[0]}"
    if ports := [link.name for link in links if link.master == mine.index]:
        return f"has the port {ports[0]}"
    return None


def _held(name: str) -> str:
    return f"tailback/nic/{name}/"


def _ipv6(name: str) -> Path:
    return Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")


@dataclass
class Claim:
    """Exclusive claim of this process on a NIC.

    What holds it is a socket of an abstract name in the network namespace in which the NIC's own
    name means something: the kernel lets it go with the process, and nothing lies about. Anybody
    can bind such a name; so each holder has one of its own, and those of strangers do not count.
    """

    name: str
    lock: socket.socket
    before: dict[str, Any] = field(default_factory=dict)
    """What it was like; `hardware_timestamps` and `launches` where those are asked for alone."""

    @classmethod
    def make(
        cls, name: str, stamps: bool = False, launches: bool = False, *, in_use: bool = False
    ) -> Claim:
        """Claim a NIC, which is to take times, or to launch frames, when it is set up. Raises
        Unacceptable: there is none, it is in use, or held by another."""
        check(name, in_use=in_use)
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0{_held(name)}{secrets.token_hex(8)}")
            theirs = [user for user in netlink.holders(_held(name)) if user in (0, os.getuid())]
        except OSError:
            lock.close()
            raise
        if len(theirs) > 1:  # ours is one of them
            lock.close()
            raise Unacceptable("nic-held", f"NIC {name} is held by another agent of this machine")
        claim = cls(name, lock)
        claim.before = {
            "up": bool(ethtool.flags(name) & ethtool.UP),
            "offloads": ethtool.offloads(name),
            "ipv6_off": _ipv6(name).read_text().strip() if _ipv6(name).exists() else None,
        }
        if stamps:
            claim.before["stamping"] = list(hardware_timestamps.setting(name))
        if launches:
            claim.before["launches"] = False
        return claim

    def prepare(self) -> dict[str, bool | None]:
        """Up, silent, without offloads; the offloads as they are then. Raises Unacceptable for
        times, or launches, that it does not have."""
        with suppress(OSError):  # without the privilege it stays as it is; frames would tell
            if self.before["ipv6_off"] is not None:
                _ipv6(self.name).write_text("1")
        state = switch_off(self.name)
        ethtool.set_up(self.name, True)
        if "stamping" in self.before:
            hardware_timestamps.enable_timestamps(self.name)
        if "launches" in self.before:
            hardware_timestamps.enable_launch_time(self.name)
        return state

    def release(self) -> None:
        """Put everything back as it was and let go."""
        restore(self.name, self.before)
        self.lock.close()


def restore(name: str, before: dict[str, Any]) -> None:
    """Put a NIC back into the state that a claim found it in; nothing to do when it is gone."""
    with suppress(OSError):
        if "launches" in before:
            hardware_timestamps.disable_launch_time(name)
    with suppress(OSError):
        if "stamping" in before:
            hardware_timestamps.set_timestamping(name, tuple(before["stamping"]))
    with suppress(OSError):
        ethtool.set_offloads(name, before["offloads"])
        if before["ipv6_off"] is not None and _ipv6(name).exists():
            _ipv6(name).write_text(before["ipv6_off"])
        ethtool.set_up(name, before["up"])
