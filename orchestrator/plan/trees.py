"""Multicast trees: the paths of frames for a group from the node that sends them."""

from __future__ import annotations

from collections import deque

from orchestrator.plan.entries import Switch
from orchestrator.plan.model import PlanModel
from orchestrator.plan.routes import by_its_node

Tree = dict[str, list[str]]
"""Switch -> names of the ports that get a copy."""


def tree(plan: PlanModel, root: str, members: tuple[str, ...]) -> tuple[Tree, list[str]]:
    """(ports by switch, members that cannot be reached) of the shortest paths from `root`.

    Of paths of equal length the one over the links that come first in the plan is taken; every
    switch gets a frame once.
    """
    by_node = by_its_node(plan)
    came_by: dict[str, tuple[str, str]] = {}
    waiting = deque([root])
    while waiting:
        here = waiting.popleft()
        if not isinstance(plan.nodes[here], Switch):
            continue
        for port in by_node[here]:
            if port.peer not in came_by and port.peer != root:
                came_by[port.peer] = (here, port.name)
                waiting.append(port.peer)
    wanted: dict[str, set[str]] = {}
    for member in members:
        here = member
        while here != root and here in came_by:
            before, name = came_by[here]
            wanted.setdefault(before, set()).add(name)
            here = before
    found = {
        node: [port.name for port in by_node[node] if port.name in names]
        for node, names in wanted.items()
    }
    return found, [member for member in members if member != root and member not in came_by]
