"""Executors of a sweep's points: processes for simulation, else one by one here or on a testbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.batch.batch_executor import RunPoint, available_cores
from orchestrator.batch.experiment import SIMULATED, Point
from orchestrator.batch.realtime_executors import (
    concurrent_executor,
    plan_of,
    run_locally,
    serial_executor,
)
from orchestrator.batch.stream_executor import Executor, process_executor
from orchestrator.capability import Capability
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.target_options import read_given, read_options
from orchestrator.registry import Registry
from orchestrator.testbed.controller.controller_messages import REMOTE

if TYPE_CHECKING:
    from orchestrator.testbed.inventory import Testbed


@dataclass(frozen=True)
class SweepMachines:
    """Options that select the machines, from the command line or from Python."""

    target: str | None = None
    pace: float | None = None
    testbed: Path | None = None
    controller: str | None = None
    keys: Path | None = None
    controller_key: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the target."""

    @property
    def chosen(self) -> str:
        """Target of the points: the requested one; with a controller, one that its machines
        have."""
        if self.controller is not None:
            target = checked_target(self.target)
            refuse_at_controller({key: f"--{key.replace('_', '-')}" for key in self._given})
        else:
            target = self.target or SIMULATED
            machines = ("pace", "cores", "testbed") if target == SIMULATED else ()
            names = [key for key in self._given if key in machines]
            if target == SIMULATED:
                names += [key for key in ("keys", "controller_key") if getattr(self, key)]
            for name in names:
                option = f"--{name.replace('_', '-')}"
                raise BadInput(option, "simulated points have no machine to themselves; it is "
                               "for --target software, gateware or --controller")  # fmt: skip
        called = {key: f"--{key.replace('_', '-')}" for key in self._given}
        read_given(Registry.load().target_options, target, self._given, called)
        return target

    @property
    def _given(self) -> dict[str, Any]:
        """Options of the target."""
        given = {"pace": self.pace, "testbed": self.testbed and str(self.testbed), **self.options}
        return {key: value for key, value in given.items() if value is not None}

    def plan(self, plan: Plan) -> Plan:
        """A plan on the chosen target, with the options that are given on top of its own."""
        called = {key: f"--{key.replace('_', '-')}" for key in self._given}
        target = self.chosen
        placed = (
            plan.with_settings([f"target={target}"], said="") if plan.target != target else plan
        )
        placed = placed.with_options(Registry.load(), self._given, called)
        if self.controller is not None:
            pace_at_controller(placed)
        return placed

    @property
    def how(self) -> dict[str, str]:
        """Settings that distinguish points of the same plan in the store."""
        said = self._given | {"controller": self.controller}
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
        from orchestrator.testbed.local_testbed import local_testbed

        def bed(point: Point) -> Testbed | None:
            return local_testbed(plan_of(point).check(Registry.load()).options)

        models = Registry.load().target_options
        if given := {k: v for k, v in self._given.items() if k in ("testbed", "external")}:
            local_testbed(read_options(models, self.chosen, given, ""))  # mistakes at once
        return lambda point: run_locally(plan_of, testbed=bed(point))(point)

    def _at_controller(self, address: str) -> tuple[Executor, int]:
        """On real frames one after another; held by one machine each, as many as there are."""
        from orchestrator.targets.software.software_target import stepped
        from orchestrator.testbed.curve_keys import default_folder
        from orchestrator.testbed.remote_executor import RemoteExecutor

        there = (address, self.keys or default_folder(), self.controller_key)
        if (target := self.chosen) == REMOTE:
            return serial_executor(
                RemoteExecutor(*there, stepped(float(self._given.get("pace", 1.0)))).carry
            ), 1
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


AT_CONTROLLER = {
    "pace": "",
    "cores": "the controller shares out cores",
    "datapath": "agents have packet sockets alone",
    "stamps": "the controller's inventory says it (stamps in [machines.NAME])",
    "launch": "the controller's inventory says it (launch in [machines.NAME])",
    "testbed": "the controller has the testbed",
    "external": "the controller's inventory says it ([external.NAME], MACHINE:NIC)",
    "profile": "it is for runs on this machine alone",
    "as": "it is for runs on this machine alone",
}
"""Options of targets at a controller: why it does not take them; empty: it does."""


def refuse_at_controller(called: Mapping[str, str]) -> None:
    """Raises BadInput for an option that a run at a controller cannot have.

    `called` has the name of each option in messages.
    """
    for key, name in called.items():
        if reason := AT_CONTROLLER.get(key, "machines of a testbed take no such option"):
            raise BadInput(name, f"not together with --controller: {reason}; leave it out")


def pace_at_controller(plan: Plan) -> float:
    """The pace of a plan whose target is at a controller. Raises BadInput for other options."""
    given = plan.check(Registry.load()).options.to_table(given=True)
    refuse_at_controller({key: f"targets.{plan.target}.{key}" for key in given if given[key]})
    return float(given.get("pace", 1.0))
