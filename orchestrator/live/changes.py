"""Live changes: timeline steps that are added while the plan runs, the same on every target.

A step is given an instant that lies ahead; it is checked as a step of the plan at that instant,
and against the room that the worlds were given; what it writes is put where the loops come past
it; with that the plan has one step more. What differs from target to target is the `Reach`: from
when on a change can act there, and how it gets into the worlds.
"""

from __future__ import annotations

import secrets
from collections.abc import Coroutine
from typing import Any, NamedTuple, Protocol, TypeVar

from orchestrator.errors import BadInput
from orchestrator.plan import Action, ResolvedPlan
from orchestrator.plan.units import format_duration
from orchestrator.registry import Registry

AT_ITS_END = "the run is at its end"

Step = dict[str, Any]
"""A step of a plan's timeline without its time: {"set": key, "to": value} or {verb: name}."""
Result = TypeVar("Result")


class NotMade(Exception):
    """A change that the plan would allow and that is not made here, and why."""


class TooLate(Exception):
    """A change that did not come in time for its instant, and to whom."""


class Changed(NamedTuple):
    """What a step makes of a plan, and what it does."""

    resolved: ResolvedPlan
    action: Action


class Reach(Protocol):
    """Where changes go. Asynchronous, for worlds may be on other machines; see `at_once`."""

    @property
    def allowances_ps(self) -> tuple[int, ...]:
        """How far ahead an instant is chosen; the next one when a change came too late for it."""

    async def soonest(self, resolved: ResolvedPlan, step: Step, allowance: int) -> int | None:
        """The first instant (ps), at least `allowance` ahead, at which a change can be made; None
        when the run is over before. May raise as `checked` does."""

    async def checked(self, resolved: ResolvedPlan, step: Step, at: int) -> Changed:
        """The plan with the step. Raises BadInput, or NotMade where it cannot be made here."""

    async def write(self, name: str, step: Step, at: int, changed: Changed) -> None:
        """Have a step carried out at `at` (ps). Raises TooLate; then some of it may have been
        carried out, and it is written again for a later instant."""


class LiveChanges:
    """The plan of a run with what is changed in it while it goes on."""

    def __init__(self, resolved: ResolvedPlan, reach: Reach) -> None:
        self.reach = reach
        self._plans = {"": resolved}
        """Change -> the plan with it: the last one, and the one before."""

    @property
    def resolved(self) -> ResolvedPlan:
        """The plan with all changes."""
        return next(reversed(self._plans.values()))

    async def soonest(self, step: Step) -> int:
        """When a step could be made (ps). Raises BadInput or NotMade when it cannot."""
        at = await self._soonest(step, 0)
        await self.reach.checked(self.resolved, step, at)
        return at

    async def make_at(self, name: str, step: Step, at: int) -> Changed:
        """Make a step at an instant that was chosen. Raises as `soonest` does, and TooLate.

        The change that was made last, by its name, takes the place of itself: it was too late
        for others who were to make it.
        """
        before = next(known for known in reversed(self._plans) if known != name)
        changed = await self.reach.checked(self._plans[before], step, at)
        await self.reach.write(name, step, at, changed)
        self._plans = {before: self._plans[before], name: changed.resolved}
        return changed

    async def make(self, step: Step) -> Changed:
        """Make a step as soon as can be. Raises as `soonest` does."""
        name = secrets.token_hex(8)
        allowances = self.reach.allowances_ps
        for allowance in allowances:
            at = await self._soonest(step, allowance)
            try:
                return await self.make_at(name, step, at)
            except TooLate as late:
                who = late
        raise NotMade(f"{who}: the order came too late {len(allowances)} times")

    async def _soonest(self, step: Step, allowance: int) -> int:
        at = await self.reach.soonest(self.resolved, step, allowance)
        if at is None:
            raise NotMade(AT_ITS_END)
        return at


def with_step(resolved: ResolvedPlan, step: Step, at: int) -> Changed:
    """The plan with one step more at `at` (ps), and what that step does. Raises BadInput.

    The step is the last of those at its time, so that plan and run agree in their order.
    """
    plan = resolved.plan
    data = plan.to_table()
    data["timeline"] = [*data["timeline"], {"at": format_duration(at), **step}]
    changed = plan.with_data(data).check(Registry.load())
    return Changed(changed, [action for action in changed.actions if action.at == at][-1])


def in_one_line(error: BadInput | NotMade) -> str:
    """Why a change is not made, in one line."""
    problems = error.problems if isinstance(error, BadInput) else ()
    return "; ".join(str(problem) for problem in problems) or str(error)


def at_once(change: Coroutine[Any, Any, Result]) -> Result:
    """Run to its end what waits for nobody: changes of worlds in this process's own memory."""
    try:
        change.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    change.close()
    raise RuntimeError("a change of worlds in this process waits for something")
