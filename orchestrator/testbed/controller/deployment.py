"""Deployment of a run: nodes, threads and cores of each agent."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from orchestrator.plan import Plan
from orchestrator.targets.software.thread_assignment import shares as threads_of
from orchestrator.testbed.agent.agent_messages import Offer, Pace
from orchestrator.testbed.controller.node_placement import Mapping


@dataclass
class Share:
    """Part of a run on one machine. `first` deploys before the others of its kernel."""

    machine: str
    nodes: list[str]
    ports: dict[str, str]
    threads: int
    pace: Pace
    kernel: str


def shares(plan: Plan, mapping: Mapping, offers: dict[str, Offer]) -> list[Share]:
    """Part of each machine, in the order of deployment.

    Agents of one kernel share its cores and, where that kernel is the only one, a clock that is
    held back while any of them is. On a kernel of its own a machine has two threads, as when it is
    the only one; else each has one, and where those are more than the cores, the machines share
    two cores as their nodes would on one machine (see `targets.software.shares`).
    """
    by_kernel: dict[str, list[str]] = defaultdict(list)
    for machine in mapping.used():
        by_kernel[offers[machine].kernel].append(machine)
    groups = threads_of(plan, 2)
    found = []
    for kernel, machines in by_kernel.items():
        cores = offers[machines[0]].cores
        alone = len(machines) == 1
        room = 2 if alone and cores > 1 else 1
        counts = {machine: min(room, len(mapping.nodes(machine))) for machine in machines}
        total = sum(counts.values())
        first = 0
        for machine in machines:
            core = None
            if not alone:
                core = _core(groups, mapping.nodes(machine)) if total > cores else first
            pace = Pace(
                threads=total,
                first=first,
                holds=len(by_kernel) == 1,
                crowded=total > cores,
                core=core,
            )
            ports = {port: nic for port, (m, nic) in mapping.ports.items() if m == machine}
            found.append(
                Share(machine, mapping.nodes(machine), ports, counts[machine], pace, kernel)
            )
            first += counts[machine]
    return found


def _core(groups: list[list[str]], nodes: list[str]) -> int:
    """The group that most of these nodes are in."""
    return max(range(len(groups)), key=lambda group: len(set(groups[group]) & set(nodes)))
