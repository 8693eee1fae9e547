"""Stalls of a data path: periods in which the machine took its cores, with their cause.

A data path logs long iterations of its loop, with the kernel's scheduling statistics of its thread.
This module groups them into stalls and attributes each to the cause of most of its time:

- `work`: the thread had its core, and its work in that iteration takes about so long;
- `processes`: the thread was runnable, and other processes had its core;
- `stopped`: the thread was blocked, which a data path never does by itself: by a signal, a
  debugger, a cgroup freezer, or a page fault;
- `hypervisor`: the thread had its core, and the virtual core was not running (steal time);
- `unexplained`: the thread had its core, and no work accounts for the time: interrupts, or a
  hypervisor that does not report steal time.

`orchestrator.run.stall_impact` computes the control loops that a stall affects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

WORK, PROCESSES, STOPPED, HYPERVISOR, UNEXPLAINED = CAUSES = (
    "work",
    "processes",
    "stopped",
    "hypervisor",
    "unexplained",
)
UNKNOWN = -1


@dataclass(frozen=True)
class LongIteration:
    """Long iteration of a data path's loop, with the kernel's statistics of its thread.

    `span_ns` began at the last reading of the statistics, at this iteration's beginning or some
    iterations before; of that, the thread ran for `cpu_ns`, waited for a core for `waited_ns`
    (UNKNOWN: the kernel does not report it), and blocked `slept` times.
    """

    from_ns: int
    """Since the run's time 0, of the machine's time."""
    to_ns: int
    from_ps: int
    """Of the run's time."""
    to_ps: int
    work: int = 0
    """Events executed and frames received in this iteration."""
    after: int = 0
    """Events that were overdue at its end, and were executed then."""
    span_ns: int = 0
    cpu_ns: int = 0
    waited_ns: int = UNKNOWN
    slept: int = 0

    @property
    def gone_ps(self) -> int:
        """Run time that elapsed in it, from the run's time 0 on (ps)."""
        return self.to_ps - max(self.from_ps, 0)

    def shares_ns(self, cost_ns: float) -> dict[str, float]:
        """The iteration's time by cause (ns); `cost_ns` is the time of a unit of work in short
        iterations."""
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
class StallLog:
    """Log of one thread of a data path."""

    nodes: frozenset[str]
    """Nodes that the thread drives."""
    turns: Sequence[LongIteration]
    count: int
    """Number of long iterations, including those that the log had no room for."""
    cost_ns: float = 0.0
    floor_ns: int = 0
    most_ns: int = 0
    """Longest iteration that the log had no room for."""
    most_ps: int = 0
    """Most run time that elapsed in such an iteration."""
    machine: str = ""
    """Machine of the thread, in a run of several. All logs use one clock."""
    error_ns: int = 0
    """Error of this machine's times against that clock."""


@dataclass
class Stall:
    """Stall: overlapping long iterations of one or several threads."""

    from_ns: int
    to_ns: int
    machine: str = ""
    turns: list[tuple[int, StallLog, LongIteration]] = field(default_factory=list)
    """Number of the thread, its log, and the iteration."""

    @property
    def ns(self) -> int:
        """Duration in the machine's time."""
        return self.to_ns - self.from_ns

    @property
    def threads(self) -> int:
        """Number of threads that it affected."""
        return len({number for number, _, _ in self.turns})

    @cached_property
    def cause(self) -> str:
        """Cause of most of its time."""
        shares = [turn.shares_ns(log.cost_ns) for _, log, turn in self.turns]
        whole = {cause: sum(share[cause] for share in shares) for cause in CAUSES}
        return max(CAUSES, key=lambda cause: whole[cause])

    @property
    def gone_ps(self) -> int:
        """Most run time that elapsed in one of its iterations (ps)."""
        return max(turn.gone_ps for _, _, turn in self.turns)


def find_stalls(logs: Iterable[StallLog]) -> list[Stall]:
    """Group the overlapping long iterations of each machine into stalls, in order of time."""
    every = [(number, log, turn) for number, log in enumerate(logs) for turn in log.turns]
    found, latest = list[Stall](), dict[str, Stall]()
    for number, log, turn in sorted(every, key=lambda one: (one[2].from_ns, one[2].to_ns)):
        moment = latest.get(log.machine)
        if moment is None or turn.from_ns >= moment.to_ns:
            moment = latest[log.machine] = Stall(turn.from_ns, turn.to_ns, log.machine)
            found.append(moment)
        moment.to_ns = max(moment.to_ns, turn.to_ns)
        moment.turns.append((number, log, turn))
    return found
