"""Job of a delegated run: one machine runs the whole plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.capability import Capability
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.params import without_files
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute import refuse_lacks
from orchestrator.run.judging import judge_recording
from orchestrator.run.sources import digest_of
from orchestrator.testbed.controller import verdicts
from orchestrator.testbed.controller.holding import Holding
from orchestrator.testbed.controller.job import Job
from orchestrator.testbed.controller.peer import Peer
from orchestrator.testbed.controller.protocol import Submit
from orchestrator.testbed.inventory import Testbed
from orchestrator.testbed.wire.recorded import unpacked


class HeldJob(Job[Holding]):
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
        refuse_lacks(place, resolved)
        return resolved

    def _run_of(self, resolved: ResolvedPlan) -> Holding:
        if self.asked.pace != 1.0:
            text = f"target {self.asked.target} has a time of its own; leave the pace out"
            raise BadInput("pace", text)
        if not self.machine:
            raise self.lack()
        sources = digest_of(Registry.load())
        return Holding(
            *(self.asked.run, resolved, self._peers, self._bed.name, self.machine, sources)
        )

    def _judged(
        self, run: Holding, resolved: ResolvedPlan, spool: Path, cause: str | None
    ) -> tuple[Recording | None, dict[str, Any]]:
        machines = {"machines": {run.machine: list(resolved.plan.nodes)}}
        if cause is not None:
            return None, verdicts.ended_early(resolved, cause, self.asked.target) | machines
        try:
            recording, self.made_on = self._taken(run, resolved, spool)
        except RunFailed as wrong:
            raise RunFailed(f"agent {run.machine}: {wrong}") from None
        return recording, judge_recording(Registry.load(), resolved, recording) | machines

    def _taken(
        self, run: Holding, resolved: ResolvedPlan, spool: Path
    ) -> tuple[Recording, dict[str, Any]]:
        """Recording from the machine's files; nothing in them is executed. Raises RunFailed."""
        try:
            with np.load(spool / f"{run.machine}.numbers", allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            told = json.loads((spool / f"{run.machine}.words").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, RecursionError) as error:
            raise RunFailed(f"its results cannot be read ({error})") from None
        recording, made_on = unpacked(resolved, self.asked.target, arrays, told)
        return recording, made_on.model_dump() | {"on": run.machine}
