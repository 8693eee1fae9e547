"""Changes of a world whose loop never stops: written into commands that are waiting.

Such a world is assembled with commands that change nothing, some of them at each of a series of
times. A change is written into those that are due a little later: first the value, then the place
it goes to, each in one store, so that the loop sees nothing or the whole command. The loop itself
knows nothing of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from orchestrator.assembly import Assembly
from orchestrator.assembly.changes import Command
from orchestrator.assembly.timeline import SLOT_MARK
from orchestrator.engine.records import SERVE, SET

MS = 10**9
EVERY_PS = 20 * MS
MOST_TIMES = 2000
"""A long run has its slots further apart than EVERY_PS."""
WIDTH = 4
"""Writes that can be made at one time."""
MARGIN_PS = 40 * MS
"""A change is due so long after it is written, at least: this process may be kept waiting."""


def slot_times(duration_ps: int) -> list[int]:
    """When there are slots, each time as often as there are slots at it."""
    step = max(EVERY_PS, duration_ps // MOST_TIMES)
    return [at for at in range(step, duration_ps, step) for _ in range(WIDTH)]


class Slots:
    """The slots of the worlds that run one plan together."""

    def __init__(self, assemblies: list[Assembly]) -> None:
        self._assemblies = assemblies
        self._sets = [_rows(assembly) for assembly in assemblies]
        self._serves = [_serves(assembly) for assembly in assemblies]
        self._times = sorted(self._sets[0])
        self._used = -1

    def earliest(self, now: int) -> int | None:
        """The first time (ps) for which a change can still be written; None: at the run's end."""
        begin = max(now + MARGIN_PS, self._used + 1)
        return next((at for at in self._times if at >= begin), None)

    def write_at(self, at: int, commands: list[list[Command]]) -> bool:
        """Have a change carried out at a slot's time; False when it is too late for that.

        Then some of it may have been carried out, and it is to be written again for a later time.
        """
        if at <= self._used or max(self._now()) >= at:
            return False
        need = max(-(-_most(commands) // WIDTH), 1)
        times = [time for time in self._times if time >= at][:need]
        if len(times) < need or times[0] != at:
            return False
        self._fill(times, commands)
        return max(self._now()) < at

    def _now(self) -> list[int]:
        return [int(assembly.world.clock[0].now) for assembly in self._assemblies]

    def write(self, now: int, commands: Callable[[int], list[list[Command]]]) -> int | None:
        """Have a change carried out soon after `now` (ps); returns the time.

        `commands(at)` are those of each world when the change is due at `at`; how many they are
        does not depend on it. None: there are not enough slots before the run's end.
        """
        need = max(-(-_most(commands(now)) // WIDTH), 1)
        while True:
            begin = max(now + MARGIN_PS, self._used + 1)
            times = [at for at in self._times if at >= begin][:need]
            if len(times) < need:
                return None
            self._fill(times, commands(times[0]))
            late = max(self._now())
            if late < times[0]:
                return times[0]
            now = late  # this process was kept waiting: once more; writing twice does no harm

    def _fill(self, times: list[int], due: list[list[Command]]) -> None:
        for world, assembly in enumerate(self._assemblies):
            sets = [c for c in due[world] if c.action == SET]
            serves = [c for c in due[world] if c.action == SERVE]
            rows = [row for at in times for row in self._sets[world][at]]
            _fill(assembly, rows, sets)
            _fill(assembly, [self._serves[world][times[-1]]], serves)
        self._used = times[-1]


def _most(commands: list[list[Command]]) -> int:
    """Writes that one world needs at most."""
    return max(sum(c.action == SET for c in mine) for mine in commands)


def _rows(assembly: Assembly) -> dict[int, list[int]]:
    """The rows of the writes, by their time: those that write to themselves."""
    found: dict[int, list[int]] = defaultdict(list)
    clock, table = assembly.world.clock[0], assembly.world.commands
    for row in range(int(clock.commands)):
        if table["offset"][row] == assembly.built.offset("commands", row, "value"):
            found[int(table["at"][row])].append(row)
    return found


def _serves(assembly: Assembly) -> dict[int, int]:
    """The row that lets a port send, by its time."""
    table = assembly.world.commands
    rows = (table["action"] == SERVE) & (table["value"] == SLOT_MARK)
    return {int(table["at"][row]): int(row) for row in rows.nonzero()[0]}


def _fill(assembly: Assembly, rows: list[int], commands: list[Command]) -> None:
    """The value first: the offset makes it a command."""
    table = assembly.world.commands
    for row, command in zip(rows, commands, strict=False):
        if command.action == SET:
            table["value"][row] = command.value
        table["offset"][row] = command.offset
