"""Links at which a run may be partitioned, and the lookahead across each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from orchestrator.assembly.names import Indices
from orchestrator.engine.frames.layout import MINIMUM
from orchestrator.engine.node.link import wire_time
from orchestrator.plan import Direction, ResolvedPlan, Sink
from orchestrator.plan.over_time import OverTime


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
    use = resolved.use("delay_line", way.link)
    if use is not None and use.algorithm.name != "fixed-delay":
        return False  # its algorithm alone knows its delays
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
    kept = [way for way in plan.directions() if not may_be_cut(resolved, way)]
    ends = [[place[end.node] for end in (way.sender, way.receiver)] for way in kept]
    rows, columns = np.array(ends, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(kept)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=False)
    found: dict[int, list[str]] = {}
    for name, label in zip(names, labels.tolist(), strict=True):
        found.setdefault(label, []).append(name)
    return list(found.values())
