"""Executors of a sweep's points: processes for simulation, else one by one here or on a testbed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.batch.batch_executor import RunPoint, available_cores
from orchestrator.batch.experiment import SIMULATED
from orchestrator.batch.realtime_executors import (
    concurrent_executor,
    plan_of,
    run_locally,
    serial_executor,
)
from orchestrator.batch.stream_executor import Executor, process_executor
from orchestrator.capability import Capability
from orchestrator.errors import BadInput
from orchestrator.registry import Registry
from orchestrator.testbed.controller.controller_messages import REMOTE


@dataclass(frozen=True)
class SweepMachines:
    """Options that select the machines, from the command line or from Python."""

    target: str | None = None
    pace: float | None = None
    testbed: Path | None = None
    controller: str | None = None
    keys: Path | None = None
    controller_key: str | None = None

    @property
    def chosen(self) -> str:
        """Target of the points: the requested one; with a controller, one that its machines
        have."""
        if self.controller is not None:
            target = checked_target(self.target)
            if self.testbed is not None:
                raise BadInput("--testbed", "the controller has the testbed; leave out one of both")
            refuse_pace(target, self.pace)
            return target
        if self.target in (None, SIMULATED):
            for name in ("pace", "testbed", "keys", "controller_key"):
                if getattr(self, name) is not None:
                    option = f"--{name.replace('_', '-')}"
                    raise BadInput(option, "simulated points have no machine to themselves; it is "
                                   "for --target software, gateware or --controller")  # fmt: skip
        return self.target or SIMULATED

    @property
    def how(self) -> dict[str, str]:
        """Settings that distinguish points of the same plan in the store."""
        said = {"pace": self.pace, "testbed": self.testbed, "controller": self.controller}
        return {key: str(value) for key, value in said.items() if value is not None}

    def executor(self, jobs: int | None, scheduler: object) -> tuple[Executor, int]:
        """Executor of the points, and its parallelism. `scheduler`: address of a Dask cluster's
        scheduler, or a cluster object. Raises BadInput where one option excludes another."""
        if (target := self.chosen) != SIMULATED:
            for option, given in (("--jobs", jobs), ("--scheduler", scheduler)):
                if given is not None:
                    how = "one after another" if self.controller is None else "by its machines"
                    raise BadInput(option, f"points on {target} are run {how}; leave it out")
            if self.controller is not None:
                return self._at_controller(self.controller)
            return serial_executor(self._carry()), 1
        if scheduler is not None:
            from orchestrator.batch.dask_cluster import dask_executor

            if jobs is not None:
                raise BadInput("--jobs", "a cluster has as many as it has; leave out --jobs")
            return dask_executor(scheduler), available_cores()
        workers = jobs or available_cores()
        return process_executor(workers), workers

    def _carry(self) -> RunPoint:
        """By this machine, one after another."""
        from orchestrator.testbed.inventory import Testbed

        bed = None if self.testbed is None else Testbed.load(self.testbed)
        return run_locally(plan_of, pace=self.pace, testbed=bed)

    def _at_controller(self, address: str) -> tuple[Executor, int]:
        """On real frames one after another; held by one machine each, as many as there are."""
        from orchestrator.targets.software.software_target import stepped
        from orchestrator.testbed.curve_keys import default_folder
        from orchestrator.testbed.remote_executor import RemoteExecutor

        there = (address, self.keys or default_folder(), self.controller_key)
        if (target := self.chosen) == REMOTE:
            return serial_executor(RemoteExecutor(*there, stepped(self.pace or 1.0)).carry), 1
        asked = RemoteExecutor(*there)
        count = max(len(asked.machines(target)), 1)
        return concurrent_executor(asked.carry, count, asked.stop), count


def checked_target(target: str | None) -> str:
    """The target that machines of a testbed are to run. Raises BadInput for one they do not."""
    if target in (None, REMOTE):
        return REMOTE
    held = [t.name for t in Registry.load().targets if Capability.HELD in t.capabilities]
    if target not in held:
        names = ", ".join(held) or "no other"
        text = f"{target!r}: machines of a testbed run {REMOTE} together, and each can hold {names}"
        raise BadInput("--target", text)
    return target


def refuse_pace(target: str, pace: float | None) -> None:
    """Raises BadInput where there is one, and the target has a time of its own."""
    if pace is not None and Capability.PACE not in Registry.load().target(target).capabilities:
        raise BadInput("--pace", f"target {target} has a time of its own; leave the pace out")
