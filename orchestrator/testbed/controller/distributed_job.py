"""Job of a distributed run on real frames: from the plan to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.capability import IN_SOFTWARE
from orchestrator.errors import RunFailed
from orchestrator.live.live_session import Session
from orchestrator.live.recording_marks import mark_live_changes
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.run_result import judge_recording
from orchestrator.targets.software.software_target import checked_pace
from orchestrator.testbed.controller import distributed_verdict, merge_recordings
from orchestrator.testbed.controller.agent_connection import Peer
from orchestrator.testbed.controller.controller_messages import REMOTE, Submit
from orchestrator.testbed.controller.distributed_run import DistributedRun
from orchestrator.testbed.controller.live_feed import Watched
from orchestrator.testbed.controller.run_job import RunJob
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.result_files import most_octets

TICK_S = 0.1


class DistributedJob(RunJob[DistributedRun]):
    """See the module."""

    def __init__(
        self,
        asked: Submit,
        bed: Testbed,
        peers: dict[str, Peer],
        out: Path,
        say: Callable[[str], None],
        watch: Callable[[DistributedRun], Watched] | None = None,
    ) -> None:
        super().__init__(asked, bed, peers, out, say)
        self._watch = watch

    def _load(self) -> ResolvedPlan:
        with without_files():
            resolved = Plan.load(self.asked.plan + "\n").check(Registry.load())
        for kind, holders in resolved.uses.items():
            for holder, use in holders.items():
                if use.algorithm.lacks(IN_SOFTWARE):
                    raise RunFailed(f"the {kind} {use.algorithm.name} of {holder} is not software")
        return resolved

    def _run_of(self, resolved: ResolvedPlan) -> DistributedRun:
        pace = 1.0 if self.asked.pace == 1 else checked_pace(resolved, self.asked.pace)
        return DistributedRun(self.asked.run, resolved, self._bed, self._peers, pace)

    def _serve(self, run: DistributedRun) -> list[asyncio.Task[None]]:
        if self._watch is None:
            return []
        self.watched = self._watch(run)
        return [
            asyncio.create_task(going)
            for going in (self._tick(self.watched), self.watched.orders.serve())
        ]

    async def _tick(self, watched: Watched) -> None:
        while True:
            watched.news()
            await asyncio.sleep(TICK_S)

    def _judged(
        self, run: DistributedRun, resolved: ResolvedPlan, spool: Path, cause: str | None
    ) -> tuple[Recording | None, dict[str, Any]]:
        session = self.watched.session if self.watched else None
        recording: Recording | None = None
        delays: dict[str, dict[str, float]] = {}
        if cause is None:
            try:
                recording, delays = self._merged(run, resolved, spool, session)
            except RunFailed as wrong:  # of a bad agent: the run is kept as failed
                cause = str(wrong)
        if recording is not None:
            result = judge_recording(Registry.load(), resolved, recording)
        else:
            assert cause is not None
            result = distributed_verdict.ended_early(resolved, cause, REMOTE)
        clock_table = distributed_verdict.clocks(resolved, run.estimates, run.pace)
        if recording is not None:
            retimings = {machine: run.retiming(machine) for machine in clock_table["machines"]}
            distributed_verdict.add_retimings(clock_table, retimings, int(recording.times_ps[-1]))
            clock_table["delays"] = delays
            result["fidelity"] = distributed_verdict.with_clocks(result["fidelity"], clock_table)
        machines = run.mapping.machines if run.mapping else {}
        result["clocks"] = clock_table
        result["machines"] = {
            name: [node for node, where in machines.items() if where == name]
            for name in dict.fromkeys(machines.values())
        }
        return recording, result

    def _merged(
        self, run: DistributedRun, resolved: ResolvedPlan, spool: Path, session: Session | None
    ) -> tuple[Recording, dict[str, dict[str, float]]]:
        """Merged recording with the live changes marked in it; see `merge.merge_recordings`."""
        assert run.mapping is not None
        most = most_octets(resolved)
        parts = [
            merge_recordings.AgentRecording.load(
                machine,
                run.mapping.nodes(machine),
                spool / f"{machine}.numbers",
                spool / f"{machine}.words",
                run.interfaces[machine],
                run.retiming(machine),
                most,
            )
            for machine in run.leases
        ]
        stopped = session is not None and session.stopping
        try:
            recording, delays = merge_recordings.merge(
                resolved,
                parts,
                run.epoch_ns,
                stopped=stopped,
                pace=run.pace,
                cables=run.mapping.devices,
            )
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # Each part is as its schema says; together they are not what these machines hosted.
            names = ", ".join(part.machine for part in parts)
            raise RunFailed(
                f"the results of the agents {names} do not fit together "
                f"({type(error).__name__}: {error})"[:500]
            ) from error
        if session is None:
            return recording, delays
        session.now_ps = int(recording.times_ps[-1])
        return mark_live_changes(recording, session), delays
