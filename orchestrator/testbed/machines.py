"""Where the points of a sweep are run: simulated by workers, else in real time, by this machine or
across those of a testbed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import BadInput, RunFailed
from orchestrator.points.carry import MEASURED, Carry, cores
from orchestrator.points.in_turn import in_turn, ordinarily, plan_of
from orchestrator.points.store import Row
from orchestrator.points.subject import SIMULATED, Point
from orchestrator.points.through import Executor, processes
from orchestrator.progress import silent

REMOTE = "software"
"""The target that machines of a testbed have."""


@dataclass(frozen=True)
class Machines:
    """What was said of them, as options or as arguments."""

    target: str | None = None
    pace: float | None = None
    testbed: Path | None = None
    controller: str | None = None
    keys: Path | None = None
    controller_key: str | None = None

    @property
    def chosen(self) -> str:
        """The target: what was said, and with a controller the one that its machines have."""
        if self.controller is not None:
            if self.target not in (None, REMOTE):
                text = f"{self.target!r}: machines of a testbed run the target {REMOTE}"
                raise BadInput("--target", text)
            if self.testbed is not None:
                raise BadInput("--testbed", "the controller has the testbed; leave out one of both")
            return REMOTE
        if self.target in (None, SIMULATED):
            for name in ("pace", "testbed", "keys", "controller_key"):
                if getattr(self, name) is not None:
                    option = f"--{name.replace('_', '-')}"
                    raise BadInput(option, "simulated points have no machine to themselves; it is "
                                   "for --target software, gateware or --controller")  # fmt: skip
        return self.target or SIMULATED

    @property
    def how(self) -> dict[str, str]:
        """What makes other points of the same plan."""
        said = {"pace": self.pace, "testbed": self.testbed, "controller": self.controller}
        return {key: str(value) for key, value in said.items() if value is not None}

    def executor(self, jobs: int | None, scheduler: object) -> tuple[Executor, int]:
        """Who runs the points, and how many at once. `scheduler`: where a Dask cluster has its own,
        or a cluster object. Raises BadInput where one option excludes another."""
        if (target := self.chosen) != SIMULATED:
            for option, given in (("--jobs", jobs), ("--scheduler", scheduler)):
                if given is not None:
                    text = f"points on {target} are run one after another; leave it out"
                    raise BadInput(option, text)
            return in_turn(self._in_real_time()), 1
        if scheduler is not None:
            from orchestrator.points.cluster import cluster

            if jobs is not None:
                raise BadInput("--jobs", "a cluster has as many as it has; leave out --jobs")
            return cluster(scheduler), cores()
        workers = jobs or cores()
        return processes(workers), workers

    def _in_real_time(self) -> Carry:
        if self.controller is not None:
            return self._at_controller(self.controller)
        from orchestrator.testbed.inventory import Testbed

        bed = None if self.testbed is None else Testbed.load(self.testbed)
        return ordinarily(plan_of, pace=self.pace, testbed=bed)

    def _at_controller(self, address: str) -> Carry:
        """Each point is a run of the controller, which waits for its turn there; of its folder
        only the numbers are kept."""
        from orchestrator.targets.software.target import stepped
        from orchestrator.testbed.awaiting import awaited
        from orchestrator.testbed.controller import client
        from orchestrator.testbed.keys import default_folder

        folder, pace = self.keys or default_folder(), stepped(self.pace or 1.0)

        def carry(point: Point) -> Row:
            said: list[str] = []
            with tempfile.TemporaryDirectory(prefix="tailback-") as out:
                asking = client.run(
                    *(address, folder, self.controller_key, plan_of(point), False, Path(out)),
                    *(silent, said.append, pace),
                )
                told = awaited(asking)
            if told.error is not None:
                raise RunFailed(told.error)
            result = told.result or {}
            if "metrics" not in result:
                raise RunFailed("the controller says nothing of what the run measured")
            return {key: result[key] for key in MEASURED if key in result}

        return carry
