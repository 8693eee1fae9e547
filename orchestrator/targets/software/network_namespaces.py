"""Emulated machines: one network namespace per node, joined by veth pairs, held by descriptors.

Nothing here has a name outside the process: no mount, no file in /var/run/netns. When the process
ends, however it ends, the kernel takes the namespaces and all interfaces in them away.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from orchestrator.errors import Refused, RunFailed
from orchestrator.plan.field_types import LONGEST_FRAME
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.linux_syscalls import CLONE_NEWNET, enter_network, unshare
from orchestrator.targets.software.offloads import switch_off
from orchestrator.targets.software.raw_sockets import open_raw, take_statistics

FIRST_INTERFACE = 2
"""Interface index of port 0 in every namespace; 1 is the loopback."""
MTU = LONGEST_FRAME - 14
TRANSMIT_QUEUE = 1000
UP_S, UP_POLL_S = 5.0, 0.001
IFF_UP, IFF_NOARP, IFF_MULTICAST = 0x1, 0x80, 0x1000
COUNTERS = ("rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_errors", "tx_errors")


class Receiver(Protocol):
    """Receiver of frames: a socket with statistics."""

    def statistics(self) -> tuple[int, int]:
        """Frames that reached it so far, and those of them it had no room for."""


@dataclass
class Machine:
    """Network namespace of a node. Port p is the interface of index FIRST_INTERFACE + p."""

    name: str
    descriptor: int
    peers: list[str] = field(default_factory=list)
    offloads: list[dict[str, bool | None]] = field(default_factory=list)
    raw: socket.socket | None = None
    receivers: list[Receiver] = field(default_factory=list)
    """What takes in its frames where that is not the raw socket."""
    received: int = 0
    dropped: int = 0
    counted: bool = True
    """Whether what is lost in it counts as lost outside the emulated queues."""

    @property
    def interfaces(self) -> list[int]:
        """The interface index of each port."""
        return [FIRST_INTERFACE + port for port in range(len(self.peers))]


class Machines:
    """All emulated machines of this process; make it after `isolation.isolate`."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self._home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def add(self, name: str) -> Machine:
        """Make a machine without ports, in which the kernel itself stays silent."""
        try:
            unshare(CLONE_NEWNET)
        except OSError as refused:
            raise Denied("network namespace", refused) from refused
        try:
            descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            for scope in ("default", "all"):
                _silence_ipv6(scope)
        finally:
            enter_network(self._home)
        machine = self.machines[name] = Machine(name, descriptor)
        return machine

    def join(self, left: str, right: str, mtu: int = MTU, queues: int = 1) -> tuple[int, int]:
        """Join two different machines by a veth pair; the port numbers at both ends."""
        ends = self.machines[left], self.machines[right]
        ports = len(ends[0].peers), len(ends[1].peers)
        options = [
            {
                "ifname": f"p{port}",
                "index": FIRST_INTERFACE + port,
                "mtu": mtu,
                "txqlen": TRANSMIT_QUEUE,
                **({"num_tx_queues": queues, "num_rx_queues": queues} if queues > 1 else {}),
            }
            for port in ports
        ]
        with self._inside(ends[0]), IPRoute() as netlink:
            try:
                peer = {**options[1], "net_ns_fd": ends[1].descriptor}
                netlink.link("add", kind="veth", peer=peer, **options[0])
            except NetlinkError as refused:
                raise Denied(
                    "veth pair", OSError(refused.code, os.strerror(refused.code))
                ) from refused
        for end, port, other in ((ends[0], ports[0], right), (ends[1], ports[1], left)):
            end.peers.append(other)
            self._raise(end, port)
        for end, port in zip(ends, ports, strict=True):
            self._await_up(end, port)
        return ports

    def _raise(self, machine: Machine, port: int) -> None:
        """Bring a port up, without ARP, multicast or offloads."""
        with self._inside(machine):
            machine.offloads.append(switch_off(f"p{port}"))
            with IPRoute() as netlink:
                netlink.link(
                    "set",
                    index=FIRST_INTERFACE + port,
                    flags=IFF_UP | IFF_NOARP,
                    change=IFF_UP | IFF_NOARP | IFF_MULTICAST,
                )

    def _await_up(self, machine: Machine, port: int) -> None:
        """Wait until a port has its carrier: until then the kernel drops what is sent through it.

        It notices the carrier of the end that was raised first a little later, in a thread of its
        own, and gives the interface its transmit queue only then.
        """
        end = time.monotonic() + UP_S
        with self._inside(machine), IPRoute() as netlink:
            while netlink.link("get", index=FIRST_INTERFACE + port)[0].get("operstate") != "UP":
                if time.monotonic() > end:
                    raise RunFailed(
                        f"target software: port {port} of {machine.name} did not come up "
                        f"within {UP_S:g} s"
                    )
                time.sleep(UP_POLL_S)

    def add_host(
        self, node: str, addresses: tuple[str, str], mtu: int, settings: dict[str, str]
    ) -> int:
        """Make the namespace of a node's programs, with its MAC and IPv4 addresses.

        `settings` are those of /proc/sys/net/ipv4. Returns its descriptor.

        It is joined to a machine that has nothing but the host port's socket. There is no ARP:
        every address of the network 10/8 is reached through the one interface, whatever its MAC.
        """
        port, host = self.add(port_of(node)), self.add(host_of(node))
        port.counted = host.counted = False
        self.join(host.name, port.name, mtu)
        with self._inside(host):
            for setting, value in settings.items():
                _set_ipv4(setting, value)
            with IPRoute() as netlink:
                netlink.link("set", index=1, state="up")
                netlink.link("set", index=FIRST_INTERFACE, address=addresses[0])
                netlink.addr("add", index=FIRST_INTERFACE, address=addresses[1], prefixlen=8)
        return host.descriptor

    def open(self, name: str) -> socket.socket:
        """The raw socket of a machine, which serves all its ports."""
        machine = self.machines[name]
        if machine.raw is None:
            with self._inside(machine):
                try:
                    machine.raw = open_raw()
                except OSError as refused:
                    raise Denied("packet socket", refused) from refused
        return machine.raw

    def socket_counters(self, name: str) -> dict[str, int]:
        """Frames that came to a machine's sockets, and those they had no room for, so far."""
        machine = self.machines[name]
        if machine.raw is not None:
            received, dropped = take_statistics(machine.raw)
            machine.received += received
            machine.dropped += dropped
        counts = [receiver.statistics() for receiver in machine.receivers]
        return {
            "received": machine.received + sum(received for received, _ in counts),
            "dropped": machine.dropped + sum(dropped for _, dropped in counts),
        }

    def interface_counters(self, name: str) -> list[dict[str, int]]:
        """The kernel's counters of each port, in the order of ports."""
        rows = [link.get("stats64") for link in self._interfaces(self.machines[name])]
        return [{counter: int(row[counter]) for counter in COUNTERS} for row in rows]

    def mtus(self, name: str) -> list[int]:
        """The MTU of each port, in the order of ports; none of another run's machine."""
        machine = self.machines[name]
        if machine.descriptor < 0:
            return []
        return [int(link.get("mtu")) for link in self._interfaces(machine)]

    def _interfaces(self, machine: Machine) -> list[Any]:
        """Kernel's entry of each port's interface, in the order of ports."""
        with self._inside(machine), IPRoute() as netlink:
            links = {link["index"]: link for link in netlink.get_links()}
        return [links[index] for index in machine.interfaces]

    def losses(self) -> dict[str, int]:
        """Frames lost outside every emulated queue so far, by place; call it when all is quiet.

        "sockets": no room in a receiver's socket. "interfaces": dropped by a sending interface,
        once for every try (see `crossings.given_up`).
        "between": sent by an interface and seen by no socket, by difference. The interfaces'
        rx_dropped is no loss: the kernel counts there every tagged frame that only a packet
        socket took, for want of a VLAN interface.
        """
        mine = [name for name, machine in self.machines.items() if machine.counted]
        rows = [row for name in mine for row in self.interface_counters(name)]
        sockets = [self.socket_counters(name) for name in mine]
        left = sum(row["tx_packets"] for row in rows)
        return {
            "sockets": sum(counts["dropped"] for counts in sockets),
            "interfaces": sum(row["tx_dropped"] + row["tx_errors"] for row in rows),
            "between": max(0, left - sum(counts["received"] for counts in sockets)),
        }

    def close(self) -> None:
        """Let go of every machine; the kernel removes them."""
        for machine in self.machines.values():
            if machine.raw is not None:
                machine.raw.close()
            os.close(machine.descriptor)
        self.machines.clear()
        os.close(self._home)

    def inside(self, name: str) -> AbstractContextManager[None]:
        """Have the calling thread in the namespace of a machine for a moment."""
        return self._inside(self.machines[name])

    @contextmanager
    def _inside(self, machine: Machine) -> Iterator[None]:
        """Have the calling thread in a machine's namespace for a moment."""
        enter_network(machine.descriptor)
        try:
            yield
        finally:
            enter_network(self._home)


def port_of(node: str) -> str:
    """Name of the machine of a node's host port; no node has such a name."""
    return f"{node} port"


def host_of(node: str) -> str:
    """Name of the machine of a node's programs."""
    return f"{node} host"


def _set_ipv4(setting: str, value: str) -> None:
    """Write a setting of the calling thread's namespace. Raises Refused where it has no such."""
    try:
        with open(f"/proc/sys/net/ipv4/{setting}", "w", encoding="ascii") as file:
            file.write(value)
    except OSError as error:
        raise Refused(
            "target software",
            f"the kernel does not take net.ipv4.{setting} = {value} ({error.strerror})",
            "Leave it as it is, or run as root.",
        ) from error


def _silence_ipv6(scope: str) -> None:
    """Keep the kernel from sending router and neighbour discovery; nothing to do without IPv6."""
    path = f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"
    if not os.path.exists(path):
        return
    with open(path, "w", encoding="ascii") as file:
        file.write("1")
