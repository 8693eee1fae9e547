"""Job of a delegated run: one machine runs the whole plan."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.capability import Capability
from orchestrator.errors import BadInput, Refused, RunFailed, TailbackError
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import refuse_missing_capabilities
from orchestrator.run.run_result import judge_recording
from orchestrator.run.source_digest import digest_of
from orchestrator.targets.software.worker_stages import BUILDING, COLLECTED, ENDED, RUNNING
from orchestrator.testbed.agent.agent_messages import HeartbeatReply, Hold
from orchestrator.testbed.controller import distributed_verdict
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.controller.controller_messages import Submit
from orchestrator.testbed.controller.run_job import RunJob
from orchestrator.testbed.controller.run_lifecycle import LEASING_S, LOOK_S, LeasedRun
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.recording_codec import unpacked
from orchestrator.testbed.wire.result_files import most_octets, read_numbers, read_words

# Delegated run on one machine: lease, hold, watch, fetch, release.
#
# The machine takes its time, by a clock of the plan's own; nothing of it is compared with ours.


class PermanentFailure(TailbackError):
    """Permanent failure: an error in the plan or of the machine that a retry would repeat."""

    def __init__(self, text: str, code: int) -> None:
        self.exit_code = code
        super().__init__(text)


class DelegatedRun(LeasedRun):
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

    def _failure(self, machine: str, pulse: HeartbeatReply) -> Exception:
        if pulse.code:
            return PermanentFailure(f"agent {machine}: {pulse.cause}", pulse.code)
        return super()._failure(machine, pulse)


class DelegatedJob(RunJob[DelegatedRun]):
    """See the module. Before it is carried out it has a `machine`, or what keeps it from one."""

    def __init__(
        self,
        asked: Submit,
        bed: Testbed,
        peers: dict[str, Peer],
        out: Path,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(asked, bed, peers, out, say)
        self.machine = ""
        self.lack: Callable[[], Exception] = lambda: RunFailed("it was given no machine")

    def _load(self) -> ResolvedPlan:
        """Raises BadInput, Refused for a plan that its target cannot run, wherever that is."""
        registry, target = Registry.load(), self.asked.target
        place = registry.target(target)
        who = f"target {target}"
        if Capability.HELD not in place.capabilities:
            raise Refused(who, "no machine of a testbed holds it", "Run it here: no --controller.")
        with without_files():
            resolved = Plan.load(self.asked.plan + "\n").check(registry)
        if resolved.plan.target != target:
            text = f"the plan is for {resolved.plan.target}, and was asked for on {target}"
            raise BadInput(self.asked.source, text)
        for action in resolved.actions:
            if action.kind == "fault":
                lack = f"the timeline has {action.verb} of {action.key}, for agents that host nodes"
                raise Refused(who, lack, "Run it on software, or take the step out.")
        if self.asked.sources not in (None, digest_of(registry)):
            raise Refused(
                "the controller",
                "its tailback, its plugins or its libraries are others than those that ask",
                "Install the same on both machines.",
            )
        refuse_missing_capabilities(place, resolved)
        return resolved

    def _run_of(self, resolved: ResolvedPlan) -> DelegatedRun:
        if self.asked.pace != 1.0:
            text = f"target {self.asked.target} has a time of its own; leave the pace out"
            raise BadInput("pace", text)
        if not self.machine:
            raise self.lack()
        sources = digest_of(Registry.load())
        return DelegatedRun(
            *(self.asked.run, resolved, self._peers, self._bed.name, self.machine, sources)
        )

    def _judged(
        self, run: DelegatedRun, resolved: ResolvedPlan, spool: Path, cause: str | None
    ) -> tuple[Recording | None, dict[str, Any]]:
        machines = {"machines": {run.machine: list(resolved.plan.nodes)}}
        if cause is not None:
            return None, distributed_verdict.ended_early(
                resolved, cause, self.asked.target
            ) | machines
        try:
            recording, self.made_on = self._taken(run, resolved, spool)
        except RunFailed as wrong:
            cause = f"agent {run.machine}: {wrong}"
            early = distributed_verdict.ended_early(resolved, cause, self.asked.target)
            return None, early | machines
        return recording, judge_recording(Registry.load(), resolved, recording) | machines

    def _taken(
        self, run: DelegatedRun, resolved: ResolvedPlan, spool: Path
    ) -> tuple[Recording, dict[str, Any]]:
        """Recording from the machine's files; nothing in them is executed. Raises RunFailed."""
        arrays = read_numbers(spool / f"{run.machine}.numbers", most_octets(resolved))
        fields = read_words(spool / f"{run.machine}.words")
        recording, made_on = unpacked(resolved, self.asked.target, arrays, fields)
        return recording, made_on.model_dump() | {"on": run.machine}
