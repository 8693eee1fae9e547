"""The commands of a run: flows that start and stop, values that change, phase boundaries."""

from __future__ import annotations

from orchestrator.assembly.names import Indices
from orchestrator.node.builder import WorldBuilder
from orchestrator.node.records import MARK, SET, START_FLOW, STOP_FLOW
from orchestrator.plan import Action, Plan, ResolvedPlan

Place = tuple[str, int, str]
"""(array, row, field)"""


def marks(plan: Plan) -> list[int]:
    """When counters and histograms are taken: at phase boundaries and at the end (ps)."""
    edges = {edge for phase in plan.phases.values() for edge in (phase.from_, phase.to)}
    return sorted({edge for edge in edges if edge <= plan.duration} | {0, plan.duration})


def add_timeline(
    builder: WorldBuilder,
    resolved: ResolvedPlan,
    indices: Indices,
    mine: set[str],
    times: list[int],
) -> dict[int, Place]:
    """Add all commands in time order; returns which of them write to which field."""
    plan = resolved.plan
    steps: list[tuple[int, int, int, int, Place | None]] = [(t, MARK, 0, 0, None) for t in times]
    for row, flow in enumerate(plan.flows()):
        if flow.node in mine:
            entry = plan.traffic[flow.entry]
            steps.append((entry.start, START_FLOW, row, 0, None))
            if entry.stop is not None:
                steps.append((entry.stop, STOP_FLOW, row, 0, None))
    for action in resolved.actions:
        steps += _commands(builder, indices, mine, plan, action)
    writes: dict[int, Place] = {}
    for at, what, offset, value, place in sorted(steps, key=lambda step: step[0]):
        row = builder.add(builder.commands, at=at, action=what, offset=offset, value=value)
        if place is not None:
            writes[row] = place
    return writes


def _commands(
    builder: WorldBuilder, indices: Indices, mine: set[str], plan: Plan, action: Action
) -> list[tuple[int, int, int, int, Place | None]]:
    if action.verb in ("start", "stop"):
        what = START_FLOW if action.verb == "start" else STOP_FLOW
        rows = [indices.flows[name] for name in action.entities]
        nodes = list(plan.nodes)
        return [
            (action.at, what, row, 0, None)
            for row in rows
            if nodes[builder.flows[row]["node"]] in mine
        ]
    found: list[tuple[int, int, int, int, Place | None]] = []
    for entity in action.entities:
        if action.verb in ("cut", "mend"):
            place = ("ports", indices.sender(entity), "up")
            found.append((action.at, SET, 0, int(action.verb == "mend"), place))
            continue
        for name, value in action.values.items():
            for place in _places(builder, indices, action.kind, entity, name):
                found.append((action.at, SET, 0, value, place))
    return found


def _places(
    builder: WorldBuilder, indices: Indices, kind: str, entity: str, name: str
) -> list[Place]:
    """Where a changeable value lies: for a buffer once in every lane."""
    if kind == "link":
        return [("ports", indices.sender(entity), name)]
    if kind == "queue":
        field = "capacity" if name == "buffer" else name
        return [("queues", indices.queues[own], field) for own in indices.buffers[entity]]
    if kind in ("congestion_point", "pause"):
        rows = [indices.queues[own] for own in indices.buffers[entity]]
        return [(f"params{builder.queues[row][kind]}", 0, name) for row in rows]
    if kind == "reaction_point":
        instance = builder.limiters[indices.limiters[entity]]["algorithm"]
    elif kind == "traffic":
        instance = builder.flows[indices.flows[entity]]["algorithm"]
    else:
        instance = builder.ports[indices.sender(entity)]["delay_line"]
    return [(f"params{instance}", 0, name)]
