"""Control loop beside the data path, in its process: sends samples and applies live changes.

It is idle while no console watches, and the data path's loops never wait for it. Where their
threads have all the cores, this loop and every process that handles its rows take one from them:
there it sends rows once a second, many at a time.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from orchestrator.errors import BadInput
from orchestrator.live.captured_frames import captured_near
from orchestrator.live.command_slots import CommandSlots
from orchestrator.live.live_changes import (
    ChangeRefused,
    ChangeTooLate,
    LiveChanges,
    Step,
    refusal_text,
    run_to_end,
)
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software.datapath_thread import Thread
from orchestrator.targets.software.worker_stages import CHANGE, HALT

WATCH, MAKE, FRAMES, OVER = "watch", "make", "frames", "over"
"""Orders beside those of stages: hand out samples; make a change as soon as can be (its number,
its step without a time); tell captured frames (number, time, how many at most); a thread of the
data path is done."""
ROWS, CHANGED, SEEN = "rows", "changed", "seen"
"""News: (times, values); what became of a change; frames (number, frames)."""
HAND_OUT_S, SPARING_S = 0.05, 1.0
"""Between two times that rows are handed out: with a core to spare, and without."""
MOST_ROWS = 2000
"""Rows that are handed out at once."""
ChangeReport = dict[str, Any]
"""What became of a change: its `number`, and `at_ps`, or that it came `late` for that, or why it is
`refused`."""


class ControlThread:
    """Control loop of the data path's process. Make it before the data path's threads begin: they
    signal their end to it. `tell` receives the outcome of changes; `spare`: a core without a thread
    is left."""

    def __init__(
        self,
        control: Any,
        resolved: ResolvedPlan,
        threads: Sequence[Thread],
        tell: Callable[[ChangeReport], None],
        *,
        spare: bool = True,
    ) -> None:
        self.control, self.threads, self.tell = control, threads, tell
        self.every_s = HAND_OUT_S if spare else SPARING_S
        self._driving = len(threads)
        for thread in threads:
            thread.ended = lambda: control.orders.put((OVER,))
        self.worlds = [thread.assembly.world for thread in threads]
        slots = CommandSlots((thread.assembly, thread.nodes) for thread in threads)
        self.changes = LiveChanges(resolved, slots)
        self.watched = False
        self.halted = False
        self._row = 0
        owner = {node: number for number, thread in enumerate(threads) for node in thread.nodes}
        probes = threads[0].assembly.probes
        self._of = np.array([owner.get(probe.owner, -1) for probe in probes], np.int64)

    def serve(self) -> None:
        """Serve until the data path is done. A halted run has ended for all its threads then."""
        due = time.monotonic()
        while self._driving:
            wait = max(due - time.monotonic(), 0) if self.watched else None
            try:
                self._handle(self.control.orders.get(timeout=wait))
            except queue.Empty:
                self._hand_out()
                due = time.monotonic() + self.every_s
        if self.watched:
            self._hand_out()
        if self.halted:
            rows = min(int(world.clock[0].row) for world in self.worlds)
            for world in self.worlds:
                world.clock[0].row = rows
                world.latency_marks[world.marks[0] :] = world.latency  # not reached: nothing new

    def _handle(self, order: tuple[Any, ...]) -> None:
        kind, *what = order
        if kind == OVER:
            self._driving -= 1
        elif kind == WATCH:
            self.watched = True
        elif kind == HALT:
            self.halted = True
            for world in self.worlds:
                world.clock[0].stop = 1
        elif kind == FRAMES:
            number, time_ps, most = what
            assemblies = [thread.assembly for thread in self.threads]
            self.control.report((SEEN, number, captured_near(assemblies, time_ps, most)))
        elif kind == MAKE:
            number, step = what
            self._report_change(number, lambda: self._made(step))
        elif kind == CHANGE:
            name, number, step, at = what
            if at is None:
                self._report_change(
                    number, lambda: {"at_ps": run_to_end(self.changes.soonest(step))}
                )
            else:
                self._report_change(number, lambda: self._made_at(name, step, at))

    def _report_change(self, number: str, change: Callable[[], ChangeReport]) -> None:
        try:
            outcome = change()
        except (BadInput, ChangeRefused) as error:
            outcome = {"refused": refusal_text(error)}
        self.tell({"number": number, **outcome})

    def _made(self, step: Step) -> ChangeReport:
        """Report of a change at the soonest possible time."""
        return {"at_ps": run_to_end(self.changes.make(step)).action.at}

    def _made_at(self, name: str, step: Step, at: int) -> ChangeReport:
        """Report of a change at a time that all machines have agreed on."""
        try:
            return {"at_ps": run_to_end(self.changes.make_at(name, step, at)).action.at}
        except ChangeTooLate:
            return {"late": True}

    def _hand_out(self) -> None:
        """Send all new rows of samples."""
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
