"""Moments in which the machine took cores from a data path: by whom, and who could have felt it.

A data path logs its turns that took long, with what the kernel said of its thread. Here these
become moments with a cause and an effect. The cause is where most of the time went:

- `work`: the thread had its core, and what it did in that turn takes about so long;
- `processes`: it was ready, and others had its core;
- `stopped`: it had given the core away, which a data path never does: a signal, a debugger, a
  freezer of cgroups stopped it, or it waited for a page;
- `hypervisor`: it had its core, and the core stood still;
- `unexplained`: it had its core, and neither its work nor anything else accounts for the time:
  interrupts, or a hypervisor that does not tell what it takes.

The effect is how much of the run's time went by meanwhile. What real time is ahead of that was
dropped from the run's clock, so no node has seen it; what does not live by that clock, as programs
do, has seen all of it. A loop has felt a moment in which more went by than the loop takes from a
message until frames at the new rate have left the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

WORK, PROCESSES, STOPPED, HYPERVISOR, UNEXPLAINED = CAUSES = (
    "work",
    "processes",
    "stopped",
    "hypervisor",
    "unexplained",
)
SHOWN = 10
"""The longest moments, which are listed one by one."""
UNKNOWN = -1


@dataclass(frozen=True)
class Turn:
    """A turn of a data path's loop that took long, and what the kernel said of its thread.

    `span_ns` began when the kernel had last been asked, at the turn's beginning or some turns
    before; of that, the thread was on its core for `cpu_ns`, waited for it for `waited_ns`
    (UNKNOWN: the kernel does not say), and gave it away `slept` times.
    """

    from_ns: int
    """Since the run's time 0, of the machine's time."""
    to_ns: int
    from_ps: int
    """Of the run's time."""
    to_ps: int
    work: int = 0
    """Events carried out and frames taken in, in this turn."""
    after: int = 0
    """Events that were due at its end, and were carried out at once then."""
    span_ns: int = 0
    cpu_ns: int = 0
    waited_ns: int = UNKNOWN
    slept: int = 0

    @property
    def gone_ps(self) -> int:
        """How much of the run's time went by; what lies before its time 0 is none of it."""
        return self.to_ps - max(self.from_ps, 0)

    def shares_ns(self, cost_ns: float) -> dict[str, float]:
        """How the turn's time divides, by cause; `cost_ns` is what a unit of work takes in turns
        that are not long."""
        took = self.to_ns - self.from_ns
        waited = min(max(self.waited_ns, 0), took)
        off = min(max(self.span_ns - self.cpu_ns, waited), took)
        gone = off - waited
        on = took - off
        work = min(on, self.work * cost_ns)
        away = STOPPED if self.slept else HYPERVISOR if self.waited_ns != UNKNOWN else UNEXPLAINED
        shares = dict.fromkeys(CAUSES, 0.0) | {WORK: work, PROCESSES: float(waited)}
        shares[UNEXPLAINED] += on - work
        shares[away] += gone
        return shares


@dataclass(frozen=True)
class Log:
    """What one thread of a data path has logged."""

    nodes: frozenset[str]
    """Those that it drives."""
    turns: Sequence[Turn]
    count: int
    """Of long turns, those that the log had no room for too."""
    cost_ns: float = 0.0
    floor_ns: int = 0
    most_ns: int = 0
    """Of turns that the log had no room for: the longest,"""
    most_ps: int = 0
    """and the most of the run's time that went by in one."""


@dataclass(frozen=True)
class Loop:
    """A queue, those who control it, and how soon they can."""

    queue: str
    nodes: frozenset[str]
    """All that a message and the frames that answer it pass."""
    round_trip_ps: int
    """The shortest way from the queue to a source that hears of it, and back."""
    drain_ps: int
    """In which the queue drains from where it is held."""
    sources: tuple[str, ...] = ()
    held: bool = True
    """Whether it lives by the run's clock, and so stands still with it. Programs do not."""

    @property
    def reaction_ps(self) -> int:
        """From a message's departure until frames sent at the new rate have left the queue."""
        return max(self.round_trip_ps + self.drain_ps, 1)


@dataclass
class Moment:
    """Long turns of one or several threads that overlap."""

    from_ns: int
    to_ns: int
    turns: list[tuple[int, Log, Turn]] = field(default_factory=list)
    """With each, the number of its thread."""

    @property
    def ns(self) -> int:
        """How long it was, in the machine's time."""
        return self.to_ns - self.from_ns

    @property
    def threads(self) -> int:
        """How many of them it took."""
        return len({number for number, _, _ in self.turns})

    @cached_property
    def cause(self) -> str:
        """Where most of its time went."""
        shares = [turn.shares_ns(log.cost_ns) for _, log, turn in self.turns]
        whole = {cause: sum(share[cause] for share in shares) for cause in CAUSES}
        return max(CAUSES, key=lambda cause: whole[cause])

    @property
    def gone_ps(self) -> int:
        """The most of the run's time that went by in a turn of it."""
        return max(turn.gone_ps for _, _, turn in self.turns)


