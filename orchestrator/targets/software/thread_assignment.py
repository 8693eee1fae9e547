"""Assignment of nodes to data path threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.plan import Plan, Port
from orchestrator.plan.entity_names import is_ours
from orchestrator.plan.shortest_paths import path


def shares(plan: Plan, cores: int, nodes: Sequence[str] | None = None) -> list[list[str]]:
    """Groups of nodes with about as much to do in each: two, or one on a single core.

    `nodes` are those to be grouped, where others live elsewhere; two of them make two groups.

    What a node has to do is the frames that it takes in and puts out, every flow counting alike.
    The busiest node is placed first, each into the group that has less to do so far.
    """
    mine = [n for n in plan.nodes if is_ours(plan, n)] if nodes is None else list(nodes)
    if cores < 2 or len(mine) < 2:
        return [mine]
    return evenly([[name] for name in mine], work_of(plan), 2)


def shares_of_run(plan: Plan, cores: int, most: int | None) -> list[list[str]]:
    """The groups of a run on a machine of `cores`, `most` of them for threads that spin. A program
    on the core of a thread would take it for milliseconds: a plan that has any leaves them one."""
    spinning = cores - 1 if plan.programs else cores
    return shares(plan, min(spinning, most or spinning))


def work_of(plan: Plan) -> dict[str, int]:
    """Frames that each node takes in and puts out, every flow counting alike."""
    work = dict.fromkeys(plan.nodes, 0)
    for here, port in hops_of_flows(plan):
        work[here] += 1
        work[port.peer] += 1
    return work


def evenly(units: Sequence[Sequence[str]], work: Mapping[str, int], count: int) -> list[list[str]]:
    """So many groups of nodes, the busiest unit first, each into the group that has least to do so
    far. A unit stays together."""
    groups: list[list[str]] = [[] for _ in range(count)]
    done = [0] * count
    for unit in sorted(units, key=lambda unit: -sum(work[name] for name in unit)):
        least = min(range(count), key=lambda group: (done[group], len(groups[group])))
        groups[least] += unit
        done[least] += sum(work[name] for name in unit)
    return groups


def hops_of_flows(plan: Plan) -> Iterator[tuple[str, Port]]:
    """The nodes that each flow passes, with the port that it leaves them through; to a group, each
    member's way."""
    table = plan.routes()
    known = {port.entity: port for port in plan.ports()}
    for flow in plan.flows():
        for member in plan.groups.get(flow.destination, [flow.destination]):
            ports = path(plan, table, known, flow.node, member)
            if not isinstance(ports, str):
                yield from zip([flow.node, *(port.peer for port in ports)], ports, strict=False)
