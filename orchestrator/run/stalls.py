"""Stalls of a data path: periods in which the machine took its cores, with their cause.

A data path logs its turns that took long, with what the kernel said of its thread. Here these
become moments with a cause, which is where most of the time went:

- `work`: the thread had its core, and what it did in that turn takes about so long;
- `processes`: it was ready, and others had its core;
- `stopped`: it had given the core away, which a data path never does: a signal, a debugger, a
  freezer of cgroups stopped it, or it waited for a page;
- `hypervisor`: it had its core, and the core stood still;
- `unexplained`: it had its core, and neither its work nor anything else accounts for the time:
  interrupts, or a hypervisor that does not tell what it takes.

Whose loops could have felt it is found out in `orchestrator.run.felt`.
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
    machine: str = ""
    """Where it ran, in a run of several machines. Their logs are by one clock,"""
    error_ns: int = 0
    """from which this one's may be off by so much."""


@dataclass
class Moment:
    """Long turns of one or several threads that overlap."""

    from_ns: int
    to_ns: int
    machine: str = ""
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
    """Long turns of a machine that overlap are one moment, in order of time."""
    every = [(number, log, turn) for number, log in enumerate(logs) for turn in log.turns]
    found, latest = list[Moment](), dict[str, Moment]()
    for number, log, turn in sorted(every, key=lambda one: (one[2].from_ns, one[2].to_ns)):
        moment = latest.get(log.machine)
        if moment is None or turn.from_ns >= moment.to_ns:
            moment = latest[log.machine] = Moment(turn.from_ns, turn.to_ns, log.machine)
            found.append(moment)
        moment.to_ns = max(moment.to_ns, turn.to_ns)
        moment.turns.append((number, log, turn))
    return found
