"""Changes written into waiting commands, as the software target does it: here in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble, record
from orchestrator.assembly.changes import Command, commands_for
from orchestrator.live.session import with_step
from orchestrator.live.slots import EVERY_PS, MARGIN_PS, WIDTH, Slots, slot_times
from orchestrator.plan import Action, Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import MS, line_of_three, recorded, run_until

LASTS = 300 * MS
CHANGES: list[tuple[int, dict[str, Any]]] = [
    (10 * MS, {"set": "nodes.switch.service_rate", "to": "0.3Gb/s"}),
    (70 * MS, {"pause": "switch.sink"}),
    (150 * MS, {"resume": "switch.sink"}),
]


def world(slots: bool = True) -> Assembly:
    """300 ms, with slots."""
    resolved = Plan(**line_of_three(duration=LASTS, sample_interval=MS)).check(Registry.load())
    resolved = Plan.load(resolved.plan.to_toml()).check(Registry.load())
    return assemble(resolved, slots=slot_times(LASTS) if slots else ())


def writing(assembly: Assembly, action: Action) -> Callable[[int], list[list[Command]]]:
    """What a step writes when it is due at a time."""
    nodes = set(assembly.resolved.plan.nodes)
    return lambda at: [commands_for(assembly, nodes, replace(action, at=at))]


def test_slots_lie_evenly_and_do_nothing_by_themselves() -> None:
    times = slot_times(LASTS)
    assert sorted(set(times)) == list(range(EVERY_PS, LASTS, EVERY_PS))
    assert all(times.count(at) == WIDTH for at in set(times))
    assert len(slot_times(3600 * 10**12)) <= 2001 * WIDTH
    assembly = world()
    run_until(assembly, LASTS + 1)
    plain = recorded(line_of_three(duration=LASTS, sample_interval=MS))
    got = record("simulated", [(assembly, list(assembly.resolved.plan.nodes))], cpu_s=0, wall_s=0)
    assert np.array_equal(got.values, plain.values)


def test_what_is_written_is_carried_out_as_the_plan_would() -> None:
    assembly = world()
    slots = Slots([assembly])
    for now, step in CHANGES:
        run_until(assembly, now)
        _, action = with_step(assembly.resolved, step, now)
        at = slots.write(now, writing(assembly, action))
        assert at is not None
        assert now + MARGIN_PS <= at <= now + MARGIN_PS + 2 * EVERY_PS
        assembly.resolved, _ = with_step(assembly.resolved, step, at)
    run_until(assembly, LASTS + 1)
    nodes = list(assembly.resolved.plan.nodes)
    live = record("simulated", [(assembly, nodes)], cpu_s=0, wall_s=0)
    plain = assemble(assembly.resolved)
    run_until(plain, LASTS + 1)
    planned = record("simulated", [(plain, nodes)], cpu_s=0, wall_s=0)
    assert np.array_equal(live.values, planned.values)
    assert np.ptp(live.column("switch>sink", "paused_ps")) > 50 * MS


def test_near_the_end_there_are_no_slots() -> None:
    assembly = world()
    _, action = with_step(assembly.resolved, {"cut": "up"}, 290 * MS)
    assert Slots([assembly]).write(290 * MS, writing(assembly, action)) is None


@pytest.mark.parametrize("count", [1, WIDTH, WIDTH + 1])
def test_many_writes_take_several_times(count: int) -> None:
    assembly = world()
    resolved, action = with_step(assembly.resolved, {"cut": "up"}, 0)
    one = commands_for(assembly, set(resolved.plan.nodes), action)[:1]
    Slots([assembly]).write(0, lambda at: [one * count])
    table = assembly.world.commands
    written = table["at"][table["offset"] == one[0].offset]
    assert len(written) == count
    assert len(set(written.tolist())) == -(-count // WIDTH)


def test_a_time_that_several_worlds_agreed_on_is_kept_or_said_to_be_too_late() -> None:
    assembly = world()
    slots = Slots([assembly])
    run_until(assembly, 10 * MS)
    at = slots.earliest(10 * MS)
    assert at is not None
    assert 10 * MS + MARGIN_PS <= at <= 10 * MS + MARGIN_PS + EVERY_PS
    later = at + 2 * EVERY_PS
    resolved, action = with_step(assembly.resolved, CHANGES[0][1], later)
    commands = writing(assembly, action)(later)
    assert not slots.write_at(later + 1, commands), "that is no slot's time"
    assert slots.write_at(later, commands)
    assert not slots.write_at(later, commands), "it is taken now"
    run_until(assembly, 150 * MS)
    assert not slots.write_at(140 * MS, commands), "it is over"
    run_until(assembly, LASTS + 1)
    nodes = list(assembly.resolved.plan.nodes)
    live = record("simulated", [(assembly, nodes)], cpu_s=0, wall_s=0)
    service = live.column("switch.sink", "service_rate")
    assert set(service[live.times_ps > later].tolist()) == {300_000_000}
    assert (service[live.times_ps < later] != 300_000_000).all()
    assert resolved.actions[-1].at == later
    assert slots.earliest(LASTS - MARGIN_PS) is None
