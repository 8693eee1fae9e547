"""Placement of a plan's nodes on machines, and of its links on cables.

Links between nodes of one machine need no cable. A search, deepest first, in the order of the
plan: it tries the machines that a node's name is listed for, else those with the fewest nodes; a
machine is right while there are cables for every link to nodes placed before.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase

from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.plan.entity_names import is_ours
from orchestrator.plan.external_nodes import facing
from orchestrator.targets.software.dut.dut_cables import Cable
from orchestrator.testbed.inventory import Testbed

STEPS = 100_000
"""Of the search, before it is given up."""
WHO = "controller"


@dataclass(frozen=True)
class Mapping:
    """`machines`: node -> machine, without external nodes. `cables`: link -> cable. `ports`: port
    of the plan -> (machine, NIC), for the ports whose link takes a cable, or leads to a device of
    others; those cables are `devices`."""

    machines: dict[str, str]
    cables: dict[str, str]
    ports: dict[str, tuple[str, str]]
    devices: tuple[Cable, ...] = ()

    def nodes(self, machine: str) -> list[str]:
        """The nodes on a machine, in the order of the plan."""
        return [node for node, where in self.machines.items() if where == machine]

    def used(self) -> list[str]:
        """The machines that have nodes."""
        return list(dict.fromkeys(self.machines.values()))

    def nics(self, machine: str) -> list[str]:
        """The NICs of a machine that the plan needs."""
        return [nic for where, nic in self.ports.values() if where == machine]


def device_cables(plan: Plan, bed: Testbed) -> list[Cable]:
    """Cables to external devices, `interface` "machine:nic" each. Raises Refused."""
    found = []
    for device, ports in facing(plan).items():
        said = bed.external_ports.get(device, {})
        for port, ours in ports.items():
            name = port.partition(".")[2]
            if ":" not in said.get(name, ""):
                hint = f", only {said[name]}" if name in said else ""
                raise Refused(
                    WHO,
                    f"{device} is external, and the inventory does not say which NIC of which "
                    f"machine leads to its port {name}{hint}",
                    f'Say [external.{device}] ports = {{ {name} = "MACHINE:NIC" }} there.',
                )
            found.append(Cable(device, port, ours, said[name]))
    return found


def map_plan(plan: Plan, bed: Testbed, available: list[str]) -> Mapping:
    """Map a plan. `available` are the machines whose agents answer. Raises Refused."""
    if plan.programs:
        lack = f"agents run no programs ({', '.join(plan.programs)})"
        raise Refused(WHO, lack, "Run the plan on one machine, on the target software.")
    search = _Search(plan, bed, available, device_cables(plan, bed))
    if not search.assign(0):
        raise Refused(WHO, search.lack(), "See `tailback machines`, and docs/testbed.md.")
    return search.result()


class _Search:
    def __init__(
        self, plan: Plan, bed: Testbed, available: list[str], devices: list[Cable]
    ) -> None:
        self.plan, self.bed, self.available, self.devices = plan, bed, available, devices
        self.order = [name for name in plan.nodes if is_ours(plan, name)]
        self.where: dict[str, str] = {}
        self.count: dict[str, int] = defaultdict(int)
        self.deepest: tuple[int, str] = (-1, "")
        self.steps = 0
        self.links: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, link in plan.links.items():
            if not all(is_ours(plan, end) for end in link.ends):
                continue
            for end, other in (link.ends, link.ends[::-1]):
                self.links[end].append((name, other))
        self.free: dict[frozenset[str], int] = defaultdict(int)
        for cable in bed.cables.values():
            self.free[frozenset(machine for machine, _ in cable.split())] += 1

    def assign(self, depth: int) -> bool:
        if depth == len(self.order):
            return True
        node = self.order[depth]
        for machine in self.candidates(node):
            self.steps += 1
            if self.steps > STEPS:
                return False
            need: dict[frozenset[str], int] = defaultdict(int)
            for _, other in self.links[node]:
                if other in self.where and self.where[other] != machine:
                    need[frozenset((machine, self.where[other]))] += 1
            if short := [pair for pair, n in need.items() if self.free[pair] < n]:
                both = " and ".join(sorted(short[0]))
                text = (
                    f"node {node} on {machine} needs {need[short[0]]} free cables between {both}, "
                    f"and there are {self.free[short[0]]}"
                )
                if depth >= self.deepest[0]:
                    self.deepest = (depth, text)
                continue
            self.where[node] = machine
            self.count[machine] += 1
            for pair, n in need.items():
                self.free[pair] -= n
            if self.assign(depth + 1):
                return True
            del self.where[node]
            self.count[machine] -= 1
            for pair, n in need.items():
                self.free[pair] += n
        return False

    def candidates(self, node: str) -> list[str]:
        machines = self.bed.machines.items()
        listed = [name for name, entry in machines if node in entry.nodes] or [
            name
            for name, entry in machines
            if any(fnmatchcase(node, pattern) for pattern in entry.nodes)
        ]
        if not listed:
            listed = [name for name, entry in self.bed.machines.items() if not entry.nodes]
        for cable in self.devices:
            machine = cable.interface.partition(":")[0]
            if cable.ours.partition(".")[0] == node:
                if machine not in listed:
                    text = f"the cable to {cable} is on {machine}, and node {node} belongs on "
                    text += ", ".join(listed) or "none"
                    self.deepest = max(self.deepest, (len(self.order), text))
                listed = [machine] if machine in listed else []
        there = [name for name in listed if name in self.available]
        if not there and self.deepest[0] < len(self.order):
            names = ", ".join(listed)
            text = f"node {node} belongs on {names}, where no agent answers"
            if not listed:
                text = f"no machine of the testbed is for node {node}"
            self.deepest = max(self.deepest, (len(self.order), text))
        return sorted(there, key=lambda name: self.count[name])

    def lack(self) -> str:
        if self.steps > STEPS:
            return (
                f"no place for the plan's nodes was found in {STEPS} steps; say in testbed.toml "
                "which nodes belong on which machine (nodes = [...])"
            )
        return self.deepest[1] or "there is no machine for the plan's nodes"

    def result(self) -> Mapping:
        spare: dict[frozenset[str], list[str]] = defaultdict(list)
        for name, cable in self.bed.cables.items():
            spare[frozenset(machine for machine, _ in cable.split())].append(name)
        cables: dict[str, str] = {}
        ports: dict[str, tuple[str, str]] = {}
        for way in self.plan.directions():
            ends = [way.sender, way.receiver]
            if not all(is_ours(self.plan, end.node) for end in ends):
                continue
            places = frozenset(self.where[end.node] for end in ends)
            if not way.sender.forward or len(places) == 1:
                continue
            cables[way.link] = spare[places].pop(0)
            nics = dict(self.bed.cables[cables[way.link]].split())
            for end in ends:
                machine = self.where[end.node]
                ports[end.entity] = (machine, nics[machine])
        for one in self.devices:
            machine, _, nic = one.interface.partition(":")
            ports[one.ours] = (machine, nic)
        ordered = {node: self.where[node] for node in self.order}
        return Mapping(ordered, cables, ports, tuple(self.devices))
