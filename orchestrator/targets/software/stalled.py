"""What the threads of a run logged of turns that took long, for `fidelity["stalls"]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.engine.datapath import stalls as at
from orchestrator.engine.datapath.pace import REAL_TIME
from orchestrator.plan import ResolvedPlan
from orchestrator.run import stalls
from orchestrator.run.stalls import Log, Turn
from orchestrator.targets.software.loops import loops_of
from orchestrator.targets.software.thread import Thread


def told(threads: Sequence[Thread], resolved: ResolvedPlan) -> dict[str, Any]:
    """See `orchestrator.run.stalls.told`."""
    pace = float(threads[0].rig.speed[0]) / REAL_TIME
    return stalls.told([log_of(thread) for thread in threads], loops_of(resolved), pace)


def log_of(thread: Thread) -> Log:
    """What a thread has logged, by the machine's time since the run's time 0."""
    words, start = thread.rig.stalled, int(thread.rig.start_ns[0])
    rows = thread.rig.stalls[: min(int(words[at.COUNT]), len(thread.rig.stalls))]
    return Log(
        nodes=frozenset(thread.nodes),
        turns=[_turn(row, start) for row in rows.tolist()],
        count=int(words[at.COUNT]),
        cost_ns=float(words[at.BUSY_NS]) / max(int(words[at.BUSY_WORK]), 1),
        floor_ns=int(words[at.LEAST]),
        most_ns=int(words[at.MOST_NS]),
        most_ps=int(words[at.MOST_PS]),
    )


def _turn(row: list[int], start_ns: int) -> Turn:
    return Turn(
        from_ns=row[at.FROM_NS] - start_ns,
        to_ns=row[at.TO_NS] - start_ns,
        from_ps=row[at.FROM_PS],
        to_ps=row[at.TO_PS],
        work=row[at.WORK],
        after=row[at.AFTER],
        span_ns=row[at.SPAN_NS],
        cpu_ns=row[at.SPAN_CPU_NS],
        waited_ns=row[at.SPAN_WAITED_NS],
        slept=row[at.SPAN_SLEPT],
    )
