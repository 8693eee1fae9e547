"""Live changes: the instant of a step, a later one where it was too late, the plan afterwards."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import BadInput, Problem
from orchestrator.live.live_changes import (
    RUN_ENDING,
    ChangedPlan,
    ChangeRefused,
    ChangeTooLate,
    LiveChanges,
    refusal_text,
    run_to_end,
    with_step,
)
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import MS, line_of_three

STEP = {"stop": "gen"}
FIRST: Any = "plan"


class Writer:
    """Worlds at an instant; writes are too late for a few times. A plan is a text."""

    allowances_ps = (10, 20, 30)

    def __init__(self, late: int = 0, over: bool = False) -> None:
        self.late, self.over = late, over
        self.asked: list[Any] = []
        self.written: list[Any] = []

    async def soonest(self, resolved: Any, step: Any, allowance: int) -> int | None:
        self.asked.append((resolved, allowance))
        return None if self.over else 100 + allowance

    async def checked(self, resolved: Any, step: Any, at: int) -> ChangedPlan:
        return ChangedPlan(f"{resolved}+{at}", SimpleNamespace(at=at))  # type: ignore[arg-type]

    async def write(self, name: str, step: Any, at: int, changed: ChangedPlan) -> None:
        self.written.append((name, step, at, changed.resolved))
        if len(self.written) <= self.late:
            raise ChangeTooLate(f"machine {at}")


def test_a_step_is_made_at_the_first_instant() -> None:
    writer = Writer()
    changes = LiveChanges(FIRST, writer)
    assert changes.resolved == "plan"
    made = asyncio.run(changes.make(STEP))
    assert (made.resolved, made.action.at) == ("plan+110", 110)
    assert changes.resolved == "plan+110"
    assert writer.asked == [("plan", 10)]
    ((name, step, at, resolved),) = writer.written
    assert (step, at, resolved, len(name)) == (STEP, 110, "plan+110", 16)
    asyncio.run(changes.make(STEP))
    assert changes.resolved == "plan+110+110"


@pytest.mark.parametrize("late", [1, 2])
def test_a_step_that_was_too_late_is_made_later_in_place_of_the_first(late: int) -> None:
    writer = Writer(late)
    changes = LiveChanges(FIRST, writer)
    asyncio.run(changes.make(STEP))
    at = 100 + writer.allowances_ps[late]
    assert changes.resolved == f"plan+{at}"
    assert [one[2] for one in writer.written] == [110, 120, 130][: late + 1]
    assert len({one[0] for one in writer.written}) == 1, "one name"


def test_a_step_that_is_always_too_late_is_refused() -> None:
    changes = LiveChanges(FIRST, Writer(3))
    with pytest.raises(ChangeRefused, match="machine 130: the order came too late 3 times"):
        asyncio.run(changes.make(STEP))
    assert changes.resolved == "plan"


def test_a_run_at_its_end_takes_no_step() -> None:
    changes = LiveChanges(FIRST, Writer(over=True))
    for call in (changes.make, changes.soonest):
        with pytest.raises(ChangeRefused, match=RUN_ENDING):
            asyncio.run(call(STEP))


def test_the_earliest_instant_is_looked_up_without_a_lead() -> None:
    writer = Writer()
    assert asyncio.run(LiveChanges(FIRST, writer).soonest(STEP)) == 100
    assert (writer.asked, writer.written) == ([("plan", 0)], [])


def test_a_step_with_the_name_of_the_last_one_replaces_it() -> None:
    changes = LiveChanges(FIRST, Writer())
    for name, at, plan in (
        ("a", 1, "plan+1"),
        ("a", 2, "plan+2"),
        ("b", 3, "plan+2+3"),
        ("b", 4, "plan+2+4"),
        ("c", 5, "plan+2+4+5"),
    ):
        made = asyncio.run(changes.make_at(name, STEP, at))
        assert made.resolved == changes.resolved == plan


def test_a_plan_has_the_step_as_the_last_of_its_instant() -> None:
    resolved = Plan(**line_of_three()).check(Registry.load())
    first = with_step(resolved, {"cut": next(iter(resolved.plan.links))}, MS)
    assert (first.action.verb, first.action.at) == ("cut", MS)
    assert [(one.verb, one.at) for one in first.resolved.actions] == [("cut", MS)]
    key = {"set": "nodes.switch.buffer", "to": "70KB"}
    second = with_step(first.resolved, key, MS)
    assert [one.verb for one in second.resolved.actions] == ["cut", "set"]
    assert (second.action.verb, second.action.to) == ("set", "70KB")
    assert resolved.actions == ()
    with pytest.raises(BadInput):
        with_step(resolved, {"cut": "no-such-link"}, MS)


def test_refusals_are_in_one_line() -> None:
    problems = [Problem("a", 1, "two is expected"), Problem("b", 2, "one is expected")]
    assert refusal_text(BadInput("plan", problems)) == (
        "a: 1 is not accepted; two is expected; b: 2 is not accepted; one is expected"
    )
    assert refusal_text(BadInput("plan", "is none")) == "plan: is none"
    assert refusal_text(ChangeRefused("no room")) == "no room"


def test_a_change_in_this_process_waits_for_nothing() -> None:
    async def done() -> int:
        return 5

    async def waits() -> int:
        await asyncio.sleep(0)
        return 5

    assert run_to_end(done()) == 5
    with pytest.raises(RuntimeError, match="waits for something"):
        run_to_end(waits())
