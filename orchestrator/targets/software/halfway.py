"""Beside the data path of a part: makes changes at times on which all parts agreed, or ends it.

It sleeps until the agent has an order for it; the loops of the data path never wait for it.
"""

from __future__ import annotations

import queue
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.assembly.changes import check_room, commands_for
from orchestrator.errors import BadInput
from orchestrator.live.session import refused, with_step
from orchestrator.live.slots import Slots
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.params import without_files
from orchestrator.targets.software.stages import CHANGE, COLLECT, ENDED, HALT, RUNNING
from orchestrator.targets.software.thread import Thread

LOOK_S = 0.1
"""Between two looks whether the data path still runs."""
AT_ITS_END = "the run is at its end"


class Halfway:
    """See the module."""

    def __init__(self, control: Any, resolved: ResolvedPlan, threads: Sequence[Thread]) -> None:
        self.control, self.threads = control, threads
        self.worlds = [thread.assembly.world for thread in threads]
        self.slots = Slots([thread.assembly for thread in threads])
        self._resolved = {"": resolved}
        self._last = ""
        """The change that was made last: asked for again, it takes the place of itself."""
        self.halted = False

    def attend(self) -> None:
        """Until the data path is done."""
        while any(thread.is_alive() for thread in self.threads):
            try:
                self._obey(self.control.orders.get(timeout=LOOK_S))
            except queue.Empty:
                continue
        if self.halted:
            rows = min(int(world.clock[0].row) for world in self.worlds)
            for world in self.worlds:
                world.clock[0].row = rows
                world.latency_marks[world.marks[0] :] = world.latency  # not reached: nothing new

    def wait_to_collect(self) -> None:
        """Until the results are wanted; whatever else is asked for comes too late."""
        while (order := self.control.orders.get())[0] != COLLECT:
            if order[0] == CHANGE:
                self._answer(ENDED, number=order[2], refused=AT_ITS_END)

    def _obey(self, order: tuple[Any, ...]) -> None:
        if order[0] == HALT:
            self.halted = True
            for world in self.worlds:
                world.clock[0].stop = 1
        elif order[0] == CHANGE:
            _, change, number, step, at = order
            try:
                with without_files():
                    told = self._earliest(step) if at is None else self._make(change, step, at)
            except BadInput as error:
                told = {"refused": refused(error)}
            self._answer(RUNNING, number=number, **told)

    def _answer(self, stage: str, **told: Any) -> None:
        self.control.report((stage, {CHANGE: told}))

    def _earliest(self, step: dict[str, Any]) -> dict[str, Any]:
        """When this change can be made. Raises BadInput when it cannot."""
        now = max(int(world.clock[0].now) for world in self.worlds)
        self._checked(self._resolved[self._last], step, max(now, 0))
        at = self.slots.earliest(now)
        return {"refused": AT_ITS_END} if at is None else {"at_ps": at}

    def _make(self, change: str, step: dict[str, Any], at: int) -> dict[str, Any]:
        """Write a change that is due at `at` (ps). Raises BadInput when it cannot be made."""
        before = next(of for of in reversed(self._resolved) if of != change)
        resolved, action = self._checked(self._resolved[before], step, at)
        due = replace(action, at=at)
        commands = [commands_for(t.assembly, set(t.nodes), due) for t in self.threads]
        if not self.slots.write_at(at, commands):
            return {"late": True}
        self._resolved, self._last = {before: self._resolved[before], change: resolved}, change
        return {"at_ps": at}

    def _checked(self, resolved: ResolvedPlan, step: dict[str, Any], at: int) -> Any:
        changed, action = with_step(resolved, step, at)
        for thread in self.threads:
            check_room(thread.assembly, changed, action)
        return changed, action
