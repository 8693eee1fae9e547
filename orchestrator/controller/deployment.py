"""Which threads on which cores: what is told to each agent of a run about pace."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from orchestrator.agent.messages import Offer, Pace
from orchestrator.controller.mapping import Mapping
from orchestrator.plan import Nic, Plan


@dataclass
class Share:
    """One machine's part of a run. `first` deploys before the others of its kernel."""

    machine: str
    nodes: list[str]
    ports: dict[str, str]
    threads: int
    pace: Pace
    kernel: str


def shares(plan: Plan, mapping: Mapping, offers: dict[str, Offer]) -> list[Share]:
    """What each machine gets, in the order in which it is to be deployed.

    Agents of one kernel share its cores and, where that kernel is the only one, a clock that is
    held back while any of them is. NICs go to one core, everything else to another, as on a
    single machine.
    """
    by_kernel: dict[str, list[str]] = defaultdict(list)
    for machine in mapping.used():
        by_kernel[offers[machine].kernel].append(machine)
    found = []
    for kernel, machines in by_kernel.items():
        cores = offers[machines[0]].cores
        alone = len(machines) == 1
        counts = {m: 2 if alone and cores > 1 and _mixed(plan, mapping, m) else 1 for m in machines}
        total = sum(counts.values())
        first = 0
        for machine in machines:
            core = None
            if not alone:
                nics_only = all(isinstance(plan.nodes[n], Nic) for n in mapping.nodes(machine))
                core = (0 if nics_only else 1) if total > cores else first
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


def _mixed(plan: Plan, mapping: Mapping, machine: str) -> bool:
    kinds = {isinstance(plan.nodes[node], Nic) for node in mapping.nodes(machine)}
    return len(kinds) == 2
