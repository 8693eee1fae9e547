"""Exporter of a controller: machines, jobs, and the runs across machines that go on."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from orchestrator.metrics_export import process_families as process
from orchestrator.metrics_export.run_readings import (
    VERDICTS,
    Reading,
    RunReader,
    RunSnapshot,
    session_snapshot,
    state_readings,
)
from orchestrator.run import fidelity_thresholds
from orchestrator.testbed.controller.controller_messages import MachineState
from orchestrator.testbed.controller.controller_service import AnyJob, Controller

MACHINE_STATES = ("connecting", "up", "rejected", "gone")
"""States of a connection to an agent (`agent_connection.Peer.state`)."""
JOB_STATES = ("waiting", "running", "done", "failed")


def machine_readings(machines: Iterable[MachineState]) -> Iterator[Reading]:
    """Readings of a controller's machines."""
    for machine in machines:
        yield from state_readings(
            process.CONTROLLER_MACHINE, MACHINE_STATES, machine.state, machine.name
        )
        yield process.CONTROLLER_LEASED, (machine.name,), float(machine.lease is not None)
        if machine.cores is not None:
            yield process.CONTROLLER_CORES, (machine.name,), float(machine.cores)
        if machine.clock:
            yield process.CONTROLLER_CLOCK, (machine.name,), float(machine.clock["error_s"])


def job_state(job: AnyJob) -> str:
    """State of a job, of `JOB_STATES`."""
    if job.over:
        return "done" if job.error is None else "failed"
    return "waiting" if job.run is None else "running"


def job_readings(jobs: Iterable[tuple[str, AnyJob]]) -> Iterator[Reading]:
    """Readings of jobs by their numbers: states, stages, verdicts of finished ones."""
    listed = list(jobs)
    states = Counter(job_state(job) for _, job in listed)
    for state in JOB_STATES:
        yield process.CONTROLLER_JOBS, (state,), float(states[state])
    for number, job in listed:
        mine = (number, job.asked.target)
        if not job.over:
            progress = job.progress(0)
            yield process.CONTROLLER_JOB_STAGE, (*mine, progress.stage), 1.0
            yield process.CONTROLLER_JOB_PROGRESS, mine, progress.done
            continue
        yield process.CONTROLLER_JOB_EXIT, mine, float(job.exit_code)
        if job.result is not None:
            verdict, fidelity = job.result["verdict"], job.result["fidelity"]["verdict"]
            grades = fidelity_thresholds.ORDER
            yield from state_readings(process.RUN_VERDICT, VERDICTS, verdict, *mine)
            yield from state_readings(process.RUN_FIDELITY, grades, fidelity, *mine)


class ControllerExporter:
    """Exporter of one controller; `readings` is called by the endpoint's thread."""

    def __init__(self, controller: Controller, loop: asyncio.AbstractEventLoop) -> None:
        self._controller, self._loop = controller, loop
        self._readers: dict[str, RunReader] = {}

    def readings(self) -> Iterator[Reading]:
        """Current readings. The controller's loop makes the snapshots alone."""
        from orchestrator.metrics_export.http_endpoint import on_loop

        states, snapshots = on_loop(self._loop, self._snapshot)
        yield from states
        self._readers = {s.run: self._readers.get(s.run, RunReader()) for s in snapshots}
        for snapshot in snapshots:
            yield from self._readers[snapshot.run].readings(snapshot)

    def _snapshot(self) -> tuple[list[Reading], list[RunSnapshot]]:
        controller = self._controller
        states = [
            *machine_readings(controller.machine(name) for name in controller.peers),
            *job_readings(controller.jobs.items()),
        ]
        watched = [job.watched for job in controller.jobs.values() if job.watched is not None]
        return states, [session_snapshot(each.session) for each in watched]


@contextlib.contextmanager
def serve_controller_metrics(
    controller: Controller, address: str | None, say: Callable[[str], None]
) -> Iterator[None]:
    """Endpoint of a controller as long as the block lasts; called within its event loop."""
    if address is None:
        yield
        return
    from orchestrator.metrics_export.http_endpoint import served

    exporter = ControllerExporter(controller, asyncio.get_running_loop())
    with served(address, exporter.readings, say):
        yield
