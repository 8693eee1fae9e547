"""Coordinated live changes of a distributed run: one instant for all machines; its halt.

Every machine first answers whether the change can be made there and how soon; then all get the
same time, later than any of them needs. A machine that gets that too late reports so, and all get
a later one: a change that is written twice does no harm.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING

from orchestrator.live.command_slots import check_for_slots, slot_times
from orchestrator.live.live_changes import (
    ChangedPlan,
    ChangeRefused,
    ChangeTooLate,
    LiveChanges,
    Step,
    with_step,
)
from orchestrator.live.live_session import Session
from orchestrator.plan import ResolvedPlan
from orchestrator.testbed.agent.agent_messages import Change, Changed, OfLease
from orchestrator.testbed.controller.timestamping import launched_links
from orchestrator.testbed.wire.rpc_client import Refusal, Unanswered

if TYPE_CHECKING:
    from orchestrator.testbed.controller.distributed_run import DistributedRun

MS = 10**9
ALLOWANCES_PS = (250 * MS, 1_000 * MS, 4_000 * MS)
"""Of real time, for the order to reach all machines; a later one when a machine was too slow."""
ANSWER_S = 10.0
PULSE_S = 0.02
"""Between two heartbeats that may bring the answer."""
ACCEPTS = ("set", "act", "halt")


class RemoteWorlds:
    """Worlds of a distributed run, changed through their agents."""

    def __init__(self, run: DistributedRun, session: Session) -> None:
        self.run, self.session = run, session
        self.allowances_ps = tuple(int(allowance * run.pace) for allowance in ALLOWANCES_PS)
        self._slots = sorted(set(slot_times(run.resolved.plan.duration)))

    async def soonest(self, resolved: ResolvedPlan, step: Step, allowance: int) -> int | None:
        """The first slot that all of them can reach."""
        # here first: most mistakes can be found without a request to agents
        await self.checked(resolved, step, max(self.session.now_ps, 0))
        answers = await self._ask(secrets.token_hex(8), step, None)
        soonest = max(answer.at_ps or 0 for answer in answers.values()) + allowance
        return next((at for at in self._slots if at >= soonest), None)

    async def checked(self, resolved: ResolvedPlan, step: Step, at: int) -> ChangedPlan:
        """By the plan alone; each machine knows its own room."""
        check_for_slots(step)
        self._refuse_launched(str(step.get("set", "")))
        return await asyncio.to_thread(with_step, resolved, step, at)

    def _refuse_launched(self, key: str) -> None:
        """Raises NotMade for the delay of a link whose frames are launched."""
        for share in self.run.shares:
            timing = self.run.timing.get(share.machine)
            if timing is not None and timing.launch:
                links = launched_links(share, self.run.resolved)
                if any(key.startswith(f"links.{link}.delay") for link in links):
                    raise ChangeRefused(
                        f"{key}: a NIC launches its frames, with that delay subtracted"
                    )

    async def write(self, name: str, step: Step, at: int, changed: ChangedPlan) -> None:
        """On all machines, each of which says whether it came in time."""
        for machine, answer in (await self._ask(name, step, at)).items():
            if answer.late:
                raise ChangeTooLate(f"agent {machine}")

    async def _ask(self, change: str, step: Step, at: int | None) -> dict[str, Changed]:
        """Ask all machines about a change; what each says. Raises NotMade for the first refusal."""
        number = secrets.token_hex(8)

        async def change_machine(machine: str, lease: str) -> tuple[str, Changed]:
            peer = self.run.peers[machine]
            asked = Change(lease=lease, change=change, number=number, step=step, at_ps=at)
            await peer.asker.ask("change", asked, within_s=ANSWER_S)
            end = time.monotonic() + ANSWER_S
            while time.monotonic() < end:
                for changed in peer.pulse.changes if peer.pulse else ():
                    if changed.number == number:
                        return machine, changed
                await asyncio.sleep(PULSE_S)
                await peer.beat(within_s=ANSWER_S)
            raise ChangeRefused(f"agent {machine}: its worker does not answer")

        try:
            answers = dict(
                await asyncio.gather(*(change_machine(*item) for item in self.run.leases.items()))
            )
        except (Refusal, Unanswered) as error:
            raise ChangeRefused(f"{error}; it may have been made on other machines") from None
        for machine, answer in answers.items():
            if answer.refused is not None:
                raise ChangeRefused(f"agent {machine}: {answer.refused}")
        return answers


class ChangeCoordinator:
    """Orders from the session of a run, which any client may request, to its agents."""

    def __init__(self, run: DistributedRun, session: Session) -> None:
        self.run, self.session = run, session
        self._woken = asyncio.Event()
        self._halted = False
        self._changes = LiveChanges(run.resolved, RemoteWorlds(run, session))
        loop = asyncio.get_running_loop()

        def woken() -> None:  # from the feed's thread
            loop.call_soon_threadsafe(self._woken.set)

        def abort() -> None:
            loop.call_soon_threadsafe(run.cancel)

        session.woken, session.abort = woken, abort

    async def serve(self) -> None:
        """Carry out what is asked for, one after the other, until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            for order in self.session.orders():
                await self.session.carry_out(order, self._changes)
            if self.session.stopping and not self._halted:
                self._halted = True
                await self._halt()

    async def _halt(self) -> None:
        """End the run on all machines."""

        async def halt_machine(machine: str, lease: str) -> None:
            try:
                asker = self.run.peers[machine].asker
                await asker.ask("halt", OfLease(lease=lease), within_s=ANSWER_S)
            except (Refusal, Unanswered) as why:  # it has ended, or the run ends without it
                self.session.say(f"{why}", "warning")

        await asyncio.gather(*(halt_machine(*item) for item in self.run.leases.items()))
