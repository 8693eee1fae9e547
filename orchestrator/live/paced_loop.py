"""Paced loop of a simulated run that is watched: pace, and orders between two stretches.

A change becomes a step of the timeline at the next whole microsecond that the loop has not reached,
and the loop executes it like every other step: the plan with that step reproduces the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.assembly import Assembly
from orchestrator.live.captured_frames import captured_near
from orchestrator.live.feed_messages import Machine
from orchestrator.live.live_changes import LiveChanges, run_to_end
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import WorldRows
from orchestrator.live.world_changes import PausedWorldChanges

PS = 10**12
REST_S = 0.01
"""Sleep of a paced run that is ahead of its pace."""
LATE_S = 0.25
"""Most lag behind its pace that a run catches up."""
ACCEPTS = ("set", "act", "look", "pace", "halt")


class PacedLoop:
    """Driver of a simulated world's loop by a session: pace, orders, captured frames."""

    def __init__(self, assembly: Assembly, session: Session) -> None:
        self.assembly, self.session = assembly, session
        self.duration = assembly.resolved.plan.duration
        self.until = 0
        """Events before this were carried out (ps)."""
        self._pace: float | None = None
        self._begin = time.perf_counter(), 0
        world = PausedWorldChanges(assembly, lambda: self.until)
        self.changes = LiveChanges(assembly.resolved, world)
        nodes = list(assembly.resolved.plan.nodes)
        session.machines = [Machine(name="this machine", nodes=nodes, target=session.target)]
        columns = [probe.column for probe in assembly.probes]
        session.begin(columns, WorldRows(assembly.world), ACCEPTS)

    def drive(self, loop: Callable[[int], bool], report: Callable[[int], None]) -> None:
        """Run to the end, or until the session stops it.

        `loop(until)` executes a limited number of events before `until` (ps) and returns whether
        none is left; `report(now)` reports the progress (ps).
        """
        end = self.duration + 1
        while not self.session.stopping:
            for order in self.session.orders():
                run_to_end(self.session.carry_out(order, self.changes))
            for asked in self.session.frame_requests():
                request = asked.request
                asked.reply_with(captured_near([self.assembly], request.time_ps, request.most))
            goal = min(self._goal(), end)
            all_done = loop(goal)
            now = int(self.assembly.world.clock[0].now)
            self.until = max(self.until, goal if all_done else now + 1)
            self.session.now_ps = min(self.until, self.duration)
            report(self.session.now_ps)
            if self.until == end:
                return
            if all_done:
                time.sleep(REST_S)
        self._stop()

    def _goal(self) -> int:
        """Run time (ps) that the pace allows by now."""
        if self.session.pace is None:
            self._pace = None
            return self.duration + 1
        now = time.perf_counter()
        if self.session.pace != self._pace:
            self._pace, self._begin = self.session.pace, (now, self.until)
        begin, from_ps = self._begin
        goal = from_ps + int((now - begin) * self._pace * PS)
        if goal - self.until > LATE_S * self._pace * PS:
            self._begin = now, self.until
        return goal

    def _stop(self) -> None:
        """End early: phases that were not reached get no counts of their own."""
        world = self.assembly.world
        world.latency_marks[world.marks[0] :] = world.latency
        self.session.happened(self.session.now_ps, "stopped", self.session.target, {"live": True})
