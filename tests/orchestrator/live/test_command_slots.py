"""Changes written into waiting commands, as the software target does it: here in virtual time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble, record
from orchestrator.assembly.live_commands import Command
from orchestrator.engine.records import SET
from orchestrator.live import world_changes
from orchestrator.live.command_slots import EVERY_PS, MARGIN_PS, WIDTH, CommandSlots, slot_times
from orchestrator.live.live_changes import (
    ChangedPlan,
    ChangeRefused,
    ChangeTooLate,
    LiveChanges,
    Step,
    run_to_end,
)
from orchestrator.plan import Plan
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


def live(assembly: Assembly) -> LiveChanges:
    """Changes of that one world."""
    nodes = list(assembly.resolved.plan.nodes)
    return LiveChanges(assembly.resolved, CommandSlots([(assembly, nodes)]))


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
    changes = live(assembly)
    for now, step in CHANGES:
        run_until(assembly, now)
        at = run_to_end(changes.make(step)).action.at
        assert now + MARGIN_PS <= at <= now + MARGIN_PS + 2 * EVERY_PS
    run_until(assembly, LASTS + 1)
    nodes = list(assembly.resolved.plan.nodes)
    changed = record("simulated", [(assembly, nodes)], cpu_s=0, wall_s=0)
    plain = assemble(changes.resolved)
    run_until(plain, LASTS + 1)
    planned = record("simulated", [(plain, nodes)], cpu_s=0, wall_s=0)
    assert np.array_equal(changed.values, planned.values)
    assert changed.events == planned.events
    assert np.ptp(changed.column("switch>sink", "paused_ps")) > 50 * MS


def test_near_the_end_there_are_no_slots() -> None:
    assembly = world()
    run_until(assembly, 250 * MS)
    with pytest.raises(ChangeRefused, match="the run is at its end"):
        run_to_end(live(assembly).make({"cut": "up"}))


def test_a_change_for_which_too_few_slots_are_left_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = world()
    monkeypatch.setattr(
        world_changes, "commands_for", lambda *_: [Command(SET, 0, 0)] * (WIDTH + 1)
    )
    run_until(assembly, LASTS - MARGIN_PS - 2 * EVERY_PS)
    with pytest.raises(ChangeRefused, match="the run is at its end"):
        run_to_end(live(assembly).make_at("a", {"cut": "up"}, LASTS - EVERY_PS))


def test_traffic_is_not_started_by_values_alone() -> None:
    with pytest.raises(ChangeRefused, match="cannot start or stop traffic"):
        run_to_end(live(world()).soonest({"stop": "gen"}))


@pytest.mark.parametrize("count", [1, WIDTH, WIDTH + 1])
def test_many_writes_take_several_times(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    assembly = world()
    offset = assembly.built.offset("ports", 0, "up")
    monkeypatch.setattr(world_changes, "commands_for", lambda *_: [Command(SET, offset, 0)] * count)
    run_to_end(live(assembly).make({"cut": "up"}))
    table = assembly.world.commands
    written = table["at"][table["offset"] == offset]
    assert len(written) == count
    assert len(set(written.tolist())) == -(-count // WIDTH)


def test_a_time_that_several_worlds_agreed_on_is_kept_or_said_to_be_too_late() -> None:
    assembly = world()
    changes = live(assembly)
    step = CHANGES[0][1]
    run_until(assembly, 10 * MS)
    at = run_to_end(changes.soonest(step))
    assert 10 * MS + MARGIN_PS <= at <= 10 * MS + MARGIN_PS + EVERY_PS
    later = at + 2 * EVERY_PS
    with pytest.raises(ChangeTooLate):
        run_to_end(changes.make_at("a", step, later + 1))  # that is no slot's time
    made = run_to_end(changes.make_at("a", step, later))
    assert made.resolved.actions[-1].at == later
    with pytest.raises(ChangeTooLate):
        run_to_end(changes.make_at("a", step, later))  # it is taken now
    run_until(assembly, 150 * MS)
    with pytest.raises(ChangeTooLate):
        run_to_end(changes.make_at("b", {"cut": "up"}, 140 * MS))  # it is over
    run_until(assembly, LASTS + 1)
    nodes = list(assembly.resolved.plan.nodes)
    changed = record("simulated", [(assembly, nodes)], cpu_s=0, wall_s=0)
    service = changed.column("switch.sink", "service_rate")
    assert set(service[changed.times_ps > later].tolist()) == {300_000_000}
    assert (service[changed.times_ps < later] != 300_000_000).all()
    assert changes.resolved.actions == made.resolved.actions


def test_a_change_that_others_got_too_late_is_in_the_plan_once() -> None:
    assembly = world()
    changes = live(assembly)
    first, second = 100 * MS, 140 * MS
    run_to_end(changes.make_at("a", {"cut": "up"}, first))
    run_to_end(changes.make_at("a", {"cut": "up"}, second))
    run_to_end(changes.make_at("b", {"mend": "up"}, 200 * MS))
    done = [(action.at, action.verb) for action in changes.resolved.actions]
    assert done == [(second, "cut"), (200 * MS, "mend")]


def test_who_is_late_is_given_more_time_and_named_at_last() -> None:
    assembly = world()

    class Late(CommandSlots):
        allowances_ps = (MARGIN_PS, 2 * MARGIN_PS)
        tried: ClassVar[list[int]] = []

        async def write(self, name: str, step: Step, at: int, changed: ChangedPlan) -> None:
            self.tried.append(at)
            raise ChangeTooLate("agent a")

    reach = Late([(assembly, list(assembly.resolved.plan.nodes))])
    changes = LiveChanges(assembly.resolved, reach)
    with pytest.raises(ChangeRefused, match=r"^agent a: the order came too late 2 times$"):
        run_to_end(changes.make({"cut": "up"}))
    assert reach.tried == [MARGIN_PS, 2 * MARGIN_PS]
    assert not changes.resolved.actions