def moments(logs: Iterable[Log]) -> list[Moment]:
    """Long turns that overlap are one moment, in order of time."""
    every = [(number, log, turn) for number, log in enumerate(logs) for turn in log.turns]
    found = list[Moment]()
    for number, log, turn in sorted(every, key=lambda one: (one[2].from_ns, one[2].to_ns)):
        if not found or turn.from_ns >= found[-1].to_ns:
            found.append(Moment(turn.from_ns, turn.to_ns))
        found[-1].to_ns = max(found[-1].to_ns, turn.to_ns)
        found[-1].turns.append((number, log, turn))
    return found


class Gone:
    """How much of their time nodes were behind, per thread and moment. The last column is of all
    turns that are in no moment, for the logs had no room for them: the most of each thread."""

    def __init__(self, logs: Sequence[Log], found: Sequence[Moment], pace: float) -> None:
        self._logs = logs
        self._held = np.zeros((len(logs), len(found) + 1))
        """Ps of the run's time."""
        self._real = np.zeros((len(logs), len(found) + 1))
        """Ps of the machine's time, as long as the run's are: of what no clock is held for."""
        self._held[:, -1] = [log.most_ps for log in logs]
        self._real[:, -1] = [pace * 1000 * log.most_ns for log in logs]
        for place, moment in enumerate(found):
            for number, _, turn in moment.turns:
                held, real = self._held[number, place], self._real[number, place]
                self._held[number, place] = max(held, turn.gone_ps)
                self._real[number, place] = max(real, pace * 1000 * (turn.to_ns - turn.from_ns))

    def met_by(self, loop: Loop) -> np.ndarray:
        """By moment, the most that a node of a loop was behind (ps): float64[moments + 1]."""
        mine = [number for number, log in enumerate(self._logs) if log.nodes & loop.nodes]
        table = self._held if loop.held else self._real
        return np.max(table[mine], axis=0, initial=0.0)


def told(logs: Sequence[Log], loops: Sequence[Loop], pace: float = 1.0) -> dict[str, Any]:
    """The stalls of a run, for `fidelity["stalls"]`.

    Seconds are the machine's in `floor_s`, `at_s`, `time_s` and the `longest_s` of all stalls; the
    run's in the others. `held_s` is what the run's clock was held back for in these moments. `felt`
    counts moments that a loop must have felt. `longest` lists some, the longest first; `loops`
    those that came closest to feeling one, of `controlled` in all.
    """
    found = moments(logs)
    causes = {
        cause: {"count": len(mine), "time_s": sum(one.ns for one in mine) / 1e9}
        for cause in CAUSES
        if (mine := [one for one in found if one.cause == cause])
    }
    gone = Gone(logs, found, pace)
    behind = [(loop, gone.met_by(loop)) for loop in loops]
    felt = np.zeros(len(found) + 1, bool)
    for loop, each in behind:
        felt |= each > loop.reaction_ps
    closest = sorted(behind, key=lambda one: -np.max(one[1], initial=0) / one[0].reaction_ps)
    longest = sorted(found, key=lambda one: -one.ns)[:SHOWN]
    return {
        "floor_s": max((log.floor_ns for log in logs), default=0) / 1e9,
        "count": len(found),
        "not_logged": sum(log.count - len(log.turns) for log in logs),
        "time_s": sum(one.ns for one in found) / 1e9,
        "longest_s": max((one.ns for one in found), default=0) / 1e9,
        "held_s": sum(max(pace * one.ns * 1000 - one.gone_ps, 0) for one in found) / 1e12,
        "causes": causes,
        "controlled": len(loops),
        "felt": int(felt.sum()),
        "loops": {_name(loop): _of_loop(loop, each) for loop, each in closest[:SHOWN]},
        "longest": [_row(one) for one in longest],
    }


def _name(loop: Loop) -> str:
    """A queue may be filled by sources of both kinds."""
    return loop.queue if loop.held else f"{loop.queue} in real time"


def _of_loop(loop: Loop, behind: np.ndarray) -> dict[str, Any]:
    return {
        "sources": list(loop.sources[:SHOWN]),
        "round_trip_s": loop.round_trip_ps / 1e12,
        "reaction_time_s": loop.reaction_ps / 1e12,
        "real_time": not loop.held,
        "longest_s": float(np.max(behind, initial=0)) / 1e12,
        "felt": int(np.sum(behind > loop.reaction_ps)),
    }


def _row(moment: Moment) -> dict[str, Any]:
    """One moment, which began at `at_s` by the machine's clock and at `run_s` by the run's."""
    return {
        "at_s": moment.from_ns / 1e9,
        "run_s": max(min(turn.from_ps for _, _, turn in moment.turns), 0) / 1e12,
        "time_s": moment.ns / 1e9,
        "gone_s": moment.gone_ps / 1e12,
        "cause": moment.cause,
        "threads": moment.threads,
        "events_after": sum(turn.after for _, _, turn in moment.turns),
    }
