"""Set-up of a DUT's interfaces for a worker: claimed, probed, opened, counted."""

from __future__ import annotations

import fcntl
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.assembly.row_index import Indices, is_end
from orchestrator.engine.frames.address_index import mac_of
from orchestrator.errors import Refused
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.frame_lengths import longest_frames
from orchestrator.progress import Progress, Report
from orchestrator.target import Interfaces
from orchestrator.targets.software.borrowed_nics import Handed
from orchestrator.targets.software.dut.address_resolution import is_router, resolve
from orchestrator.targets.software.dut.dut_cables import Cable, cables
from orchestrator.targets.software.dut.dut_probing import Prober
from orchestrator.targets.software.dut.rx_sockets import (
    PACKET_ADD_MEMBERSHIP,
    PACKET_MR_PROMISC,
    addressed_to,
    open_receiver,
)
from orchestrator.targets.software.kernel_refusals import WHO
from orchestrator.targets.software.mtu_check import ETHERNET, tag_allowance
from orchestrator.targets.software.raw_sockets import (
    ETH_P_ALL,
    PACKET_AUXDATA,
    PACKET_IGNORE_OUTGOING,
    SOL_PACKET,
)

SIOCGIFFLAGS, SIOCGIFMTU = 0x8913, 0x8921
RUNNING = 0x40
LOST = (3, 11, 12)
"""Columns of /proc/net/dev, from 1: what came damaged; what was to be sent and was not."""


@dataclass(frozen=True)
class InterfaceCounters:
    """Counters of an interface."""

    lost: int

    def __sub__(self, other: InterfaceCounters) -> InterfaceCounters:
        return InterfaceCounters(self.lost - other.lost)


def _interface_ioctl(number: int, name: str) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        return fcntl.ioctl(control.fileno(), number, struct.pack("16s24x", name.encode()))[16:]


def has_carrier(name: str) -> bool:
    """Return whether an interface is up and has a carrier. Raises OSError."""
    flags: int = struct.unpack_from("H", _interface_ioctl(SIOCGIFFLAGS, name))[0]
    return bool(flags & RUNNING)


def interface_mtu(name: str) -> int:
    """Octets behind the Ethernet header. Raises OSError."""
    number: int = struct.unpack_from("i", _interface_ioctl(SIOCGIFMTU, name))[0]
    return number


def interface_counters(name: str) -> InterfaceCounters:
    """Current counters. Raises OSError where there is no such interface."""
    for line in Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        found, _, rest = line.partition(":")
        if found.strip() == name:
            words = rest.split()
            return InterfaceCounters(sum(int(words[column - 1]) for column in LOST))
    raise OSError(f"no interface {name}")


