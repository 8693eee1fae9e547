"""Live changes of a run across machines: one instant for all of them, or none.

Every machine is asked first whether the change can be made there and how soon; then all are told
the same time, later than any of them needs. Who gets that too late says so, and all are told a
later one: to write a change twice does no harm.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Any

from orchestrator.errors import BadInput
from orchestrator.live.protocol import Act
from orchestrator.live.session import Changed as Changes
from orchestrator.live.session import Order, Session, refused, with_step
from orchestrator.live.slots import slot_times
from orchestrator.testbed.agent.protocol import Change, Changed, OfLease
from orchestrator.testbed.wire.asker import Refusal, Unanswered

if TYPE_CHECKING:
    from orchestrator.testbed.controller.run import Run

MS = 10**9
ALLOWANCES_PS = (250 * MS, 1_000 * MS, 4_000 * MS)
"""Of real time, for the order to reach all machines; the next one when somebody was too slow."""
ANSWER_S = 10.0
LOOK_S = 0.02
ACCEPTS = ("set", "act", "halt")


class Refused(Exception):
    """A change that is not made, and why."""


class Steering:
    """Between the session of a run, which anybody may ask, and its agents."""

    def __init__(self, run: Run, session: Session) -> None:
        self.run, self.session = run, session
        self._woken = asyncio.Event()
        self._halted = False
        self._slots = sorted(set(slot_times(run.resolved.plan.duration)))
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
                await self._carry_out(order)
            if self.session.stopping and not self._halted:
                self._halted = True
                await self._halt()

    async def _carry_out(self, order: Order) -> None:
        session = self.session
        try:
            at, found = await self._change(order)
        except BadInput as error:
            why = refused(error)
        except Refused as error:
            why = str(error)
        except (Refusal, Unanswered) as error:
            why = f"{error}; it may have been made on other machines"
        except asyncio.CancelledError:
            order.answer(session.answer(order.request, "the run is over"))
            raise
        else:
            session.change(order, at, found)
            return
        order.answer(session.answer(order.request, why))

    async def _change(self, order: Order) -> tuple[int, Changes]:
        """Make a change; its time (ps) and what the plan is with it."""
        if isinstance(order.request, Act) and order.request.verb in ("start", "stop"):
            raise Refused("target software cannot start or stop traffic that the plan does not")
        plan, step = self.session.resolved, order.step()
        # here first: most mistakes can be found without asking anybody
        await asyncio.to_thread(with_step, plan, step, max(self.session.now_ps, 0))
        at = await self._make(step)
        return at, await asyncio.to_thread(with_step, plan, step, at)

    async def _make(self, step: dict[str, Any]) -> int:
        """Have a step made by all machines; returns its time (ps). Raises Refused."""
        change = secrets.token_hex(8)
        late: list[str] = []
        for allowance in ALLOWANCES_PS:
            told = await self._ask(change, step, None)
            soonest = max(answer.at_ps or 0 for answer in told.values())
            soonest += int(allowance * self.run.pace)
            at = next((time for time in self._slots if time >= soonest), None)
            if at is None:
                raise Refused("the run is at its end")
            told = await self._ask(change, step, at)
            late = [machine for machine, answer in told.items() if answer.late]
            if not late:
                return at
        raise Refused(f"agent {late[0]}: the order came too late {len(ALLOWANCES_PS)} times")

    async def _ask(self, change: str, step: dict[str, Any], at: int | None) -> dict[str, Changed]:
        """Ask all machines about a change; what each says. Raises Refused for the first refusal."""
        number = secrets.token_hex(8)

        async def one(machine: str, lease: str) -> tuple[str, Changed]:
            peer = self.run.peers[machine]
            asked = Change(lease=lease, change=change, number=number, step=step, at_ps=at)
            await peer.asker.ask("change", asked, within_s=ANSWER_S)
            end = time.monotonic() + ANSWER_S
            while time.monotonic() < end:
                for told in peer.pulse.changes if peer.pulse else ():
                    if told.number == number:
                        return machine, told
                await asyncio.sleep(LOOK_S)
                await peer.beat(within_s=ANSWER_S)
            raise Refused(f"agent {machine}: its worker does not answer")

        told = dict(await asyncio.gather(*(one(*item) for item in self.run.leases.items())))
        for machine, answer in told.items():
            if answer.refused is not None:
                raise Refused(f"agent {machine}: {answer.refused}")
        return told

    async def _halt(self) -> None:
        """End the run on all machines."""

        async def one(machine: str, lease: str) -> None:
            try:
                asker = self.run.peers[machine].asker
                await asker.ask("halt", OfLease(lease=lease), within_s=ANSWER_S)
            except (Refusal, Unanswered) as why:  # it has ended, or the run ends without it
                self.session.say(f"{why}", "warning")

        await asyncio.gather(*(one(*item) for item in self.run.leases.items()))
