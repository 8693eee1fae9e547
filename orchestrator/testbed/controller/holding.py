"""Delegated run on one machine: lease, hold, watch, fetch, release.

The machine takes its time, by a clock of the plan's own; nothing of it is compared with ours.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from orchestrator.errors import TailbackError
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software.stages import BUILDING, COLLECTED, ENDED, RUNNING
from orchestrator.testbed.agent.protocol import Hold, Pulse
from orchestrator.testbed.controller.carried import LEASING_S, LOOK_S, Carried
from orchestrator.testbed.controller.peer import Peer


class Mistaken(TailbackError):
    """Permanent failure: an error in the plan or of the machine that a retry would repeat."""

    def __init__(self, text: str, code: int) -> None:
        self.exit_code = code
        super().__init__(text)


class Holding(Carried):
    """See the module. `sources`: the digest that results are to be of."""

    def __init__(
        self,
        number: str,
        resolved: ResolvedPlan,
        peers: dict[str, Peer],
        controller: str,
        machine: str,
        sources: str,
    ) -> None:
        super().__init__(number, resolved, peers, controller)
        self.machine, self._sources = machine, sources

    async def _body(self, folder: Path) -> None:
        plan, machine = self.resolved.plan, self.machine
        self._say("leasing")
        await self._take(machine, [])
        await self._until("leased", LEASING_S)
        asked = Hold(
            lease=self.leases[machine],
            plan=plan.to_toml(),
            target=plan.target,
            sources=self._sources,
        )
        await self._ask(machine, "hold", asked)
        await self._to_its_end()
        self._say("collecting")
        await self._fetch_all(machine, folder)

    async def _to_its_end(self) -> None:
        """However long that takes; `_watch` sees to a machine that is gone."""
        while (pulse := self.peers[self.machine].pulse) is None or pulse.state != COLLECTED:
            if pulse is not None and pulse.stage in (BUILDING, RUNNING):
                where = f"{self.machine}: {pulse.detail}" if pulse.detail else self.machine
                self._say(pulse.stage, where, pulse.done)
            await asyncio.sleep(LOOK_S)
            if pulse is not None and pulse.state == ENDED:  # a heartbeat may be a while away
                await self._look_at(self.machine)

    def _failure(self, machine: str, pulse: Pulse) -> Exception:
        if pulse.code:
            return Mistaken(f"agent {machine}: {pulse.cause}", pulse.code)
        return super()._failure(machine, pulse)
