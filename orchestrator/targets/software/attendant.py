"""Beside the data path, in its process: hands out samples and makes changes, when it is asked.

It sleeps as long as nobody watches, and the loops of the data path never wait for it. Where their
threads have all the cores, whatever runs besides takes one from them, here and in every process
that handles what is handed out: there rows go out once a second, many at a time.
"""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from typing import Any

import numpy as np

from orchestrator.assembly.changes import Command, check_room, commands_for
from orchestrator.errors import BadInput
from orchestrator.live.captured import captured_near
from orchestrator.live.session import refused, with_step
from orchestrator.live.slots import Slots
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software.thread import Thread

WATCH, CHANGE, LOOK, STOP, OVER = "watch", "change", "look", "stop", "over"
"""Orders: hand out samples; make a change (its number, its step without a time); tell captured
frames (number, time, how many at most); end the run; a thread of the data path is done."""
ROWS, MADE, REFUSED, SEEN = "rows", "made", "refused", "seen"
"""News: (times, values); a change (number, time); (number, text); frames (number, frames)."""
LOOK_S, SPARING_S = 0.05, 1.0
"""Between two times that rows are handed out: with a core to spare, and without."""
MOST_ROWS = 2000
"""Rows that are handed out at once."""


class Attendant:
    """See the module. Make it before the threads of the data path begin, which tell it when they
    are done; `spare`: there is a core that none of them has."""

    def __init__(
        self, control: Any, resolved: ResolvedPlan, threads: list[Thread], *, spare: bool = True
    ) -> None:
        self.control, self.resolved, self.threads = control, resolved, threads
        self.every_s = LOOK_S if spare else SPARING_S
        self._driving = len(threads)
        for thread in threads:
            thread.ended = lambda: control.orders.put((OVER,))
        self.worlds = [thread.assembly.world for thread in threads]
        self.slots = Slots([thread.assembly for thread in threads])
        self.watched = False
        self.stopped = False
        self._row = 0
        owner = {node: number for number, thread in enumerate(threads) for node in thread.nodes}
        probes = threads[0].assembly.probes
        self._of = np.array([owner[probe.owner] for probe in probes], np.int64)

    def attend(self) -> None:
        """Until the data path is done."""
        due = time.monotonic()
        while self._driving:
            wait = max(due - time.monotonic(), 0) if self.watched else None
            try:
                self._obey(self.control.orders.get(timeout=wait))
            except queue.Empty:
                self._hand_out()
                due = time.monotonic() + self.every_s
        if self.watched:
            self._hand_out()

    def finish(self) -> ResolvedPlan:
        """The plan with what was changed. A run that was stopped has ended for all its threads."""
        if self.stopped:
            rows = min(int(world.clock[0].row) for world in self.worlds)
            for world in self.worlds:
                world.clock[0].row = rows
                world.latency_marks[world.marks[0] :] = world.latency
        for thread in self.threads:
            thread.assembly.resolved = self.resolved
        return self.resolved

    def _obey(self, order: tuple[Any, ...]) -> None:
        if order[0] == OVER:
            self._driving -= 1
        elif order[0] == WATCH:
            self.watched = True
        elif order[0] == STOP:
            self.stopped = True
            for world in self.worlds:
                world.clock[0].stop = 1
        elif order[0] == LOOK:
            _, number, time_ps, most = order
            assemblies = [thread.assembly for thread in self.threads]
            self.control.report((SEEN, number, captured_near(assemblies, time_ps, most)))
        else:
            _, number, step = order
            try:
                self.control.report((MADE, number, self._change(step)))
            except BadInput as error:
                self.control.report((REFUSED, number, refused(error)))

    def _change(self, step: dict[str, Any]) -> int:
        """Make a change; returns when it is due (ps). Raises BadInput."""
        now = max(int(world.clock[0].now) for world in self.worlds)
        resolved, action = with_step(self.resolved, step, now)
        for thread in self.threads:
            check_room(thread.assembly, resolved, action)

        def commands(at: int) -> list[list[Command]]:
            due = replace(action, at=at)
            return [commands_for(t.assembly, set(t.nodes), due) for t in self.threads]

        now = max(int(world.clock[0].now) for world in self.worlds)
        at = self.slots.write(now, commands)
        if at is None:
            raise BadInput(action.key, "the run is at its end")
        self.resolved, _ = with_step(self.resolved, step, at)
        return at

    def _hand_out(self) -> None:
        """All rows that there are by now."""
        rows = min(int(world.clock[0].row) for world in self.worlds)
        while self._row < rows:
            last = min(rows, self._row + MOST_ROWS)
            span = slice(self._row, last)
            values = np.empty((last - self._row, len(self._of)), np.int64)
            for number, world in enumerate(self.worlds):
                mine = self._of == number
                values[:, mine] = world.rows[span][:, mine]
            self.control.report((ROWS, self.worlds[0].row_times[span].copy(), values))
            self._row = last
