"""Timeline commands of a run: flows that start and stop, value changes, phase boundaries."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import WorldBuilder
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import MARK, NEVER, NONE, SERVE, SET, START_FLOW, STOP_FLOW
from orchestrator.engine.workload import ENDLESS
from orchestrator.plan import Action, Plan, ResolvedPlan
from orchestrator.plan.entity_names import link_of, stage_index
from orchestrator.plan.lossless_lanes import has_own_limit
from orchestrator.plan.row_order import by_number
from orchestrator.plan.timeline_actions import INJECTION

FieldAddress = tuple[str, int, str]
"""(array, row, field)"""

SLOT: FieldAddress = ("commands", -1, "value")
"""Stands for a command's own value: a write that changes nothing (see
orchestrator.live.command_slots)."""
SLOT_MARK = -1
"""Value of a command SERVE that is such a slot."""


def marks(plan: Plan) -> list[int]:
    """Times at which counters and histograms are read: at phase boundaries and at the end (ps)."""
    edges = {edge for phase in plan.phases.values() for edge in (phase.from_, phase.to)}
    return sorted({edge for edge in edges if edge <= plan.duration} | {0, plan.duration})


def add_timeline(
    builder: WorldBuilder,
    resolved: ResolvedPlan,
    indices: Indices,
    mine: set[str],
    times: list[int],
    slots: Sequence[int] = (),
) -> dict[int, FieldAddress]:
    """Add all commands in time order; returns which of them write to which field.

    At each of the times `slots` is a command that changes nothing, and can be made one that does;
    behind them one that lets port 0 send, which it does anyway, or another one.
    """
    plan = resolved.plan
    finite = _finite(builder)
    steps: list[tuple[int, int, int, int, FieldAddress | None]] = [
        (t, MARK, 0, 0, None) for t in times
    ]
    steps += [(t, SET, 0, 0, SLOT) for t in slots]
    steps += [(t, SERVE, 0, SLOT_MARK, None) for t in sorted(set(slots))]
    for row, flow in enumerate(plan.flows()):
        if flow.node in mine:
            entry = plan.traffic[flow.entry]
            steps.append((entry.start, START_FLOW, row, 0, None))
            if entry.stop is not None and row not in finite:
                steps.append((entry.stop, STOP_FLOW, row, 0, None))
    for action in resolved.actions:
        steps += commands_of(builder, indices, mine, plan, action)
    writes: dict[int, FieldAddress] = {}
    for at, what, offset, value, place in sorted(steps, key=lambda step: step[0]):
        row = builder.add(builder.commands, at=at, action=what, offset=offset, value=value)
        if place is not None:
            writes[row] = place if place is not SLOT else ("commands", row, "value")
    return writes


def _finite(builder: WorldBuilder) -> set[int]:
    """Flows whose messages all have an end: what began before the traffic stops is sent whole."""
    blocks = [block for block in builder.messages if len(block)]
    return {int(b["flow"][0]) for b in blocks if (b["octets"] < ENDLESS).all()}


def commands_of(
    builder: WorldBuilder | World, indices: Indices, mine: set[str], plan: Plan, action: Action
) -> list[tuple[int, int, int, int, FieldAddress | None]]:
    """(at, action, offset or row, value, place to be written) of everything that a step does."""
    if action.kind == INJECTION:
        return []  # the port's injector counts its frames
    if action.verb in ("start", "stop"):
        what = START_FLOW if action.verb == "start" else STOP_FLOW
        rows = sorted(indices.flows[name] for name in action.entities)
        nodes = list(indices.nodes)
        return [
            (action.at, what, row, 0, None)
            for row in rows
            if nodes[builder.flows[row]["node"]] in mine
        ]
    found: list[tuple[int, int, int, int, FieldAddress | None]] = []
    for entity in sorted(action.entities, key=by_number):
        if action.verb in ("pause", "resume"):
            found += _hold(indices, mine, entity, action)
            continue
        if action.verb in ("cut", "mend"):
            place = ("ports", indices.sender(entity), "up")
            found.append((action.at, SET, 0, int(action.verb == "mend"), place))
            continue
        for name, value in action.values.items():
            for place in _field_addresses(builder, indices, plan, action.kind, entity, name):
                found.append((action.at, SET, 0, value, place))
    return found


def _hold(
    indices: Indices, mine: set[str], entity: str, action: Action
) -> list[tuple[int, int, int, int, FieldAddress | None]]:
    """A port is held from now on, or until now."""
    row = indices.port_rows[entity]
    until = action.at if action.verb == "resume" else NEVER
    held = (action.at, SET, 0, until, ("ports", row, "paused_until"))
    if action.verb == "resume":
        serve = (action.at, SERVE, row, 0, None)
        return [held, serve] if indices.ports[entity].node in mine else [held]
    return [held]


def _field_addresses(
    builder: WorldBuilder | World,
    indices: Indices,
    plan: Plan,
    kind: str,
    entity: str,
    name: str,
) -> list[FieldAddress]:
    """Addresses of a changeable value: for a buffer one in every lane that has it."""
    if kind == "link":
        return [("ports", indices.sender(entity), name)]
    if kind == "queue":
        field = "capacity" if name == "buffer" else name
        lanes = zip(indices.buffers[entity], indices.lanes, strict=True)
        return [
            ("queues", indices.queues[own], field)
            for own, lane in lanes
            if name != "buffer" or not has_own_limit(plan, entity, lane)
        ]
    if kind in ("congestion_point", "pause"):
        rows = [indices.queues[own] for own in indices.buffers[entity]]
        instances = [int(builder.queues[row][kind]) for row in rows]
        return [(f"params{instance}", 0, name) for instance in instances if instance != NONE]
    if kind == "reaction_point":
        instance = builder.limiters[indices.limiters[entity]]["algorithm"]
    elif kind == "traffic":
        instance = builder.flows[indices.flows[entity]]["algorithm"]
    else:
        instance = _stage_instance(builder, indices, entity)
    return [(f"params{instance}", 0, name)]


def _stage_instance(builder: WorldBuilder | World, indices: Indices, entity: str) -> int:
    """The instance of a link direction's delay line, or of one of its stages."""
    port = builder.ports[indices.sender(link_of(entity))]
    if entity == link_of(entity):
        return int(port["delay_line"])
    first = int(builder.injectors[port["injector"] - 1]["first_stage"])
    return int(builder.stages[first + stage_index(entity)]["algorithm"])
