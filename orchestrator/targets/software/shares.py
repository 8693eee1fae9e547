"""Which nodes share a thread of the data path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.plan import Plan, Port
from orchestrator.plan.routes import path


def shares(plan: Plan, cores: int, nodes: Sequence[str] | None = None) -> list[list[str]]:
    """Groups of nodes with about as much to do in each: two, or one on a single core.

    `nodes` are those to be grouped, where others live elsewhere; two of them make two groups.

    What a node has to do is the frames that it takes in and puts out, every flow counting alike.
    The busiest node is placed first, each into the group that has less to do so far.
    """
    mine = list(plan.nodes) if nodes is None else list(nodes)
    if cores < 2 or len(mine) < 2:
        return [mine]
    work = dict.fromkeys(plan.nodes, 0)
    for start, ports in ways_of_flows(plan):
        here = start
        for port in ports:
            work[here] += 1
            here = port.peer
            work[here] += 1
    groups: list[list[str]] = [[], []]
    done = [0, 0]
    for name in sorted(mine, key=lambda name: -work[name]):
        lighter = min((0, 1), key=lambda group: (done[group], len(groups[group])))
        groups[lighter].append(name)
        done[lighter] += work[name]
    return groups


def ways_of_flows(plan: Plan) -> Iterator[tuple[str, list[Port]]]:
    """Where each flow starts and the ports that it leaves through; to a group, each member's."""
    table = plan.routes()
    known = {port.entity: port for port in plan.ports()}
    for flow in plan.flows():
        for member in plan.groups.get(flow.destination, [flow.destination]):
            ports = path(plan, table, known, flow.node, member)
            if not isinstance(ports, str):
                yield flow.node, ports
