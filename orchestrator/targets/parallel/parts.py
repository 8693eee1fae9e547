"""Partitioning of a plan's nodes among cores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.targets.parallel.cuts import units
from orchestrator.targets.software.shares import evenly, hops_of_flows, work_of

CROSSING = 0.5
"""What it takes to hand a frame over, in units of what a node does to it."""
IN_TIME = 1.5
"""What it takes more where the link leads to a NIC: events of its own at both ends, which other
frames do without (`engine.node.late`). Measured with ibm-rack640, half of whose hosts have another
core than their switch."""


class Load:
    """Work of a run: frames that each node receives or sends, and frames between each pair of
    neighbours; every flow counts alike."""

    def __init__(self, resolved: ResolvedPlan) -> None:
        plan = resolved.plan
        self.nodes = list(plan.nodes)
        self.switches = {name for name, node in plan.nodes.items() if isinstance(node, Switch)}
        self.work = {name: 1 + frames for name, frames in work_of(plan).items()}
        self.between: dict[tuple[str, str], int] = {}
        for way in plan.directions():
            self.between.setdefault(_pair(way.sender.node, way.receiver.node), 0)
        for here, port in hops_of_flows(plan):
            self.between[_pair(here, port.peer)] += 1

    def cost(self, parts: Sequence[Sequence[str]]) -> float:
        """Work of the busiest partition."""
        of = {node: number for number, part in enumerate(parts) for node in part}
        each = [float(sum(self.work[node] for node in part)) for part in parts]
        for (one, other), frames in self.between.items():
            if of[one] != of[other]:
                crossing = CROSSING + (0 if self.switches.issuperset((one, other)) else IN_TIME)
                each[of[one]] += crossing * frames
                each[of[other]] += crossing * frames
        return max(each)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def parts(resolved: ResolvedPlan, cores: int) -> list[list[str]]:
    """Nodes for each of at most `cores` cores, in the order of the plan; one list where a run
    cannot be cut, or where to cut it would not pay."""
    load = Load(resolved)
    return min([load.nodes], split(resolved, cores), key=load.cost)


def split(resolved: ResolvedPlan, cores: int) -> list[list[str]]:
    """The same, cut if only it can be.

    Of two ways the better by what its busiest part does: neighbours together, along a walk through
    the network; or the busiest first, each to whom has least to do.
    """
    load, whole = Load(resolved), units(resolved)
    if cores < 2 or len(whole) < 2:
        return [load.nodes]
    found = [_along(load, _with_leaves(load, whole), cores), evenly(whole, load.work, cores)]
    best = min(found, key=lambda way: (sum(map(bool, way)) == 1, load.cost(way)))
    place = {name: number for number, name in enumerate(load.nodes)}
    return [sorted(part, key=place.__getitem__) for part in best if part]


def _with_leaves(load: Load, whole: list[list[str]]) -> list[list[str]]:
    """Add the nodes that have a single neighbour to its partition."""
    of = {node: number for number, unit in enumerate(whole) for node in unit}
    beside: dict[int, set[int]] = {number: set() for number in range(len(whole))}
    for one, other in load.between:
        if of[one] != of[other]:
            beside[of[one]].add(of[other])
            beside[of[other]].add(of[one])
    taken: dict[int, list[str]] = {}
    for number, unit in enumerate(whole):
        near = beside[number]
        holder = min(near) if len(near) == 1 and len(beside[min(near)]) > 1 else number
        taken.setdefault(holder, []).extend(unit)
    return [taken[number] for number in sorted(taken)]


def _along(load: Load, whole: list[list[str]], cores: int) -> list[list[str]]:
    """Cut a walk through the network, breadth first, into stretches of equal work."""
    of = {node: number for number, unit in enumerate(whole) for node in unit}
    ends = [(of[one], of[other]) for one, other in load.between if of[one] != of[other]]
    rows, columns = np.array(ends, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(ends)), (rows, columns)), shape=(len(whole), len(whole)))
    order: list[int] = []
    for start in range(len(whole)):
        if start not in order:
            walk = breadth_first_order(graph, start, directed=False, return_predecessors=False)
            order += walk.tolist()
    work = np.array([sum(load.work[node] for node in whole[number]) for number in order])
    middle = np.cumsum(work) - work / 2
    edges = np.searchsorted(middle, work.sum() * np.arange(cores + 1) / cores)
    return [
        [node for number in order[begin:end] for node in whole[number]]
        for begin, end in pairwise(edges.tolist())
    ]
