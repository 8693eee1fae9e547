"""Request handlers of a controller, and its queue of runs."""

from __future__ import annotations

import asyncio
import gc
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import zmq.asyncio

from orchestrator.errors import Refused, RunFailed
from orchestrator.testbed.controller import controller_messages
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.controller.delegated_job import DelegatedJob
from orchestrator.testbed.controller.distributed_job import DistributedJob
from orchestrator.testbed.controller.distributed_run import DistributedRun
from orchestrator.testbed.controller.live_feed import Watched
from orchestrator.testbed.controller.run_artifacts import RunArtifacts
from orchestrator.testbed.curve_keys import ADMINISTER, WATCH, Caller, Pair
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.envelope import Request, Unacceptable, WireMessage
from orchestrator.testbed.wire.rpc_server import Handler, Reply

NO_MACHINE = ""


class MachinePool:
    """The machines of a controller, and which of them have a plan to run."""

    def __init__(self, peers: dict[str, Peer]) -> None:
        self._peers = peers
        self._taken: set[str] = set()

    def able(self, target: str) -> list[str]:
        """Machines that are up and say that they can hold a plan on a target."""
        up = {name: p.offer for name, p in self._peers.items() if p.state == "up" and p.offer}
        return [name for name, offer in up.items() if offer.holds.get(target) == ""]

    def all_taken(self, target: str) -> bool:
        """Return whether there are able machines, and all are busy."""
        able = self.able(target)
        return bool(able) and self._taken.issuperset(able)

    def take(self, target: str) -> str:
        """Take an idle machine; NOWHERE if there is none."""
        machine = next((name for name in self.able(target) if name not in self._taken), NO_MACHINE)
        self._taken.add(machine)
        return machine

    def give_back(self, machine: str) -> None:
        """Mark a machine as idle."""
        self._taken.discard(machine)

    def lack(self, target: str) -> RunFailed | Refused:
        """Reason why no machine is able: Refused, with a remedy, where all have answered so;
        RunFailed where some that do not answer may be able."""
        said: list[str] = []
        silent: list[str] = []
        for name, peer in self._peers.items():
            if peer.state != "up" or peer.offer is None:
                silent.append(f"agent {name} does not answer ({peer.why or peer.state})")
            else:
                none = f"target {target}: there is none of that name"
                said.append(f"agent {name}: {peer.offer.holds.get(target, none) or 'it is busy'}")
        who, lack = "controller", f"no machine of the testbed can hold a plan on {target}"
        if silent:
            return RunFailed(f"{who}: {lack}: {'; '.join([*silent, *said])}")
        return Refused(who, lack, "; ".join(said))


FINISHED_RUNS = 100
"""Runs that are over and can still be asked about."""
WAITING = 100
"""Runs that may wait."""
LOOK_S = 1.0
"""Interval of checks for a machine that has come up and for cancelled runs (s)."""
AnyJob = DistributedJob | DelegatedJob


