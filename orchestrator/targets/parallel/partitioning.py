"""Partitioning of a plan's nodes among cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from orchestrator.assembly.row_index import Indices
from orchestrator.engine.frames.frame_layout import MINIMUM
from orchestrator.engine.node.transmitter import wire_time
from orchestrator.plan import Direction, ResolvedPlan, Sink, Switch
from orchestrator.plan.time_varying import OverTime
from orchestrator.plan.timeline_actions import injections_at
from orchestrator.targets.software.thread_assignment import evenly, hops_of_flows, work_of


@dataclass(frozen=True)
class Cuts:
    """Links between the partitions of a run. `table` int64[n, 3]: port, partition that drives it,
    partition that drives its far end. `window`: lookahead (ps), the least time before one partition
    affects another. `room`: the most frames that one partition can send another in a window."""

    table: np.ndarray
    window: int
    room: int


def may_be_cut(resolved: ResolvedPlan, way: Direction) -> bool:
    """Return whether the ends of a link may be in different partitions, as far as one direction is
    concerned: its delay has a lower bound above 0.

    A sink stays with whom it hangs on: frames to it are handed over many at once (`node.arrive`).
    """
    nodes = resolved.plan.nodes
    if any(isinstance(nodes[port.node], Sink) for port in (way.sender, way.receiver)):
        return False
    if resolved.is_staged(way.link) or not resolved.is_fixed(way.link):
        return False  # its algorithms alone know its delays
    return least_delay(resolved, way) > 0


def least_delay(resolved: ResolvedPlan, way: Direction) -> int:
    """The least delay of a direction of a link at any time of a run (ps)."""
    return min(OverTime(resolved).delays(way))


def cuts(resolved: ResolvedPlan, parts: Sequence[Sequence[str]]) -> Cuts:
    """Links between these partitions."""
    plan = resolved.plan
    of = {node: number for number, part in enumerate(parts) for node in part}
    cut = [way for way in plan.directions() if of[way.sender.node] != of[way.receiver.node]]
    window = min((least_delay(resolved, way) for way in cut), default=plan.duration + 1)
    rows = Indices(plan).port_rows
    table = [(rows[w.sender.entity], of[w.sender.node], of[w.receiver.node]) for w in cut]
    room: dict[tuple[int, int], int] = {}
    for way in cut:
        ends = of[way.sender.node], of[way.receiver.node]
        room[ends] = room.get(ends, 0) + _most(resolved, way, window)
    most = max(room.values(), default=1)
    return Cuts(np.array(table, np.int64).reshape(-1, 3), window, most)


def _most(resolved: ResolvedPlan, way: Direction, window: int) -> int:
    """The most frames that a direction of a link can be sent in a window."""
    link = resolved.plan.links[way.link]
    rate = max(OverTime(resolved).rates(way))
    return int(window // wire_time(MINIMUM + link.overhead, rate)) + 2


def units(resolved: ResolvedPlan) -> list[list[str]]:
    """Nodes that must share a partition, each list and all of them in the order of the plan."""
    plan = resolved.plan
    names = list(plan.nodes)
    place = {name: number for number, name in enumerate(names)}
    injected = injections_at(resolved.actions)  # where a frame may overtake others
    kept = [
        way for way in plan.directions() if way.entity in injected or not may_be_cut(resolved, way)
    ]
    ends = [[place[end.node] for end in (way.sender, way.receiver)] for way in kept]
    rows, columns = np.array(ends, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(kept)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=False)
    found: dict[int, list[str]] = {}
    for name, label in zip(names, labels.tolist(), strict=True):
        found.setdefault(label, []).append(name)
    return list(found.values())


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


def partition(resolved: ResolvedPlan, cores: int) -> list[list[str]]:
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
