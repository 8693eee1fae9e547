"""The NICs of a machine: what they are, who holds them, what they were like before."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.targets.software.offloads import switch_off
from orchestrator.testbed.agent import ethtool
from orchestrator.testbed.agent.protocol import Nic
from orchestrator.testbed.wire.envelope import Unacceptable


def survey() -> list[Nic]:
    """Every interface of this machine but the loopback."""
    found = []
    for _, name in socket.if_nameindex():
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
                    address=ethtool.address(name),
                    offloads=ethtool.offloads(name),
                    timestamping=stamps,
                    ptp_clock=clock,
                )
            )
    return found


def check(name: str) -> None:
    """Raises Unacceptable for a NIC that is not there, or in use as a way to this machine."""
    try:
        ethtool.flags(name)
    except OSError:
        known = ", ".join(nic.name for nic in survey()) or "none"
        raise Unacceptable("no-nic", f"there is no NIC {name}; there are: {known}") from None
    if (address := ethtool.address(name)) is not None:
        raise Unacceptable(
            "nic-in-use",
            f"NIC {name} has the address {address}: it may be the way to this machine; only "
            "NICs without an address are leased",
        )


def _ipv6(name: str) -> Path:
    return Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")


@dataclass
class Claim:
    """One NIC held by this process, and nobody else on this machine.

    What holds it is a socket of an abstract name in the network namespace in which the NIC's own
    name means something: the kernel lets it go with the process, and nothing lies about.
    """

    name: str
    lock: socket.socket
    before: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def make(cls, name: str) -> Claim:
        """Claim a NIC. Raises Unacceptable: there is none, it is in use, or held by another."""
        check(name)
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0tailback/nic/{name}")
        except OSError as error:
            lock.close()
            if error.errno != errno.EADDRINUSE:
                raise
            raise Unacceptable(
                "nic-held", f"NIC {name} is held by another agent of this machine"
            ) from None
        claim = cls(name, lock)
        claim.before = {
            "up": bool(ethtool.flags(name) & ethtool.UP),
            "offloads": ethtool.offloads(name),
            "ipv6_off": _ipv6(name).read_text().strip() if _ipv6(name).exists() else None,
        }
        return claim

    def prepare(self) -> dict[str, bool | None]:
        """Up, silent, without offloads; the offloads as they are then."""
        with suppress(OSError):  # without the privilege it stays as it is; frames would tell
            if self.before["ipv6_off"] is not None:
                _ipv6(self.name).write_text("1")
        state = switch_off(self.name)
        ethtool.set_up(self.name, True)
        return state

    def release(self) -> None:
        """Put everything back as it was and let go."""
        restore(self.name, self.before)
        self.lock.close()


def restore(name: str, before: dict[str, Any]) -> None:
    """Put a NIC back into the state that a claim found it in; nothing to do when it is gone."""
    with suppress(OSError):
        ethtool.set_offloads(name, before["offloads"])
        if before["ipv6_off"] is not None and _ipv6(name).exists():
            _ipv6(name).write_text(before["ipv6_off"])
        ethtool.set_up(name, before["up"])