class Controller:
    """The inventory and its machines. Runs begin in the order in which they were asked for: one on
    real frames has all machines to itself, those that one machine holds go on side by side."""

    def __init__(
        self,
        bed: Testbed,
        pair: Pair,
        out: Path,
        say: Callable[[str], None],
        watch: Callable[[DistributedRun], Watched] | None = None,
    ) -> None:
        self._watch = watch
        self.bed, self._out, self._say = bed, out, say
        self._context = zmq.asyncio.Context()
        self.peers = {
            name: Peer(self._context, name, entry, pair) for name, entry in bed.machines.items()
        }
        for peer in self.peers.values():
            peer.on_news = lambda peer=peer: self._news(peer)  # type: ignore[misc]
        self._said: dict[str, str] = {}
        self._places = MachinePool(self.peers)
        self.jobs: OrderedDict[str, AnyJob] = OrderedDict()
        self._queue: asyncio.Queue[AnyJob] = asyncio.Queue()
        self._going: set[asyncio.Task[None]] = set()
        """Runs that one machine holds each."""
        self._task = asyncio.create_task(self._work())

    def handlers(self) -> dict[str, Handler]:
        """Handler of each kind of request."""
        return {
            "status": Handler(controller_messages.Status, self._status, reads=True, role=WATCH),
            "submit": Handler(controller_messages.Submit, self._submit),
            "follow": Handler(controller_messages.Follow, self._follow, reads=True, role=WATCH),
            "cancel": Handler(controller_messages.OfRun, self._cancel),
            "files": Handler(controller_messages.OfRun, self._files, reads=True, role=WATCH),
            "fetch": Handler(controller_messages.FetchOf, self._fetch, reads=True, role=WATCH),
        }

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            if isinstance(job, DelegatedJob):
                await self._start_delegated(job)
            else:
                if self._going:
                    await asyncio.wait(self._going)
                await self._carry(job)
            del job

    async def _start_delegated(self, job: DelegatedJob) -> None:
        """Start a run on a machine that can hold it, as soon as one is idle."""
        target = job.asked.target
        while not job.cancelled and self._going and self._places.all_taken(target):
            await asyncio.wait(self._going, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        machine = self._places.take(target)
        job.machine, job.lack = machine, lambda: self._places.lack(target)
        task = asyncio.create_task(self._carry(job))
        self._going.add(task)

        def over(task: asyncio.Task[None]) -> None:
            self._going.discard(task)
            self._places.give_back(machine)

        task.add_done_callback(over)

    async def _carry(self, job: AnyJob) -> None:
        await job.carry_out()
        del job
        while len(self.jobs) > FINISHED_RUNS and next(iter(self.jobs.values())).over:
            self.jobs.popitem(last=False)
        # A run's models, tasks and sockets refer to each other. Left to the collector's own
        # thresholds they stay for as many runs as it takes to make a quarter of all objects.
        gc.collect()

    def _status(self, peer: Caller, request: Request, body: WireMessage) -> Reply:
        machines = [self.machine(name) for name in self.peers]
        going_on = [number for number, job in self.jobs.items() if not job.over]
        feeds = {n: job.watched.address for n, job in self.jobs.items() if job.watched is not None}
        state = controller_messages.State(
            name=self.bed.name, machines=machines, runs=going_on, feeds=feeds
        )
        return state.model_dump(), None

    def machine(self, name: str) -> controller_messages.MachineState:
        """State of one machine."""
        peer = self.peers[name]
        estimate = peer.comparison.estimate()
        return controller_messages.MachineState(
            name=name,
            state=peer.state,
            why=peer.why,
            lease=peer.lease,
            part=peer.pulse.state if peer.pulse else "",
            nics=[nic.name for nic in peer.offer.nics] if peer.offer else [],
            cores=peer.offer.cores if peer.offer else None,
            holds=peer.offer.holds if peer.offer else {},
            clock=estimate.table() if estimate else {},
        )

    def _submit(self, peer: Caller, request: Request, body: controller_messages.Submit) -> Reply:
        if body.run in self.jobs:
            raise Unacceptable("run", "there is a run of that name already")
        if sum(not job.over for job in self.jobs.values()) >= WAITING:
            raise Unacceptable("busy", f"{WAITING} runs are waiting already")
        given = (body, self.bed, self.peers, self._out, self._say)
        alone = body.target != controller_messages.REMOTE
        job: AnyJob = DelegatedJob(*given) if alone else DistributedJob(*given, self._watch)
        job.owner = peer
        self.jobs[body.run] = job
        self._queue.put_nowait(job)
        self._say(f"run {body.run}: asked for by {peer.name}")
        return {}, None

    def _follow(self, peer: Caller, request: Request, body: controller_messages.Follow) -> Reply:
        return self._job(body.run).progress(body.after).model_dump(), None

    def _cancel(self, peer: Caller, request: Request, body: controller_messages.OfRun) -> Reply:
        job = self._job(body.run)
        if job.owner != peer and not peer.may(ADMINISTER):
            raise Unacceptable(
                "not-yours",
                f"run {body.run} is {job.owner.name}'s; the key {peer.name} may {peer.role}, and "
                f"another's run is ended by one that may {ADMINISTER}",
            )
        job.cancel()
        return {}, None

    def _files(self, peer: Caller, request: Request, body: controller_messages.OfRun) -> Reply:
        return self._artifacts(body.run).listing.model_dump(), None

    def _fetch(self, peer: Caller, request: Request, body: controller_messages.FetchOf) -> Reply:
        chunk, octets = self._artifacts(body.run).cut(body.number, body.offset)
        return chunk.model_dump(), octets

    def _artifacts(self, run: str) -> RunArtifacts:
        kept = self._job(run).kept
        if kept is None:
            raise Unacceptable("no-folder", f"run {run} has no folder: it is not over, or failed")
        return kept

    def _job(self, run: str) -> AnyJob:
        if run not in self.jobs:
            raise Unacceptable("no-run", f"there is no run {run}; the controller may be a new one")
        return self.jobs[run]

    def _news(self, peer: Peer) -> None:
        said = f"agent {peer.name}: {peer.state}{': ' if peer.why else ''}{peer.why}"
        if self._said.get(peer.name) != peer.state:
            self._said[peer.name] = peer.state
            self._say(said)

    async def close(self) -> None:
        """End what goes on and give every lease back."""
        for job in self.jobs.values():
            job.cancel()
        waiting = [job for job in self.jobs.values() if not job.over]
        for _ in range(100):
            if all(job.over for job in waiting):
                break
            await asyncio.sleep(0.1)
        self._task.cancel()
        for peer in self.peers.values():
            peer.close()
        self._context.term()
