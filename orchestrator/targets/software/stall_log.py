"""Stall log of a run's threads: long turns of their loops, for `fidelity["stalls"]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.engine.datapath import stall_detection as at
from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.plan import ResolvedPlan
from orchestrator.run import stall_report
from orchestrator.run.datapath_stalls import LongIteration, StallLog
from orchestrator.targets.software.control_loops import loops_of
from orchestrator.targets.software.datapath_thread import Thread

BILLION = 10**9
VERSION = 1
"""Of what a part of a run tells of its stalls."""


def stall_fidelity(threads: Sequence[Thread], resolved: ResolvedPlan) -> dict[str, Any]:
    """Stall table of a run; see `orchestrator.run.stall_report.stall_report`."""
    pace = float(threads[0].rig.speed[0]) / REAL_TIME
    logs = [log_of(thread.nodes, words_of(thread), rows_of(thread)) for thread in threads]
    return stall_report.stall_report(logs, loops_of(resolved), pace)


def rows_of(thread: Thread) -> np.ndarray:
    """A thread's long turns, int64[n, COLUMNS] (`orchestrator.engine.datapath.stall_detection`), by
    the machine's time since the run's time 0, at the rate of the clock that the run goes by. None
    begins before it in the run's time: what lies there is none of the run."""
    words, rig = thread.rig.stalled, thread.rig
    rows = rig.stalls[: min(int(words[at.COUNT]), len(rig.stalls))].copy()
    times, rate = rows[:, [at.FROM_NS, at.TO_NS]] - int(rig.start_ns[0]), int(rig.rate_ppb[0])
    faster = times // BILLION * rate + times % BILLION * rate // BILLION
    rows[:, [at.FROM_NS, at.TO_NS]] = times + faster
    rows[:, at.FROM_PS] = np.maximum(rows[:, at.FROM_PS], 0)
    return rows


def words_of(thread: Thread) -> dict[str, Any]:
    """Further fields of a thread's `StallLog`."""
    words = thread.rig.stalled
    return {
        "count": int(words[at.COUNT]),
        "cost_ns": float(words[at.BUSY_NS]) / max(int(words[at.BUSY_WORK]), 1),
        "floor_ns": int(words[at.LEAST]),
        "most_ns": int(words[at.MOST_NS]),
        "most_ps": int(words[at.MOST_PS]),
    }


def log_of(
    nodes: Sequence[str],
    words: dict[str, Any],
    rows: np.ndarray,
    machine: str = "",
    error_ns: int = 0,
) -> StallLog:
    """The log of a thread that drives these nodes, from the words and rows of it."""
    turns = [_turn(row) for row in rows.tolist()]
    return StallLog(frozenset(nodes), turns, **words, machine=machine, error_ns=error_ns)


def _turn(row: list[int]) -> LongIteration:
    return LongIteration(
        from_ns=row[at.FROM_NS],
        to_ns=row[at.TO_NS],
        from_ps=row[at.FROM_PS],
        to_ps=row[at.TO_PS],
        work=row[at.WORK],
        after=row[at.AFTER],
        span_ns=row[at.SPAN_NS],
        cpu_ns=row[at.SPAN_CPU_NS],
        waited_ns=row[at.SPAN_WAITED_NS],
        slept=row[at.SPAN_SLEPT],
    )


def stall_words(threads: Sequence[Thread], one_clock: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """Stall words of one machine's part of a run.

    The rows of all its threads, one behind the other, int64[n, COLUMNS] with n at most
    `stalls.ROWS` for each; and in words whose they are. `one_clock`: its clock is one with those of
    all other parts, and is held back for each of them.
    """
    rows = [rows_of(thread) for thread in threads]
    words = [
        words_of(thread) | {"nodes": list(thread.nodes), "rows": len(mine)}
        for thread, mine in zip(threads, rows, strict=True)
    ]
    return np.concatenate(rows), {"v": VERSION, "one_clock": one_clock, "threads": words}
