"""Life cycle of a controller's run: leases, supervision, results, release.

Whatever goes wrong ends it with a cause that names the machine, and everything that is still
within reach is torn down.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.engine.datapath.emulation_clock import NS_PER_US, REAL_TIME
from orchestrator.plan import ResolvedPlan
from orchestrator.run.engine_compile import TYPICAL
from orchestrator.targets.software.worker_stages import BUILDING, COLLECTED, COMPILING
from orchestrator.testbed.agent.agent_messages import Fetch, HeartbeatReply, Lease, OfLease
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.wire.chunked_transfer import Chunk, Damaged, Listed, Taking
from orchestrator.testbed.wire.clock_offset import Estimate
from orchestrator.testbed.wire.envelope import sentence
from orchestrator.testbed.wire.result_files import MOST_WORDS, most_octets
from orchestrator.testbed.wire.rpc_client import Refusal, Unanswered

SLOW = (BUILDING, COMPILING)
"""Slow stages, which a user who waits is informed of."""


def lagging_machines(pulses: Mapping[str, HeartbeatReply | None], state: str) -> list[str]:
    """The machines that have not come to a state, by their last heartbeats."""
    return [name for name, pulse in pulses.items() if pulse is None or pulse.state != state]


def wait_reason(pulses: Mapping[str, HeartbeatReply | None], late: list[str]) -> str:
    """Progress text, such as "building on left and right; compiling or loading on middle: ...".

    Empty where none of them does what takes long.
    """
    doing: dict[str, list[str]] = {}
    for name in late:
        pulse = pulses[name]
        if pulse is not None and pulse.stage in SLOW:
            doing.setdefault(pulse.stage, []).append(name)
    return "; ".join(_stage_phrase(stage, names) for stage, names in doing.items())


def _stage_phrase(stage: str, names: list[str]) -> str:
    where = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    if stage == COMPILING:
        return f"compiling or loading on {where}: {TYPICAL}"
    return f"{stage} on {where}"


TTL_MS = 5_000
"""Of a lease: so long an agent holds on without hearing of its controller."""
LEASING_S = 60.0
LOOK_S = 0.05
LOOK_WITHIN_S = 1.0
SOON = ("leased", COLLECTED)
"""What machines come to within a moment, and while no data path spins or compiles."""
FETCH_TRIES = 5


class RunEnded(Exception):
    """Early end of a run; the cause names the machine or the reason."""


class LeasedRun(ABC):
    """Run of a controller. `stage`, `detail` and `done` (0 to 1 within the stage) are its progress;
    `events` its event log."""

    def __init__(
        self, number: str, resolved: ResolvedPlan, peers: dict[str, Peer], controller: str
    ) -> None:
        self.number, self.resolved, self.peers = number, resolved, peers
        self._controller = controller
        """What leases call us."""
        self.speed = REAL_TIME
        """Ps of the run per ns of our clock."""
        self.stage, self.detail, self.done = "waiting", "", 0.0
        self.leases: dict[str, str] = {}
        self.start_ns = 0
        self._noted: list[tuple[int, str, str]] = []
        """(the machine's clock in ns, machine, sentence)"""
        self.estimates: dict[str, Estimate] = {}
        self.on_stage: Callable[[], None] = lambda: None
        self._cancelled = asyncio.Event()

    @abstractmethod
    async def _body(self, folder: Path) -> None:
        """The run without its end."""

    def cancel(self) -> None:
        """End the run."""
        self._cancelled.set()

    async def carry_out(self, folder: Path) -> None:
        """Run, and put the parts' files into `folder`. Raises Ended, Refused or BadInput."""
        body = asyncio.create_task(self._body(folder))
        watch = asyncio.create_task(self._watch())
        try:
            await asyncio.wait([body, watch], return_when=asyncio.FIRST_COMPLETED)
            if watch.done() and not body.done():
                raise watch.exception() or RunEnded("the run was given up")
            await body
        except (Unanswered, Refusal) as error:
            raise RunEnded(str(error)) from None
        finally:
            for task in (body, watch):
                task.cancel()
            await asyncio.gather(body, watch, return_exceptions=True)
            await self._release()

    async def _take(self, machine: str, nics: list[str], **more: list[str]) -> None:
        """Ask for a lease, and keep it from here on."""
        lease = secrets.token_hex(8)
        peer = self.peers[machine]
        peer.on_event = lambda at_ns, text: self._happened(machine, at_ns, text)
        self.leases[machine] = lease
        asked = Lease(lease=lease, controller=self._controller, ttl_ms=TTL_MS, nics=nics, **more)
        await self._ask(machine, "lease", asked)
        peer.hold(lease)

    async def _until(self, state: str, within_s: float) -> None:
        """Wait until every part is in a state. Raises Ended when that takes too long."""
        end = time.monotonic() + within_s
        while True:
            pulses = {machine: self.peers[machine].pulse for machine in self.leases}
            if not (late := lagging_machines(pulses, state)):
                return
            self._say(self.stage, wait_reason(pulses, late), 1 - len(late) / len(pulses))
            if time.monotonic() > end:
                raise RunEnded(f"agent {late[0]}: not {state} after {within_s:.0f} s")
            await asyncio.sleep(LOOK_S)
            if state in SOON:  # a heartbeat may be a while away
                await gather_all(self._look_at(machine) for machine in late)

    async def _look_at(self, machine: str) -> None:
        with suppress(Unanswered, Refusal):  # `_watch` sees to one that is gone
            await self.peers[machine].beat(within_s=LOOK_WITHIN_S)

    async def _watch(self) -> None:
        """End the run when a machine is gone, a part fails, or it is cancelled."""
        while not self._cancelled.is_set():
            for machine in self.leases:
                peer = self.peers[machine]
                if peer.state in ("gone", "rejected"):
                    raise RunEnded(f"agent {machine} is gone: {peer.why}")
                if peer.pulse is not None and peer.pulse.state == "failed":
                    raise self._failure(machine, peer.pulse)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._cancelled.wait(), LOOK_S)
        raise RunEnded("it was cancelled")

    def _failure(self, machine: str, pulse: HeartbeatReply) -> Exception:
        """Exception that ends the run when a part has failed."""
        return RunEnded(f"agent {machine}: {pulse.cause}")

    async def _fetch_all(self, machine: str, folder: Path) -> None:
        """The files that a machine has made, as `folder/MACHINE.NAME`."""
        pulse = self.peers[machine].pulse
        assert pulse is not None
        most = most_octets(self.resolved) + MOST_WORDS
        for file in pulse.files:
            if file.octets > most:
                raise RunEnded(
                    f"agent {machine}: its results have {file.octets} octets; those of this plan "
                    f"have {most} at most"
                )
            await self._fetch(machine, file, folder / f"{machine}.{file.name}")

    async def _fetch(self, machine: str, wanted: Listed, path: Path) -> None:
        """Fetch one file, chunk by chunk; what is damaged is asked for again."""
        taking = Taking(wanted, path)
        for attempt in range(FETCH_TRIES):
            try:
                while not taking.complete:
                    asked = Fetch(
                        lease=self.leases[machine], name=wanted.name, offset=taking.offset
                    )
                    body, octets = await self._ask(machine, "fetch", asked)
                    try:
                        chunk = Chunk.model_validate(body)
                    except ValidationError as error:
                        raise Damaged(f"{wanted.name}: {sentence(error)}") from None
                    taking.take(chunk, octets or b"")
                taking.check()
                return
            except Damaged as damage:
                if attempt == FETCH_TRIES - 1:
                    raise RunEnded(f"agent {machine}: {damage}, {FETCH_TRIES} times") from None

    async def _ask(self, machine: str, kind: str, body: Any) -> tuple[dict[str, Any], bytes | None]:
        return await self.peers[machine].asker.ask(kind, body, within_s=30.0)

    async def _release(self) -> None:
        """Release every lease; an agent that cannot be reached lets it expire."""

        async def release_machine(machine: str, lease: str) -> None:
            peer = self.peers[machine]
            peer.hold(None)
            if peer.state == "up":
                with suppress(Unanswered, Refusal):
                    await peer.asker.ask("release", OfLease(lease=lease), within_s=2.0)

        await gather_all(release_machine(*item) for item in self.leases.items())

    def _happened(self, machine: str, at_ns: int, text: str) -> None:
        self._noted.append((at_ns, machine, text))
        self.on_stage()

    @property
    def events(self) -> list[tuple[int, str, str]]:
        """(ps of the run, machine, sentence); before the start by negative times, where there was
        one."""
        found = []
        for at_ns, machine, text in self._noted:
            estimate = self.estimates.get(machine)
            ours = at_ns - (estimate.offset(at_ns) if estimate else 0)
            at = (ours - self.start_ns) * self.speed // NS_PER_US if self.start_ns else 0
            found.append((at, machine, text))
        return found

    def now_ps(self) -> int:
        """The run's time, when its clock was never held back; 0 before its start."""
        if not self.start_ns:
            return 0
        return max((time.monotonic_ns() - self.start_ns) * self.speed // NS_PER_US, 0)

    def _say(self, stage: str, detail: str = "", done: float = 0.0) -> None:
        stage_report = (stage, detail, done)
        if stage_report != (self.stage, self.detail, self.done):
            self.stage, self.detail, self.done = stage_report
            self.on_stage()


async def gather_all(tasks: Iterable[Awaitable[Any]]) -> list[Any]:
    """Results of all tasks, in their order."""
    return list(await asyncio.gather(*tasks))
