"""Impact of stalls: which control loops were affected by the scheduling stalls of machines.

What counts is how much of the run's time went by meanwhile. What real time is ahead of that was
dropped from the run's clock, so no node has seen it; what does not live by that clock, as programs
do, has seen all of it. A loop has felt a moment in which more went by than the loop takes from a
message until frames at the new rate have left the queue.

Machines whose clocks are not held back for each other go on while one of them stands still. What
goes on a loop over two of them is kept by a moment of the one, and then may come into one of the
other: those that are no further apart than the loop's round trip add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.run.stalls import Log, Moment


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
    acts_ps: int = 0
    """What that source takes to act on a message."""

    @property
    def answer_ps(self) -> int:
        """From a message's departure until frames at the new rate are at the queue."""
        return self.round_trip_ps + self.acts_ps

    @property
    def reaction_ps(self) -> int:
        """From a message's departure until frames sent at the new rate have left the queue."""
        return max(self.answer_ps + self.drain_ps, 1)


class Here:
    """How much of their time nodes of one machine were behind, per thread and moment of it. The
    last column is of all turns that are in no moment, for the logs had no room for them: the most
    of each thread."""

    def __init__(self, logs: Sequence[Log], found: Sequence[Moment], machine: str, pace: float):
        numbers = [number for number, log in enumerate(logs) if log.machine == machine]
        rows = {number: row for row, number in enumerate(numbers)}
        self._logs = [logs[number] for number in numbers]
        self.machine = machine
        self.places = [place for place, one in enumerate(found) if one.machine == machine]
        """Of its moments, among all."""
        mine = [found[place] for place in self.places]
        self.from_ns = np.array([one.from_ns for one in mine], np.int64)
        self.to_ns = np.array([one.to_ns for one in mine], np.int64)
        self.error_ns = max(log.error_ns for log in self._logs)
        self._held = np.zeros((len(numbers), len(mine) + 1))
        """Ps of the run's time."""
        self._real = np.zeros((len(numbers), len(mine) + 1))
        """Ps of the machine's time, as long as the run's are: of what no clock is held for."""
        self._held[:, -1] = [log.most_ps for log in self._logs]
        self._real[:, -1] = [pace * 1000 * log.most_ns for log in self._logs]
        for place, moment in enumerate(mine):
            for number, _, turn in moment.turns:
                at = rows[number], place
                self._held[at] = max(self._held[at], turn.gone_ps)
                self._real[at] = max(self._real[at], pace * 1000 * (turn.to_ns - turn.from_ns))

    def behind(self, loop: Loop) -> np.ndarray:
        """By moment, the most that a node of a loop was behind (ps): float64[moments + 1]."""
        mine = [row for row, log in enumerate(self._logs) if log.nodes & loop.nodes]
        table = self._held if loop.held else self._real
        return np.max(table[mine], axis=0, initial=0.0)

    def meets(self, there: Here, behind: np.ndarray, reach_ns: float) -> np.ndarray:
        """By moment, the sum of what `behind` has of another machine's moments that are no further
        from it than `reach_ns`, and the clocks may be apart: float64[moments + 1]. Those that there
        was no room for may have been at any time."""
        reach = int(reach_ns) + self.error_ns + there.error_ns
        first = np.searchsorted(there.to_ns, self.from_ns - reach, "left")
        beyond = np.searchsorted(there.from_ns, self.to_ns + reach, "right")
        sums = np.concatenate(([0.0], np.cumsum(behind[:-1])))
        return np.append(sums[beyond] - sums[first] + behind[-1], np.max(behind))


class Gone:
    """What loops met, by moment; after the moments, for each machine what its logs had no room
    for."""

    def __init__(
        self, logs: Sequence[Log], found: Sequence[Moment], pace: float, one_clock: bool = True
    ) -> None:
        machines = dict.fromkeys(log.machine for log in logs)
        self.machines = [Here(logs, found, machine, pace) for machine in machines]
        self._pace, self._one_clock, self._count = pace, one_clock, len(found)

    def met_by(self, loop: Loop) -> np.ndarray:
        """The most that what is on a loop was behind (ps): float64[moments + machines]."""
        met = np.zeros(self._count + len(self.machines))
        every = [(here, here.behind(loop)) for here in self.machines]
        for number, (here, own) in enumerate(every):
            behind = own.copy()
            if not (self._one_clock and loop.held):
                for there, others in every:
                    if there is not here and others.any():
                        behind += here.meets(there, others, loop.answer_ps / 1000 / self._pace)
                behind[own == 0] = 0
            met[here.places] = behind[:-1]
            met[self._count + number] = behind[-1]
        return met

    def of_machine(self, machine: str, met: np.ndarray) -> np.ndarray:
        """What of `met` is a machine's."""
        number = next(n for n, here in enumerate(self.machines) if here.machine == machine)
        return met[[*self.machines[number].places, self._count + number]]