def receive_all(raw: socket.socket, name: str) -> None:
    """Bind a packet socket to one interface, in promiscuous mode."""
    request = struct.pack("iHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
    raw.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
    raw.bind((name, ETH_P_ALL))


UP_S, LOOK_S = 10.0, 0.02
"""How long a cable is given until it has a carrier, once its interface is up."""


@dataclass
class ConnectedDuts:
    """Cables to DUTs while a run goes on."""

    cables: list[Cable]
    ears: dict[str, socket.socket] = field(default_factory=dict)
    before: dict[str, InterfaceCounters] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    next_hops: Mapping[str, int] = field(default_factory=dict)
    """Our port that faces a router -> the MAC address of the router's port."""

    @property
    def handed(self) -> Handed:
        """Arguments for the worker."""
        found: Handed = {}
        for cable in self.cables:
            node = cable.ours.partition(".")[0]
            empty = {"socket": self.ears[node].fileno(), "ports": {}, "next_hops": {}}
            there = found.setdefault(node, empty)
            there["ports"][cable.ours] = socket.if_nametoindex(cable.interface)
            if cable.ours in self.next_hops:
                there["next_hops"][cable.ours] = self.next_hops[cable.ours]
        return found

    @property
    def descriptors(self) -> list[int]:
        """File descriptors for the worker."""
        return [ear.fileno() for ear in self.ears.values()]

    def describe(self) -> dict[str, Any]:
        """Table for fidelity: per DUT and port, the interface, its losses and damaged frames."""
        found: dict[str, Any] = {}
        for cable in self.cables:
            moved = interface_counters(cable.interface) - self.before[cable.interface]
            found.setdefault(cable.device, {})[cable.port] = {
                "interface": cable.interface,
                "port": cable.ours,
                "lost": moved.lost,
                "settings": self.settings.get(cable.interface),
            }
        return found


@contextmanager
def connected_duts(
    resolved: ResolvedPlan, interfaces: Interfaces | None, progress: Report
) -> Iterator[ConnectedDuts]:
    """The devices of a plan, their cables looked through. What was set is put back when the block
    is left. Raises Refused and BadInput, naming port and interface."""
    plan = resolved.plan
    found = cables(plan, None if interfaces is None else interfaces.external_ports)
    if interfaces is None or not found:
        yield ConnectedDuts([])
        return
    names = [cable.interface for cable in found]
    with ExitStack() as open_ones:
        settings = open_ones.enter_context(interfaces.held(names))
        octets = longest_of(resolved, found)
        for cable in found:
            _await_carrier(cable)
            _check_mtu(cable, octets, tag_allowance(plan))
        progress(Progress("preparing", 0.0, f"a probe over each of {len(found)} cables"))
        next_hops = _probe(plan, found, octets)
        ears = {}
        for node in dict.fromkeys(cable.ours.partition(".")[0] for cable in found):
            mine = [c.interface for c in found if c.ours.partition(".")[0] == node]
            ears[node] = open_ones.enter_context(open_receiver(mine, addressed_to(plan, node)))
        before = {name: interface_counters(name) for name in names}
        yield ConnectedDuts(found, ears, before, settings, next_hops)


def longest_of(resolved: ResolvedPlan, found: Sequence[Cable]) -> int:
    """Octets of the longest frame that any of these cables carries."""
    longest = longest_frames(resolved)
    return max(max(longest[cable.ours], longest[cable.port]) for cable in found)


def _await_carrier(cable: Cable) -> None:
    end = time.monotonic() + UP_S
    while not has_carrier(cable.interface):
        if time.monotonic() > end:
            raise Refused(
                WHO,
                f"{cable.interface}, which leads to {cable.port}, has no carrier after {UP_S:g} s",
                "Remedy: plug the cable in, and bring the device's port up.",
            )
        time.sleep(LOOK_S)


def _check_mtu(cable: Cable, octets: int, allowance: int) -> None:
    mtu = interface_mtu(cable.interface)
    if mtu < octets - ETHERNET - allowance:
        need = octets - ETHERNET
        raise Refused(
            WHO,
            f"{cable.interface}, which leads to {cable.port}, has an MTU of {mtu}, and the plan's "
            f"frames of {octets} octets need {need}",
            f"Remedy: ip link set {cable.interface} mtu {need}, or shorter frames.",
        )


def _probe(plan: Plan, found: Sequence[Cable], octets: int) -> dict[str, int]:
    """Probe the cables of devices that forward by MAC address; our port -> MAC address of the
    router that it faces."""
    with ExitStack() as open_ones:
        sockets: dict[str, socket.socket] = {}
        for cable in found:
            raw = open_ones.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            receive_all(raw, cable.interface)
            sockets[cable.ours] = raw
        routers = [one for one in found if is_router(plan, one.device)]
        if others := [one for one in found if one not in routers]:
            prober = Prober(others, behind(plan, others), plan.headers.options())
            prober.check([sockets[one.ours] for one in others], octets)
        return resolve(plan, routers, [sockets[one.ours] for one in routers]) if routers else {}


def behind(plan: Plan, found: Sequence[Cable]) -> dict[str, list[bytes]]:
    """Our port -> the MAC addresses of the NICs and sinks that a device reaches through it, else
    that of the port itself."""
    indices, routes = Indices(plan), plan.routes()
    ends = [name for name in plan.nodes if is_end(plan, name)]
    macs = {}
    for cable in found:
        name = cable.port.partition(".")[2]
        mine = [n for n in ends if routes[cable.device].get(n) == name]
        rows = [indices.node_address(n) for n in mine] or [indices.port_address(cable.ours)]
        macs[cable.ours] = [int(mac_of(row)).to_bytes(6, "big") for row in rows]
    return macs
