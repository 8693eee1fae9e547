"""Links of a trial: veth pairs of its own, or two given NICs in place of the first one."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.calibration.packet_observer import receiving, ring
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.targets.software.borrowed_nics import BorrowedMachine
from orchestrator.targets.software.linux_syscalls import capabilities
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.plan_job import join
from orchestrator.testbed.agent import ethtool
from orchestrator.testbed.agent.nic_claims import Claim
from orchestrator.testbed.agent.probe_frames import open_on
from orchestrator.testbed.wire.envelope import Unacceptable

LINK = "up"
"""The link of a trial's plan that goes over the NICs; its first end is the near one."""
Local = dict[str, tuple[str, int]]


@dataclass(frozen=True)
class ObserverPlacement:
    """An observer of what comes to a node over its first link, or also of what leaves it."""

    node: str
    frames: int
    outgoing: bool = False


class TrialLinks(Protocol):
    """Links of a trial."""

    def join(self, plan: Plan, machines: Machines) -> Local:
        """Make the machines of a plan's nodes and join them; where each port is."""

    def ring(self, machines: Machines, watch: ObserverPlacement) -> socket.socket:
        """An observer's socket, receiving from now on."""

    def outside(self, nodes: Sequence[str]) -> list[str]:
        """The machines beside their own that nodes have ports on."""


class VethLinks:
    """A veth pair for each link."""

    def join(self, plan: Plan, machines: Machines) -> Local:
        """As every run on target software does it."""
        return join(plan, machines)

    def ring(self, machines: Machines, watch: ObserverPlacement) -> socket.socket:
        """In the node's namespace, of all its interfaces."""
        with machines.inside(watch.node):
            return ring(watch.frames, outgoing=watch.outgoing)

    def outside(self, nodes: Sequence[str]) -> list[str]:
        """None."""
        return []


VETH = VethLinks()


@dataclass
class NicCable:
    """Two NICs and the cable between them.

    `ends`: of each a descriptor of a packet socket and the interface's index, in the network
    namespace that the NICs are in; `deaf`: packet sockets of that namespace that are not bound yet,
    one for each observer. Whoever may opens them: this process has no rights there.
    """

    ends: tuple[tuple[int, int], tuple[int, int]]
    deaf: list[int]

    def __post_init__(self) -> None:
        self._nodes: tuple[str, str] = ("", "")

    def join(self, plan: Plan, machines: Machines) -> Local:
        """The link "up" goes over the cable, the others over veth pairs."""
        for name in plan.nodes:
            machines.add(name)
        self._nodes = plan.links[LINK].ends
        local: Local = {}
        for way in plan.directions():
            if not way.sender.forward:
                continue
            sides = (way.sender, way.receiver)
            if way.link != LINK:
                numbers = machines.join(sides[0].node, sides[1].node)
                local |= {s.entity: (s.node, n) for s, n in zip(sides, numbers, strict=True)}
                continue
            for side, (descriptor, index) in zip(sides, self.ends, strict=True):
                outside = BorrowedMachine(_name(side.node), -1, peers=[""], indices=[index])
                outside.counted = False
                outside.raw = socket.socket(fileno=os.dup(descriptor))
                _empty(outside.raw)
                machines.machines[outside.name] = outside
                local[side.entity] = (outside.name, 0)
        return local

    def ring(self, machines: Machines, watch: ObserverPlacement) -> socket.socket:
        """Of the NIC at the node's end."""
        raw = socket.socket(fileno=self.deaf.pop())
        _, index = self.ends[self._nodes.index(watch.node)]
        return receiving(raw, watch.frames, outgoing=watch.outgoing, interface=index)

    def outside(self, nodes: Sequence[str]) -> list[str]:
        """The NICs of those nodes that are at an end of the cable."""
        return [_name(node) for node in nodes if node in self._nodes]


def close(machines: Machines) -> None:
    """Let go of a trial's machines; NICs stay where they are."""
    for name, machine in list(machines.machines.items()):
        if machine.descriptor < 0:
            if machine.raw is not None:
                machine.raw.close()
            del machines.machines[name]
    machines.close()


def _name(node: str) -> str:
    return f"{node}/nics"


def _empty(raw: socket.socket) -> None:
    """Take out what came between two trials."""
    raw.setblocking(False)
    try:
        while True:
            raw.recv(1)
    except BlockingIOError:
        return


NET_ADMIN, NET_RAW = 12, 13
NEEDED = {NET_ADMIN: "CAP_NET_ADMIN, to set NICs up", NET_RAW: "CAP_NET_RAW, to send through them"}
OBSERVERS = 16
"""One for each trial that has one, and some to spare."""


@dataclass
class Opened:
    """NICs that are set up, and the sockets on them."""

    cable: NicCable
    drivers: list[str]
    sockets: list[socket.socket] = field(default_factory=list)

    @property
    def descriptors(self) -> list[int]:
        """Descriptors that the worker inherits."""
        return [one.fileno() for one in self.sockets]


@contextlib.contextmanager
def opened(ports: tuple[str, str] | None) -> Iterator[Opened | None]:
    """The NICs as a cable, until the block is left: then they are as they were before.

    Raises Refused without the rights for it, BadInput for NICs that are not there or in use.
    """
    if ports is None:
        yield None
        return
    require_rights()
    claims: list[Claim] = []
    sockets: list[socket.socket] = []
    try:
        try:
            for name in ports:
                claims.append(Claim.make(name))
            for claim in claims:
                claim.prepare()
            sockets += [open_on([name]) for name in ports]
            sockets += [
                socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(OBSERVERS)
            ]
        except Unacceptable as no:
            raise BadInput("--ports", no.sentence) from no
        except PermissionError as error:
            raise _refused(f"the kernel denied it ({error.strerror})") from error
        indices = [socket.if_nametoindex(name) for name in ports]
        near, far = ((s.fileno(), i) for s, i in zip(sockets, indices, strict=False))
        deaf = [one.fileno() for one in sockets[2:]]
        drivers = [ethtool.driver(name) or "unknown" for name in ports]
        yield Opened(NicCable((near, far), deaf), drivers, sockets)
    finally:
        for one in sockets:
            one.close()
        for claim in claims:
            claim.release()


def require_rights() -> None:
    """Raises Refused with what is needed to measure over NICs, where this process lacks it."""
    if lacking := [text for number, text in NEEDED.items() if number not in capabilities()]:
        raise _refused(f"it needs {' and '.join(lacking)}")


def _refused(lack: str) -> Refused:
    remedy = "Remedy: run it as root, or leave --ports out: veth pairs need no right."
    return Refused("calibrate --ports", f"{lack}, and user {os.geteuid()} has not", remedy)
