"""Table of a run's stalls: by cause, by machine, and by affected control loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.run.datapath_stalls import CAUSES, Stall, StallLog, find_stalls
from orchestrator.run.stall_impact import ControlLoop, StallImpact

SHOWN = 10
"""Number of the longest stalls, and of the control loops closest to being affected, that are
listed."""


@dataclass(frozen=True)
class UnloggedMachine:
    """A machine of a run that has no log of its stalls."""

    machine: str
    nodes: frozenset[str]
    why: str


def stall_report(
    logs: Sequence[StallLog],
    loops: Sequence[ControlLoop],
    pace: float = 1.0,
    *,
    one_clock: bool = True,
    silent: Sequence[UnloggedMachine] = (),
) -> dict[str, Any]:
    """The stalls of a run, for `fidelity["stalls"]`.

    Seconds are the machine's in `floor_s`, `at_s`, `time_s` and the `longest_s` of all stalls; the
    run's in the others. `held_s` is the time for which the run's clock was held back in stalls.
    `affected` counts stalls that affected a control loop. `longest` lists the longest stalls;
    `loops` the control loops closest to being affected, of `controlled` in all.

    Of a run over several machines `machines` has the same of each, or `untold`, the reason why one
    has no log; a loop over such a machine may have been affected more often (its `untold`).
    `one_clock`: all machines share a clock, which is held back for each of them.
    """
    found = find_stalls(logs)
    gone = StallImpact(logs, found, pace, one_clock)
    behind = [(loop, gone.met_by(loop)) for loop in loops]
    affected = np.zeros(len(found) + len(gone.machines), bool)
    for loop, each in behind:
        affected |= each > loop.reaction_ps
    closest = sorted(behind, key=lambda one: -np.max(one[1], initial=0) / one[0].reaction_ps)
    longest = sorted(found, key=lambda one: -one.ns)[:SHOWN]
    table = _counted(logs, found, pace) | {
        "controlled": len(loops),
        "felt": int(affected.sum()),
        "loops": {_name(loop): _of_loop(loop, each, silent) for loop, each in closest[:SHOWN]},
        "longest": [_row(one) for one in longest],
    }
    machines = {}
    for name in dict.fromkeys(log.machine for log in logs if log.machine):
        mine = [log for log in logs if log.machine == name]
        machines[name] = _counted(mine, [one for one in found if one.machine == name], pace)
        machines[name] |= {"felt": int(gone.of_machine(name, affected).sum())}
    machines |= {one.machine: {"untold": one.why} for one in silent}
    return table | ({"machines": machines} if machines else {})


def _counted(logs: Sequence[StallLog], found: Sequence[Stall], pace: float) -> dict[str, Any]:
    """Counts, times and causes of stalls."""
    return {
        "floor_s": max((log.floor_ns for log in logs), default=0) / 1e9,
        "count": len(found),
        "not_logged": sum(log.count - len(log.turns) for log in logs),
        "time_s": sum(one.ns for one in found) / 1e9,
        "longest_s": max((one.ns for one in found), default=0) / 1e9,
        "held_s": sum(max(pace * one.ns * 1000 - one.gone_ps, 0) for one in found) / 1e12,
        "causes": {
            cause: {"count": len(mine), "time_s": sum(one.ns for one in mine) / 1e9}
            for cause in CAUSES
            if (mine := [one for one in found if one.cause == cause])
        },
    }


def _name(loop: ControlLoop) -> str:
    """Name of a control loop; a queue may have sources in emulated and in real time."""
    return loop.queue if loop.held else f"{loop.queue} in real time"


def _of_loop(
    loop: ControlLoop, behind: np.ndarray, silent: Sequence[UnloggedMachine]
) -> dict[str, Any]:
    untold = [one.machine for one in silent if one.nodes & loop.nodes]
    return {
        "sources": list(loop.sources[:SHOWN]),
        "round_trip_s": loop.round_trip_ps / 1e12,
        "reaction_time_s": loop.reaction_ps / 1e12,
        "real_time": not loop.held,
        "longest_s": float(np.max(behind, initial=0)) / 1e12,
        "felt": int(np.sum(behind > loop.reaction_ps)),
        **({"untold": untold} if untold else {}),
    }


def _row(moment: Stall) -> dict[str, Any]:
    """One stall, which began at `at_s` by the machine's clock and at `run_s` by the run's."""
    return {
        **({"machine": moment.machine} if moment.machine else {}),
        "at_s": moment.from_ns / 1e9,
        "run_s": max(min(turn.from_ps for _, _, turn in moment.turns), 0) / 1e12,
        "time_s": moment.ns / 1e9,
        "gone_s": moment.gone_ps / 1e12,
        "cause": moment.cause,
        "threads": moment.threads,
        "events_after": sum(turn.after for _, _, turn in moment.turns),
    }
