"""Worlds to test node logic on: assembled from a plan's tables, run in steps, read by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from orchestrator.algorithm import Algorithm
from orchestrator.assembly import Assembly, assemble, record
from orchestrator.assembly.world_builder import Assembled, Sizes, WorldBuilder
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.records import NEVER, NONE
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.recording import Recording
from orchestrator.registry import Registry

US, MS = 10**6, 10**9
CHUNK, MOST_EVENTS = 100_000, 5_000_000

Table = dict[str, Any]
ALIGNED: Table = {"clock_ppm": 0, "phase": "aligned"}
"""Of a plan in which all clocks are equal and everything begins at its start, to the ps."""


class Empty(Params):
    """No parameters."""


def line_of_three(**changes: Any) -> Table:
    """A plan: NIC, switch, sink; 1 Gb/s and no delay; one flow of 1500 B at the link's rate."""
    return {
        "name": "line-of-three",
        "duration": 2 * MS,
        "sample_interval": 100 * US,
        "nodes": {"nic": {"kind": "nic"}, "switch": {"kind": "switch"}, "sink": {"kind": "sink"}},
        "links": {
            "up": {"ends": ["nic", "switch"], "rate": 10**9},
            "down": {"ends": ["switch", "sink"], "rate": 10**9},
        },
        "traffic": {"gen": {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**9}},
    } | changes


def assembled(table: Table) -> Assembly:
    """The world of a plan, at time 0."""
    return assemble(Plan(**table).check(Registry.load()))


def run_until(assembly: Assembly, until_ps: int) -> None:
    """Carry out every event before `until_ps`; a world whose time does not go on is an error."""
    clock = assembly.world.clock[0]
    events = CHUNK
    while events == CHUNK:
        before = int(clock.now)
        events = int(simulate(assembly.world, until_ps, CHUNK))
        assert clock.now >= before, "time goes back"
        assert clock.events < MOST_EVENTS, "time stands still"


def run_in_steps(assembly: Assembly, steps: int) -> Iterator[int]:
    """Run the whole plan, handing over after each of `steps` equal parts of its duration."""
    duration = assembly.resolved.plan.duration
    for step in range(1, steps + 1):
        until = duration * step // steps
        run_until(assembly, until + 1)
        yield until


def recorded(table: Table) -> Recording:
    """What a simulated run of a plan measures."""
    assembly = assembled(table)
    run_until(assembly, assembly.resolved.plan.duration + 1)
    nodes = list(assembly.resolved.plan.nodes)
    return record("simulated", [(assembly, nodes)], cpu_s=0.0, wall_s=0.0)


def at(recording: Recording, entity: str, quantity: str, time_ps: int) -> int:
    """A sampled value in the row of an instant."""
    row = int(np.searchsorted(recording.times_ps, time_ps))
    assert recording.times_ps[row] == time_ps
    return int(recording.column(entity, quantity)[row])


def flows_only(count: int, pool: int = 4) -> Assembled:
    """A world of one NIC with `count` unconnected flows, for functions that need no network."""
    builder = WorldBuilder(seed=1)
    builder.add(builder.nodes, ports=0, receiver=NONE)
    for _ in range(count):
        builder.add(builder.flows, head=NONE, tail=NONE, limiter=NONE, next_frame=NEVER)
    return builder.build(Sizes(spare_frames=pool), addresses=1)


def one_limiter(**values: int) -> Assembled:
    """A world with one limiter, of a flow that is on, whose reaction point does nothing."""
    idle = Algorithm("idle", "reaction_point", "does nothing", Empty, np.dtype([("x", "i8")]), {})
    builder = WorldBuilder(seed=1)
    builder.add(builder.nodes, limiters=1, receiver=NONE)
    instance = builder.instance("idle", idle, Empty())
    never = {"timer": NEVER, "soonest": NEVER}
    builder.add(builder.limiters, flow=0, active=1, algorithm=instance, **never, **values)
    builder.add(builder.flows, on=1, head=NONE, tail=NONE, limiter=0, next_frame=NEVER)
    return builder.build(Sizes(spare_frames=4), addresses=1)
