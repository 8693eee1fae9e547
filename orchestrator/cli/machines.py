"""Where points in real time are run: on this machine, or across those of a testbed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli import points as shared
from orchestrator.errors import BadInput, RunFailed
from orchestrator.points.carry import MEASURED, Carry
from orchestrator.points.in_turn import in_turn, plan_of
from orchestrator.points.store import Row
from orchestrator.points.subject import SIMULATED, Point
from orchestrator.points.through import Executor
from orchestrator.progress import silent


@dataclass(frozen=True)
class Machines:
    """What was said of them on the command line."""

    target: str | None = None
    pace: float | None = None
    testbed: Path | None = None
    controller: str | None = None
    keys: Path | None = None
    controller_key: str | None = None

    @property
    def chosen(self) -> str:
        """The target: what was said, and with a controller the one that its machines have."""
        from orchestrator.cli.remote import REMOTE

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

    def executor(self) -> Executor:
        """Runs points there, one at a time."""
        if self.controller is not None:
            return in_turn(self._at_controller(self.controller))
        from orchestrator.testbed.inventory import Testbed

        bed = None if self.testbed is None else Testbed.load(self.testbed)
        return in_turn(shared.ordinarily(plan_of, pace=self.pace, testbed=bed))

    def _at_controller(self, address: str) -> Carry:
        """Each point is a run of the controller, which waits for its turn there; of its folder
        only the numbers are kept."""
        from orchestrator.cli.remote import awaited
        from orchestrator.targets.software.target import stepped
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
