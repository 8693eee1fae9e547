"""Which machine each node of a plan lives on, and which cable carries each link.

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
from orchestrator.plan.external import externals
from orchestrator.testbed.inventory import Testbed

STEPS = 100_000
"""Of the search, before it is given up."""
WHO = "controller"


@dataclass(frozen=True)
class Mapping:
    """`machines`: node -> machine. `cables`: link -> cable. `ports`: port of the plan ->
    (machine, NIC), for the ports whose link takes a cable."""

    machines: dict[str, str]
    cables: dict[str, str]
    ports: dict[str, tuple[str, str]]

    def nodes(self, machine: str) -> list[str]:
        """The nodes on a machine, in the order of the plan."""
        return [node for node, where in self.machines.items() if where == machine]

    def used(self) -> list[str]:
        """The machines that have nodes."""
        return list(dict.fromkeys(self.machines.values()))

    def nics(self, machine: str) -> list[str]:
        """The NICs of a machine that the plan needs."""
        return [nic for where, nic in self.ports.values() if where == machine]


def map_plan(plan: Plan, bed: Testbed, available: list[str]) -> Mapping:
    """Map a plan. `available` are the machines whose agents answer. Raises Refused."""
    for name in externals(plan):
        remedy = "Run it on the machine that has the cables: --external, no --controller."
        raise Refused(
            WHO, f"{name} is external, and a testbed of several machines has none", remedy
        )
    if plan.programs:
        lack = f"agents run no programs ({', '.join(plan.programs)})"
        raise Refused(WHO, lack, "Run the plan on one machine, on the target software.")
    search = _Search(plan, bed, available)
    if not search.place(0):
        raise Refused(WHO, search.lack(), "See `tailback machines`, and docs/testbed.md.")
    return search.result()


class _Search:
    def __init__(self, plan: Plan, bed: Testbed, available: list[str]) -> None:
        self.plan, self.bed, self.available = plan, bed, available
        self.order = list(plan.nodes)
        self.where: dict[str, str] = {}
        self.count: dict[str, int] = defaultdict(int)
        self.deepest: tuple[int, str] = (-1, "")
        self.steps = 0
        self.links: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, link in plan.links.items():
            for end, other in (link.ends, link.ends[::-1]):
                self.links[end].append((name, other))
        self.free: dict[frozenset[str], int] = defaultdict(int)
        for cable in bed.cables.values():
            self.free[frozenset(machine for machine, _ in cable.split())] += 1

    def place(self, depth: int) -> bool:
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
            if self.place(depth + 1):
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
        there = [name for name in listed if name in self.available]
        if not there:
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
            places = frozenset(self.where[end.node] for end in ends)
            if not way.sender.forward or len(places) == 1:
                continue
            cables[way.link] = spare[places].pop(0)
            nics = dict(self.bed.cables[cables[way.link]].split())
            for end in ends:
                machine = self.where[end.node]
                ports[end.entity] = (machine, nics[machine])
        ordered = {node: self.where[node] for node in self.order}
        return Mapping(ordered, cables, ports)
