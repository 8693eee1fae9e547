"""Rows of injectors: the faults that the timeline injects into single frames, and the stages of
links, at the ports where they act."""

from __future__ import annotations

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import WorldBuilder
from orchestrator.engine.records import (
    CORRUPTED,
    INJECT_CORRUPT,
    INJECT_DELAY,
    INJECT_DROP,
    INJECT_DUPLICATE,
    INJECT_MARK,
    NONE,
)
from orchestrator.plan import ResolvedPlan, entity_names
from orchestrator.plan.row_order import by_number, in_row_order
from orchestrator.plan.timeline_actions import injections_at

ACTIONS = {
    "drop": INJECT_DROP,
    "mark": INJECT_MARK,
    "corrupt": INJECT_CORRUPT,
    "delay": INJECT_DELAY,
    "duplicate": INJECT_DUPLICATE,
}


def injector_rows(resolved: ResolvedPlan) -> dict[str, int]:
    """Link direction -> row of the injector of its sender: where the timeline injects faults, and
    behind these where a link has stages."""
    injected = sorted(injections_at(resolved.actions), key=by_number)
    ways = in_row_order(resolved.plan).directions()
    staged = [way.entity for way in ways if resolved.is_staged(way.link)]
    return {entity: row for row, entity in enumerate(dict.fromkeys([*injected, *staged]))}


def stage_rows(resolved: ResolvedPlan, indices: Indices) -> dict[str, range]:
    """Link direction with stages -> rows of these, in the order of the rows of ports, in which
    `node_rows` adds them."""
    ways = {way.sender.entity: way for way in resolved.plan.directions()}
    found: dict[str, range] = {}
    first = 0
    for sender in indices.ports:
        way = ways[sender]
        if resolved.is_staged(way.link):
            found[way.entity] = range(first, first + len(resolved.stages(way.link)))
            first = found[way.entity].stop
    return found


def add_injectors(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    """Add an injector for each port whose frames the timeline injects faults into, or whose link
    has stages.

    All rows of ports are there. Each frame of such a port has its events in time: a link that an
    action names, or that has stages, is none whose frames are delivered late or counted ahead
    (`node_rows`), and no port with an injector is lazy (`lazy_eligibility`).
    """
    steps_of = injections_at(resolved.actions)
    ends = {way.entity: way.receiver.node for way in resolved.plan.directions()}
    for entity in injector_rows(resolved):
        sender = indices.sender(entity)
        first = len(builder.injections)
        for step in steps_of.get(entity, ()):
            builder.add(
                builder.injections,
                action=ACTIONS[step.verb],
                flow=indices.flows[step.key],
                at=step.at,
                **{"damage": CORRUPTED} | step.values,
            )
        stages = builder.stages_of.get(sender, range(0))
        builder.ports[sender]["injector"] = 1 + builder.add(
            builder.injectors,
            first=first,
            last=len(builder.injections),
            first_stage=stages.start,
            last_stage=stages.stop,
            copies_head=NONE,
            copies_tail=NONE,
            external=not entity_names.is_ours(resolved.plan, ends[entity]),
        )
