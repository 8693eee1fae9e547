"""Hosts that forward: NICs with several links that send on frames of others, as in BCube.

A host forwards where the plan says so (`forwards = true`), and where the traffic needs it: as soon
as the ends of some traffic are not joined by links and switches alone, every host with several
links that the plan does not forbid it (`forwards = false`) forwards, and its links count for the
shortest paths of all. So a plan whose switches join everything has the paths that it always had.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.errors import Problem
from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plan_tables import Nic, Switch, Traffic

DEFAULT_BUFFER = 150_000
"""Octets of the queue of a host's port for the frames of others: as of a switch."""


@memoized
def forwarding_hosts(plan: PlanModel) -> tuple[str, ...]:
    """NICs that forward frames of others, in the order of the plan."""
    beside = _neighbours(plan)
    able = {
        name: node.forwards
        for name, node in plan.nodes.items()
        if isinstance(node, Nic) and node.forwards is not False and len(beside[name]) > 1
    }
    asked = [name for name, says in able.items() if says]
    if len(asked) == len(able) or not _is_apart(plan, beside, asked):
        return tuple(asked)
    return tuple(able)


def carries(plan: PlanModel, name: str) -> bool:
    """True if a node sends on frames of others: a switch, or a host that forwards."""
    return isinstance(plan.nodes.get(name), Switch) or name in forwarding_hosts(plan)


def buffer_of(node: Nic) -> int:
    """Octets of the queue of each port of a host that forwards, for the frames of others."""
    return DEFAULT_BUFFER if node.forwarding_buffer is None else node.forwarding_buffer


def forwarding_problems(plan: PlanModel) -> Iterator[Problem]:
    """Hosts that are to forward and have one link, and buffers of hosts that do not forward."""
    beside = _neighbours(plan)
    for name, node in plan.nodes.items():
        if not isinstance(node, Nic):
            continue
        if node.forwards and len(beside[name]) < 2:
            accepted = f"{name} has {len(beside[name])} links; two or more are expected"
            yield Problem(f"nodes.{name}.forwards", True, accepted)
        elif node.forwarding_buffer is not None and name not in forwarding_hosts(plan):
            accepted = f"{name} does not forward; leave it out, or set forwards = true"
            yield Problem(f"nodes.{name}.forwarding_buffer", node.forwarding_buffer, accepted)


def _neighbours(plan: PlanModel) -> dict[str, list[str]]:
    """The nodes at the other ends of the links of each node, one for each link."""
    found: dict[str, list[str]] = {name: [] for name in plan.nodes}
    for link in plan.links.values():
        for here, there in (link.ends, link.ends[::-1]):
            if here in found and there in found:
                found[here].append(there)
    return found


def _is_apart(plan: PlanModel, beside: dict[str, list[str]], hosts: list[str]) -> bool:
    """True if ends of some traffic are not joined by links, switches and these hosts alone."""
    network = _networks(plan, beside, hosts)

    def reached(name: str) -> set[int]:
        around = [name, *beside.get(name, ())]
        return {network[node] for node in around if node in network}

    for entry in plan.traffic.values():
        for source, destination in _ends(plan, entry):
            if source not in plan.nodes or destination not in plan.nodes:
                continue  # refused elsewhere
            straight = source == destination or destination in beside[source]
            if not straight and reached(source).isdisjoint(reached(destination)):
                return True
    return False


def _networks(plan: PlanModel, beside: dict[str, list[str]], hosts: list[str]) -> dict[str, int]:
    """Node that carries frames of others -> number of its network: those that links join."""
    carriers = {name for name, node in plan.nodes.items() if isinstance(node, Switch)} | {*hosts}
    found: dict[str, int] = {}
    for number, start in enumerate(carriers):
        waiting = [] if start in found else [start]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found[here] = number
                waiting += [name for name in beside[here] if name in carriers]
    return found


def _ends(plan: PlanModel, entry: Traffic) -> Iterator[tuple[str, str]]:
    """(from, to) of a traffic entry, with each member of a group for itself; of ends that are
    paired by the seed, all that any seed could pair."""
    if entry.pairing == "listed":
        pairs = iter(entry.pairs)
    else:
        starts, targets = (
            end if isinstance(end, list) else [end] for end in (entry.from_, entry.to)
        )
        # all of one side with the first of the other: networks are disjoint, so this shows any gap
        pairs = iter([*((one, targets[0]) for one in starts), *((starts[0], o) for o in targets)])
    for source, destination in pairs:
        for member in plan.groups.get(destination, [destination]):
            yield source, member
