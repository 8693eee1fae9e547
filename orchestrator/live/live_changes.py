"""Live changes: timeline steps that are added while the plan runs, the same on every target.

A step is scheduled at an instant ahead of the run. It is checked as a step of the plan at that
instant, and against the capacity of the worlds; its writes are placed where the loops execute them;
then the plan has one step more. Targets differ in their `ChangeWriter`: the earliest instant at
which a change can act, and the way in which it is written into the worlds.
"""

from __future__ import annotations

import secrets
from collections.abc import Coroutine
from typing import Any, NamedTuple, Protocol, TypeVar

from orchestrator.errors import BadInput
from orchestrator.plan import Action, ResolvedPlan
from orchestrator.plan.units import format_duration
from orchestrator.registry import Registry

RUN_ENDING = "the run is at its end"

Step = dict[str, Any]
"""A step of a plan's timeline without its time: {"set": key, "to": value} or {verb: name}."""
Result = TypeVar("Result")


class ChangeRefused(Exception):
    """Refusal, with its reason, of a change that the plan would allow."""


class ChangeTooLate(Exception):
    """A change was written after its instant; the text names the target or machine."""


class ChangedPlan(NamedTuple):
    """A plan with a further step, and the action of that step."""

    resolved: ResolvedPlan
    action: Action


class ChangeWriter(Protocol):
    """Writer of changes into worlds. Asynchronous: worlds may be on other machines
    (`run_to_end`)."""

    @property
    def allowances_ps(self) -> tuple[int, ...]:
        """Lead times of an instant (ps); the next one is taken after a change came too late."""

    async def soonest(self, resolved: ResolvedPlan, step: Step, allowance: int) -> int | None:
        """The first instant (ps), at least `allowance` ahead, at which a change can be made; None
        when the run is over before. May raise as `checked` does."""

    async def checked(self, resolved: ResolvedPlan, step: Step, at: int) -> ChangedPlan:
        """The plan with the step. Raises BadInput, or NotMade where it cannot be made here."""

    async def write(self, name: str, step: Step, at: int, changed: ChangedPlan) -> None:
        """Schedule a step at `at` (ps). Raises TooLate; part of the step may then have been
        executed, and the caller writes it again for a later instant."""


class LiveChanges:
    """The plan of a run, with the changes that are made during the run."""

    def __init__(self, resolved: ResolvedPlan, reach: ChangeWriter) -> None:
        self.reach = reach
        self._plans = {"": resolved}
        """Change -> the plan with that change: of the last two changes."""

    @property
    def resolved(self) -> ResolvedPlan:
        """The plan with all changes."""
        return next(reversed(self._plans.values()))

    async def soonest(self, step: Step) -> int:
        """Earliest instant (ps) for a step. Raises BadInput or NotMade when there is none."""
        at = await self._soonest(step, 0)
        await self.reach.checked(self.resolved, step, at)
        return at

    async def make_at(self, name: str, step: Step, at: int) -> ChangedPlan:
        """Make a step at an instant that was chosen. Raises as `soonest` does, and TooLate.

        A change with the name of the last one replaces it: that one was too late on another
        machine.
        """
        before = next(known for known in reversed(self._plans) if known != name)
        changed = await self.reach.checked(self._plans[before], step, at)
        await self.reach.write(name, step, at, changed)
        self._plans = {before: self._plans[before], name: changed.resolved}
        return changed

    async def make(self, step: Step) -> ChangedPlan:
        """Make a step at the earliest instant. Raises as `soonest` does."""
        name = secrets.token_hex(8)
        allowances = self.reach.allowances_ps
        for allowance in allowances:
            at = await self._soonest(step, allowance)
            try:
                return await self.make_at(name, step, at)
            except ChangeTooLate as late:
                who = late
        raise ChangeRefused(f"{who}: the order came too late {len(allowances)} times")

    async def _soonest(self, step: Step, allowance: int) -> int:
        at = await self.reach.soonest(self.resolved, step, allowance)
        if at is None:
            raise ChangeRefused(RUN_ENDING)
        return at


def with_step(resolved: ResolvedPlan, step: Step, at: int) -> ChangedPlan:
    """The plan with one step more at `at` (ps), and what that step does. Raises BadInput.

    The step is the last of those at its time, so that plan and run agree in their order.
    """
    plan = resolved.plan
    data = plan.to_table()
    data["timeline"] = [*data["timeline"], {"at": format_duration(at), **step}]
    changed = plan.with_data(data).check(Registry.load())
    return ChangedPlan(changed, [action for action in changed.actions if action.at == at][-1])


def refusal_text(error: BadInput | ChangeRefused) -> str:
    """One-line reason of a refused change."""
    problems = error.problems if isinstance(error, BadInput) else ()
    return "; ".join(str(problem) for problem in problems) or str(error)


def run_to_end(change: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never suspends, such as a change of worlds in this process's memory."""
    try:
        change.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    change.close()
    raise RuntimeError("a change of worlds in this process waits for something")
