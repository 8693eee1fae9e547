"""Command slots: preallocated commands through which a running loop takes changes.

The world is assembled with commands without effect, several at each of a series of times. A change
is written into those that are due a little later: first the value, then the offset, each in one
store, so that the loop sees either no command or the complete one. The loop itself needs no support
for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from orchestrator.assembly import Assembly
from orchestrator.assembly.live_commands import Command
from orchestrator.assembly.timeline_commands import SLOT_MARK
from orchestrator.engine.records import SERVE, SET
from orchestrator.live.live_changes import (
    RUN_ENDING,
    ChangedPlan,
    ChangeRefused,
    ChangeTooLate,
    Step,
)
from orchestrator.live.world_changes import WorldChanges
from orchestrator.plan import ResolvedPlan

MS = 10**9
EVERY_PS = 20 * MS
MOST_TIMES = 2000
"""Most slot times; a long run has its slots further apart than EVERY_PS."""
WIDTH = 4
"""Writes that can be made at one time."""
MARGIN_PS = 40 * MS
"""Least lead time of a change: this process may be preempted."""


def slot_times(duration_ps: int) -> list[int]:
    """Times of the slots (ps), each as often as there are slots at it."""
    step = max(EVERY_PS, duration_ps // MOST_TIMES)
    return [at for at in range(step, duration_ps, step) for _ in range(WIDTH)]


class CommandSlots(WorldChanges):
    """Command slots of the worlds that run one plan together."""

    allowances_ps = (MARGIN_PS, 4 * MARGIN_PS, 16 * MARGIN_PS, 64 * MARGIN_PS, 256 * MARGIN_PS)
    """Lead times: the check of a large plan takes 0.5 s and must end before the instant."""

    def __init__(self, shares: Iterable[tuple[Assembly, Sequence[str]]]) -> None:
        super().__init__(shares)
        assemblies = [assembly for assembly, _ in self.shares]
        self._worlds = [assembly.world for assembly in assemblies]
        self._sets = [_rows(assembly) for assembly in assemblies]
        self._serves = [_serves(assembly) for assembly in assemblies]
        self._times = sorted(self._sets[0])
        self._used = -1

    async def soonest(self, resolved: ResolvedPlan, step: Step, allowance: int) -> int | None:
        """The first free slot that is far enough ahead."""
        begin = max(self._now() + max(allowance, MARGIN_PS), self._used + 1)
        return next((at for at in self._times if at >= begin), None)

    async def checked(self, resolved: ResolvedPlan, step: Step, at: int) -> ChangedPlan:
        """Raises NotMade for a step that changes more than values, or without enough free slots."""
        check_for_slots(step)
        changed = await super().checked(resolved, step, at)
        if len(self._from(at)) < _times_for(self.commands(changed.action)):
            raise ChangeRefused(RUN_ENDING)
        return changed

    async def write(self, name: str, step: Step, at: int, changed: ChangedPlan) -> None:
        """Raises TooLate also for an instant without a free slot."""
        commands = self.commands(changed.action)
        times = self._from(at)[: _times_for(commands)]
        if at <= self._used or self._now() >= at or times[0] != at:
            raise ChangeTooLate("target software")
        self._fill(times, commands)
        if self._now() >= at:
            raise ChangeTooLate("target software")
        self.made(changed)

    def _now(self) -> int:
        return max(int(world.clock[0].now) for world in self._worlds)

    def _from(self, at: int) -> list[int]:
        return [time for time in self._times if time >= at]

    def _fill(self, times: list[int], due: list[list[Command]]) -> None:
        for number, (assembly, _) in enumerate(self.shares):
            sets = [c for c in due[number] if c.action == SET]
            serves = [c for c in due[number] if c.action == SERVE]
            rows = [row for at in times for row in self._sets[number][at]]
            _fill(assembly, rows, sets)
            _fill(assembly, [self._serves[number][times[-1]]], serves)
        self._used = times[-1]


def check_for_slots(step: Step) -> None:
    """Raises NotMade for a step that needs more than writes of values."""
    if "start" in step or "stop" in step:
        raise ChangeRefused("target software cannot start or stop traffic that the plan does not")


def _times_for(commands: list[list[Command]]) -> int:
    """Number of slot times that a change needs: that of the world with the most writes."""
    most = max(sum(c.action == SET for c in mine) for mine in commands)
    return max(-(-most // WIDTH), 1)


def _rows(assembly: Assembly) -> dict[int, list[int]]:
    """Rows of the write slots, by time: an unused slot writes to itself."""
    found: dict[int, list[int]] = defaultdict(list)
    clock, table = assembly.world.clock[0], assembly.world.commands
    for row in range(int(clock.commands)):
        if table["offset"][row] == assembly.built.offset("commands", row, "value"):
            found[int(table["at"][row])].append(row)
    return found


def _serves(assembly: Assembly) -> dict[int, int]:
    """Row of the slot that serves a port, by time."""
    table = assembly.world.commands
    rows = (table["action"] == SERVE) & (table["value"] == SLOT_MARK)
    return {int(table["at"][row]): int(row) for row in rows.nonzero()[0]}


def _fill(assembly: Assembly, rows: list[int], commands: list[Command]) -> None:
    """Write the value first: the offset makes it a command."""
    table = assembly.world.commands
    for row, command in zip(rows, commands, strict=False):
        if command.action == SET:
            table["value"][row] = command.value
        table["offset"][row] = command.offset
