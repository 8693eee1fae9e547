"""Live changes of worlds in this process, and of one whose loop is paused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orchestrator.assembly import Assembly
from orchestrator.assembly.live_commands import Command, check_room, commands_for, insert
from orchestrator.live.live_changes import ChangedPlan, ChangeRefused, Step, with_step
from orchestrator.plan import Action, ResolvedPlan
from orchestrator.plan.timeline_actions import INJECTION

US = 10**6


class WorldChanges:
    """Worlds that run one plan together, each with the nodes that it drives."""

    def __init__(self, shares: Iterable[tuple[Assembly, Sequence[str]]]) -> None:
        self.shares = [(assembly, set(nodes)) for assembly, nodes in shares]

    async def checked(self, resolved: ResolvedPlan, step: Step, at: int) -> ChangedPlan:
        """Raises BadInput for a step that the plan forbids, or that no world has room for."""
        changed = with_step(resolved, step, at)
        if changed.action.kind == INJECTION:
            raise ChangeRefused("faults of single frames are injected by the plan's timeline alone")
        for assembly, _ in self.shares:
            check_room(assembly, changed.resolved, changed.action)
        return changed

    def commands(self, action: Action) -> list[list[Command]]:
        """Commands of an action for each world."""
        return [commands_for(assembly, nodes, action) for assembly, nodes in self.shares]

    def made(self, changed: ChangedPlan) -> None:
        """Note that every world has the change."""
        for assembly, _ in self.shares:
            assembly.resolved = changed.resolved


class PausedWorldChanges(WorldChanges):
    """One world whose loop is paused at `until()` (ps).

    A change is made at the next whole microsecond and inserted among the world's commands, which
    its loop executes in order.
    """

    allowances_ps = (0,)

    def __init__(self, assembly: Assembly, until: Callable[[], int]) -> None:
        super().__init__([(assembly, list(assembly.resolved.plan.nodes))])
        self._until = until

    async def soonest(self, resolved: ResolvedPlan, step: Step, allowance: int) -> int | None:
        """The next whole microsecond."""
        at = ((self._until() + allowance) // US + 1) * US
        return at if at < resolved.plan.duration else None

    async def write(self, name: str, step: Step, at: int, changed: ChangedPlan) -> None:
        """Insert the change; the clock is stopped, so the change is never late."""
        ((assembly, _),) = self.shares
        if not insert(assembly.world, at, self.commands(changed.action)[0]):
            raise ChangeRefused("too many changes wait to be carried out")
        self.made(changed)
