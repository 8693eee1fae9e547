"""Detection of concurrent real-time runs on this machine's cores, which distort each other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.run import partial_runs
from orchestrator.run.fidelity_thresholds import VALID
from orchestrator.targets.software import worker_main


@dataclass(frozen=True)
class ConcurrentRun:
    """A data path that spins, of another run. `folder` is None where the run keeps none, or is a
    part of one that an agent hosts."""

    process: int
    """Process that started it: the command `tailback run`, a script, an agent."""
    folder: Path | None
    machine: str = ""
    """Where it is, in a run of several machines."""

    def __str__(self) -> str:
        where = f" on {self.machine}" if self.machine else ""
        if self.folder is None:
            return f"a run of process {self.process}{where}"
        return f"{self.folder.parent.name} (process {self.process}, {self.folder}){where}"

    def as_table(self) -> dict[str, Any]:
        """For a result."""
        folder = None if self.folder is None else str(self.folder)
        machine = {"machine": self.machine} if self.machine else {}
        return {"told": str(self), "process": self.process, "folder": folder, **machine}

    @classmethod
    def of_agent(cls, machine: str, table: object) -> ConcurrentRun:
        """Neighbour from an agent's report about its machine. Raises ValueError for malformed
        ones."""
        if not isinstance(table, dict):
            raise ValueError("no neighbour")
        process, folder = table.get("process"), table.get("folder")
        if type(process) is not int or not isinstance(folder, str):
            raise ValueError("no neighbour")
        return cls(process, Path(folder), machine)


def concurrent_runs() -> list[ConcurrentRun]:
    """Concurrent runs that may use cores of this process."""
    commands = partial_runs.process_commands()
    folders = partial_runs.active_run_folders(commands)
    found = {}
    for process, words in commands.items():
        if worker_main.__name__ not in words or words[-1] == worker_main.HOLDS:
            continue
        if not _shares_cores(process):
            continue
        parent = words[-1]  # see `launch`
        if parent.isdecimal() and int(parent) in commands and int(parent) != os.getpid():
            found[int(parent)] = ConcurrentRun(int(parent), folders.get(int(parent)))
    return [found[number] for number in sorted(found)]


def other_runs() -> list[ConcurrentRun]:
    """The neighbours of an agent's data path that are runs of their own, begun here. The parts that
    other agents host here may belong to the same run as its own."""
    return [one for one in concurrent_runs() if one.folder is not None]


def _shares_cores(process: int) -> bool:
    """Return whether a process may run on a core of this one. An ended process may not."""
    try:
        return bool(os.sched_getaffinity(process) & os.sched_getaffinity(0))
    except OSError:
        return False


def with_concurrent_runs(fidelity: dict[str, Any], met: list[ConcurrentRun]) -> dict[str, Any]:
    """Fidelity of a run with the concurrent runs; no pace is advised."""
    if not met:
        return fidelity
    table = fidelity | {"neighbours": [one.as_table() for one in met]}
    if fidelity["verdict"] == VALID:
        return table
    names = ", ".join(map(str, met))
    reason = f"another run in real time had cores of this machine at the same time: {names}"
    return table | {"reasons": [*fidelity["reasons"], reason], "advised_pace": None}
