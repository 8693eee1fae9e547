"""Set-up of a DUT's interfaces for a worker: claimed, probed, opened, counted."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from orchestrator.assembly.names import Indices, is_end
from orchestrator.engine.frames.addresses import mac_of
from orchestrator.errors import Refused
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.lengths import longest_frames
from orchestrator.progress import Progress, Report
from orchestrator.target import Interfaces
from orchestrator.targets.software.denial import WHO
from orchestrator.targets.software.devices import interface
from orchestrator.targets.software.devices.cables import Cable, cables
from orchestrator.targets.software.devices.ears import addressed_to, open_ear
from orchestrator.targets.software.devices.probing import Prober
from orchestrator.targets.software.lent import Handed
from orchestrator.targets.software.mtu import ETHERNET, TAG
from orchestrator.targets.software.sockets import (
    PACKET_AUXDATA,
    PACKET_IGNORE_OUTGOING,
    SOL_PACKET,
)

UP_S, LOOK_S = 10.0, 0.02
"""How long a cable is given until it has a carrier, once its interface is up."""


@dataclass
class Connected:
    """Cables to DUTs while a run goes on."""

    cables: list[Cable]
    ears: dict[str, socket.socket] = field(default_factory=dict)
    before: dict[str, interface.Counters] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def handed(self) -> Handed:
        """Arguments for the worker."""
        found: Handed = {}
        for cable in self.cables:
            node = cable.ours.partition(".")[0]
            there = found.setdefault(node, {"socket": self.ears[node].fileno(), "ports": {}})
            there["ports"][cable.ours] = socket.if_nametoindex(cable.interface)
        return found

    @property
    def descriptors(self) -> list[int]:
        """File descriptors for the worker."""
        return [ear.fileno() for ear in self.ears.values()]

    def describe(self) -> dict[str, Any]:
        """Table for fidelity: per DUT and port, the interface, its losses and damaged frames."""
        found: dict[str, Any] = {}
        for cable in self.cables:
            moved = interface.counters(cable.interface) - self.before[cable.interface]
            found.setdefault(cable.device, {})[cable.port] = {
                "interface": cable.interface,
                "port": cable.ours,
                "lost": moved.lost,
                "settings": self.settings.get(cable.interface),
            }
        return found


@contextmanager
def connected(
    resolved: ResolvedPlan, interfaces: Interfaces | None, progress: Report
) -> Iterator[Connected]:
    """The devices of a plan, their cables looked through. What was set is put back when the block
    is left. Raises Refused and BadInput, naming port and interface."""
    plan = resolved.plan
    found = cables(plan, None if interfaces is None else interfaces.external_ports)
    if interfaces is None or not found:
        yield Connected([])
        return
    names = [cable.interface for cable in found]
    with ExitStack() as open_ones:
        settings = open_ones.enter_context(interfaces.held(names))
        octets = longest_of(resolved, found)
        for cable in found:
            _await_carrier(cable)
            _check_mtu(cable, octets)
        progress(Progress("preparing", 0.0, f"a probe over each of {len(found)} cables"))
        _probe(plan, found, octets)
        ears = {}
        for node in dict.fromkeys(cable.ours.partition(".")[0] for cable in found):
            mine = [c.interface for c in found if c.ours.partition(".")[0] == node]
            ears[node] = open_ones.enter_context(open_ear(mine, addressed_to(plan, node)))
        before = {name: interface.counters(name) for name in names}
        yield Connected(found, ears, before, settings)


def longest_of(resolved: ResolvedPlan, found: Sequence[Cable]) -> int:
    """Octets of the longest frame that any of these cables carries."""
    longest = longest_frames(resolved)
    return max(max(longest[cable.ours], longest[cable.port]) for cable in found)


def _await_carrier(cable: Cable) -> None:
    end = time.monotonic() + UP_S
    while not interface.has_carrier(cable.interface):
        if time.monotonic() > end:
            raise Refused(
                WHO,
                f"{cable.interface}, which leads to {cable.port}, has no carrier after {UP_S:g} s",
                "Remedy: plug the cable in, and bring the device's port up.",
            )
        time.sleep(LOOK_S)


def _check_mtu(cable: Cable, octets: int) -> None:
    mtu = interface.mtu(cable.interface)
    if mtu < octets - ETHERNET - TAG:
        need = octets - ETHERNET
        raise Refused(
            WHO,
            f"{cable.interface}, which leads to {cable.port}, has an MTU of {mtu}, and the plan's "
            f"frames of {octets} octets need {need}",
            f"Remedy: ip link set {cable.interface} mtu {need}, or shorter frames.",
        )


def _probe(plan: Plan, found: Sequence[Cable], octets: int) -> None:
    with ExitStack() as open_ones:
        sockets = []
        for cable in found:
            raw = open_ones.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            interface.hear_everything(raw, cable.interface)
            sockets.append(raw)
        Prober(found, behind(plan, found)).check(sockets, octets)


def behind(plan: Plan, found: Sequence[Cable]) -> dict[str, list[bytes]]:
    """Our port -> the MAC addresses of the NICs and sinks that a device reaches through it, else
    that of the port itself."""
    indices, routes = Indices(plan), plan.routes()
    ends = [name for name in plan.nodes if is_end(plan, name)]
    told = {}
    for cable in found:
        name = cable.port.partition(".")[2]
        mine = [n for n in ends if routes[cable.device].get(n) == name]
        rows = [indices.node_address(n) for n in mine] or [indices.port_address(cable.ours)]
        told[cable.ours] = [int(mac_of(row)).to_bytes(6, "big") for row in rows]
    return told
