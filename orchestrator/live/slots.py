"""Command slots: preallocated commands through which a running loop takes changes.

Such a world is assembled with commands that change nothing, some of them at each of a series of
times. A change is written into those that are due a little later: first the value, then the place
it goes to, each in one store, so that the loop sees nothing or the whole command. The loop itself
knows nothing of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from orchestrator.assembly import Assembly
from orchestrator.assembly.changes import Command
from orchestrator.assembly.timeline import SLOT_MARK
from orchestrator.engine.records import SERVE, SET
from orchestrator.live.changes import AT_ITS_END, Changed, NotMade, Step, TooLate
from orchestrator.live.worlds import Worlds
from orchestrator.plan import ResolvedPlan

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


class Slots(Worlds):
    """The slots of the worlds that run one plan together: the way into loops that never stop."""

    allowances_ps = (MARGIN_PS, 4 * MARGIN_PS, 16 * MARGIN_PS, 64 * MARGIN_PS, 256 * MARGIN_PS)
    """To check a large plan takes half a second, and it must be done by then."""

    def __init__(self, shares: Iterable[tuple[Assembly, Sequence[str]]]) -> None:
        super().__init__(shares)
        assemblies = [assembly for assembly, _ in self.shares]
        self._worlds = [assembly.world for assembly in assemblies]
        self._sets = [_rows(assembly) for assembly in assemblies]
        self._serves = [_serves(assembly) for assembly in assemblies]
        self._times = sorted(self._sets[0])
        self._used = -1

    async def soonest(self, resolved: ResolvedPlan, step: Step, allowance: int) -> int | None:
        """The first slot that is far enough ahead, behind those that are taken."""
        begin = max(self._now() + max(allowance, MARGIN_PS), self._used + 1)
        return next((at for at in self._times if at >= begin), None)

    async def checked(self, resolved: ResolvedPlan, step: Step, at: int) -> Changed:
        """Raises NotMade for what is more than values, and where too few slots are left for it."""
        check_for_slots(step)
        changed = await super().checked(resolved, step, at)
        if len(self._from(at)) < _times_for(self.commands(changed.action)):
            raise NotMade(AT_ITS_END)
        return changed

    async def write(self, name: str, step: Step, at: int, changed: Changed) -> None:
        """Raises TooLate, too, for an instant that has no slot or one that is taken."""
        commands = self.commands(changed.action)
        times = self._from(at)[: _times_for(commands)]
        if at <= self._used or self._now() >= at or times[0] != at:
            raise TooLate("target software")
        self._fill(times, commands)
        if self._now() >= at:
            raise TooLate("target software")
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
    """Raises NotMade for a step that takes more than values written into waiting commands."""
    if "start" in step or "stop" in step:
        raise NotMade("target software cannot start or stop traffic that the plan does not")


def _times_for(commands: list[list[Command]]) -> int:
    """At how many times a change writes: as many as its largest world needs."""
    most = max(sum(c.action == SET for c in mine) for mine in commands)
    return max(-(-most // WIDTH), 1)


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
