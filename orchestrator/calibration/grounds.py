"""Links of a trial: veth pairs of its own, or two given NICs in place of the first one."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.calibration.observer import receiving, ring
from orchestrator.plan import Plan
from orchestrator.targets.software.job import join
from orchestrator.targets.software.lent import Outside
from orchestrator.targets.software.namespaces import Machines

LINK = "up"
"""The link of a trial's plan that goes over the NICs; its first end is the near one."""
Local = dict[str, tuple[str, int]]


@dataclass(frozen=True)
class Watch:
    """An observer of what comes to a node over its first link, or also of what leaves it."""

    node: str
    frames: int
    outgoing: bool = False


class Ground(Protocol):
    """Links of a trial."""

    def join(self, plan: Plan, machines: Machines) -> Local:
        """Make the machines of a plan's nodes and join them; where each port is."""

    def ring(self, machines: Machines, watch: Watch) -> socket.socket:
        """An observer's socket, receiving from now on."""

    def outside(self, nodes: Sequence[str]) -> list[str]:
        """The machines beside their own that nodes have ports on."""


class Pairs:
    """A veth pair for each link."""

    def join(self, plan: Plan, machines: Machines) -> Local:
        """As every run on target software does it."""
        return join(plan, machines)

    def ring(self, machines: Machines, watch: Watch) -> socket.socket:
        """In the node's namespace, of all its interfaces."""
        with machines.inside(watch.node):
            return ring(watch.frames, outgoing=watch.outgoing)

    def outside(self, nodes: Sequence[str]) -> list[str]:
        """None."""
        return []


VETH = Pairs()


@dataclass
class Cable:
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
                outside = Outside(_name(side.node), -1, peers=[""], indices=[index])
                outside.counted = False
                outside.raw = socket.socket(fileno=os.dup(descriptor))
                _empty(outside.raw)
                machines.machines[outside.name] = outside
                local[side.entity] = (outside.name, 0)
        return local

    def ring(self, machines: Machines, watch: Watch) -> socket.socket:
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
