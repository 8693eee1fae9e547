"""Parallel simulated run: one world and one thread per partition."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

import numpy as np

from orchestrator.assembly import Assembly, assemble
from orchestrator.deferred_signals import deferred_signals
from orchestrator.engine.parallel_simulation import (
    ENDED,
    FULL,
    MORE,
    Boxes,
    new_boxes,
    simulate_windows,
)
from orchestrator.engine.records import ELSEWHERE
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.run.machine_info import free_bytes
from orchestrator.targets.parallel.partitioning import Cuts, cuts

WINDOWS_PER_REPORT = 4096
"""Windows between two reports of progress and Ctrl-C."""


def usable_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


class ParallelRun:
    """Partitioned run: `assemblies[n]` drives the nodes `nodes[n]`."""

    def __init__(self, resolved: ResolvedPlan, nodes: Sequence[Sequence[str]]) -> None:
        self.nodes = [list(part) for part in nodes]
        self.until = resolved.plan.duration + 1
        self.cuts: Cuts = cuts(resolved, nodes)
        memory = free_bytes()
        share = None if memory is None else memory // len(self.nodes)
        self.assemblies: list[Assembly] = [
            assemble(resolved, part, alone=True, memory=share) for part in self.nodes
        ]
        for me, assembly in enumerate(self.assemblies):
            mine = self.cuts.table[self.cuts.table[:, 1] == me, 0]
            assembly.world.ports["wire"][mine] = ELSEWHERE
            assembly.world.ports["ahead"][mine] = 0
        stamps = self.assemblies[0].world.stamps
        words = stamps.shape[1] if len(stamps) > 1 else 0
        self.boxes: Boxes = new_boxes(len(self.nodes), self.cuts.table, self.cuts.room, words)
        self.states = [np.zeros(2, np.int64) for _ in self.nodes]
        self.outcomes = [MORE] * len(self.nodes)

    def run(self, report: Callable[[int], None]) -> None:
        """Simulate all of it; the first part in this thread, which reports (ps reached)."""
        others = [
            threading.Thread(
                target=self._run_windows, args=(n, None), name=f"part-{n}", daemon=True
            )
            for n in range(1, len(self.nodes))
        ]
        try:
            with deferred_signals():
                for thread in others:
                    thread.start()
            self._run_windows(0, report)
        finally:
            with deferred_signals():
                self.boxes.stop[0] = int(self.outcomes[0] != ENDED)
                for thread in others:
                    if thread.ident is not None:
                        thread.join()
        for assembly in self.assemblies:
            assembly.refuse_exhausted()
        if any(outcome != ENDED for outcome in self.outcomes):
            full = " (frames between two parts had no room)" if FULL in self.outcomes else ""
            raise RunFailed(f"target simulated: a core did not come to the end of the run{full}")

    def _run_windows(self, number: int, report: Callable[[int], None] | None) -> None:
        """Window after window until the run is over."""
        try:
            while self.outcomes[number] == MORE:
                self.outcomes[number] = self.advance(number, WINDOWS_PER_REPORT)
                if self.assemblies[number].is_exhausted:
                    return
                if report is not None:
                    report(min(int(self.states[number][1]), self.until - 1))
        finally:
            if (
                self.outcomes[number] == MORE
            ):  # it failed, or memory ended: no thread may wait for it
                self.boxes.stop[0] = 1

    def advance(self, number: int, windows: int) -> int:
        """Let one part go on by so many windows; what `simulate_windows` answered."""
        return int(
            simulate_windows(
                self.assemblies[number].world,
                number,
                self.boxes,
                self.states[number],
                self.cuts.window,
                self.until,
                windows,
            )
        )
