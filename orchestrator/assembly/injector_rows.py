"""Rows of the faults that the timeline injects into single frames, at the ports where they act."""

from __future__ import annotations

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.world_builder import WorldBuilder
from orchestrator.engine.records import (
    INJECT_CORRUPT,
    INJECT_DELAY,
    INJECT_DROP,
    INJECT_DUPLICATE,
    INJECT_MARK,
)
from orchestrator.plan import Action, ResolvedPlan
from orchestrator.plan.timeline_actions import injections_at

ACTIONS = {
    "drop": INJECT_DROP,
    "mark": INJECT_MARK,
    "corrupt": INJECT_CORRUPT,
    "delay": INJECT_DELAY,
    "duplicate": INJECT_DUPLICATE,
}


def injector_rows(actions: tuple[Action, ...]) -> dict[str, int]:
    """Link direction -> row of the injector of its sender."""
    return {entity: row for row, entity in enumerate(injections_at(actions))}


def add_injectors(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    """Add an injector for each port whose frames the timeline injects faults into.

    All rows of ports are there. Each frame of such a port has its events in time: a link that an
    action names is none whose frames are delivered late or counted ahead (`node_rows`), and no port
    with an injector is lazy (`lazy_eligibility`).
    """
    for entity, steps in injections_at(resolved.actions).items():
        port = builder.ports[indices.sender(entity)]
        first = len(builder.injections)
        for step in steps:
            builder.add(
                builder.injections,
                action=ACTIONS[step.verb],
                flow=indices.flows[step.key],
                at=step.at,
                **step.values,
            )
        last = len(builder.injections)
        port["injector"] = 1 + builder.add(builder.injectors, first=first, last=last)
