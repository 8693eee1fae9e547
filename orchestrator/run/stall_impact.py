"""Impact of stalls: which control loops were affected by the scheduling stalls of machines.

A stall matters by the run time that elapsed in it. Real time beyond that was dropped from the run's
clock, so that no node observed it; programs, which follow the real clock, observed all of it. A
stall affects a control loop if the elapsed time exceeds the loop's reaction time: from a message
until frames at the new rate have left the queue.

Machines whose clocks are not held back for each other go on while one of them stalls. A frame on a
loop over two machines may be delayed by a stall of the first and then by one of the second: stalls
no further apart than the loop's round trip add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.run.datapath_stalls import Stall, StallLog


@dataclass(frozen=True)
class ControlLoop:
    """Control loop of a queue: its nodes, sources and reaction time."""

    queue: str
    nodes: frozenset[str]
    """All nodes on the path of a message and of the frames that answer it."""
    round_trip_ps: int
    """Shortest delay from the queue to a source that it notifies, and back."""
    drain_ps: int
    """Time in which the queue drains from its set point."""
    sources: tuple[str, ...] = ()
    held: bool = True
    """The loop follows the run's clock and stops with it. Loops with programs do not."""
    acts_ps: int = 0
    """Time that the source takes to act on a message."""

    @property
    def answer_ps(self) -> int:
        """From a message's departure until frames at the new rate are at the queue."""
        return self.round_trip_ps + self.acts_ps

    @property
    def reaction_ps(self) -> int:
        """From a message's departure until frames sent at the new rate have left the queue."""
        return max(self.answer_ps + self.drain_ps, 1)


class MachineStalls:
    """Delays of the nodes of one machine, per thread and stall. The last column has the longest
    iteration of each thread that its log had no room for."""

    def __init__(self, logs: Sequence[StallLog], found: Sequence[Stall], machine: str, pace: float):
        numbers = [number for number, log in enumerate(logs) if log.machine == machine]
        rows = {number: row for row, number in enumerate(numbers)}
        self._logs = [logs[number] for number in numbers]
        self.machine = machine
        self.places = [place for place, one in enumerate(found) if one.machine == machine]
        """Indices of its stalls among all stalls."""
        mine = [found[place] for place in self.places]
        self.from_ns = np.array([one.from_ns for one in mine], np.int64)
        self.to_ns = np.array([one.to_ns for one in mine], np.int64)
        self.error_ns = max(log.error_ns for log in self._logs)
        self._held = np.zeros((len(numbers), len(mine) + 1))
        """Delay in the run's time (ps)."""
        self._real = np.zeros((len(numbers), len(mine) + 1))
        """Delay in the machine's time, scaled to the run's (ps): for loops in real time."""
        self._held[:, -1] = [log.most_ps for log in self._logs]
        self._real[:, -1] = [pace * 1000 * log.most_ns for log in self._logs]
        for place, moment in enumerate(mine):
            for number, _, turn in moment.turns:
                at = rows[number], place
                self._held[at] = max(self._held[at], turn.gone_ps)
                self._real[at] = max(self._real[at], pace * 1000 * (turn.to_ns - turn.from_ns))

    def behind(self, loop: ControlLoop) -> np.ndarray:
        """By stall, the largest delay of a node of a loop (ps): float64[stalls + 1]."""
        mine = [row for row, log in enumerate(self._logs) if log.nodes & loop.nodes]
        table = self._held if loop.held else self._real
        return np.max(table[mine], axis=0, initial=0.0)

    def meets(self, there: MachineStalls, behind: np.ndarray, reach_ns: float) -> np.ndarray:
        """By stall, the sum of the delays `behind` of another machine's stalls that are no further
        away than `reach_ns` and the error of the clocks: float64[stalls + 1]. Stalls that were not
        logged may have been at any time."""
        reach = int(reach_ns) + self.error_ns + there.error_ns
        first = np.searchsorted(there.to_ns, self.from_ns - reach, "left")
        beyond = np.searchsorted(there.from_ns, self.to_ns + reach, "right")
        sums = np.concatenate(([0.0], np.cumsum(behind[:-1])))
        return np.append(sums[beyond] - sums[first] + behind[-1], np.max(behind))


class StallImpact:
    """Delays of control loops by stall; after the stalls, one column per machine for those that its
    logs had no room for."""

    def __init__(
        self, logs: Sequence[StallLog], found: Sequence[Stall], pace: float, one_clock: bool = True
    ) -> None:
        machines = dict.fromkeys(log.machine for log in logs)
        self.machines = [MachineStalls(logs, found, machine, pace) for machine in machines]
        self._pace, self._one_clock, self._count = pace, one_clock, len(found)

    def met_by(self, loop: ControlLoop) -> np.ndarray:
        """Largest delay of frames on a loop (ps): float64[stalls + machines]."""
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
        """Entries of `met` that belong to a machine."""
        number = next(n for n, here in enumerate(self.machines) if here.machine == machine)
        return met[[*self.machines[number].places, self._count + number]]
