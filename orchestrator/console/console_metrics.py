"""Exporter of a console: the runs that it shows, and the machines of its controller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.console.app import Console
from orchestrator.console.run_data import RunData
from orchestrator.metrics_export.run_readings import Reading, RunReader, RunSnapshot
from orchestrator.recording import Column
from orchestrator.testbed.controller.controller_messages import MachineState
from orchestrator.testbed.controller.controller_metrics import machine_readings


@dataclass
class _ShownRun:
    """Reader of one run, and its columns with what messages of the feed leave out of them."""

    source: Sequence[Column] = ()
    columns: Sequence[Column] = ()
    reader: RunReader = field(default_factory=RunReader)


class ConsoleExporter:
    """Exporter of one console; `readings` is called by the endpoint's thread."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self._runs: dict[str, _ShownRun] = {}

    def readings(self) -> Iterator[Reading]:
        """Current readings; none while the console is not on the screen. The console's own thread
        makes the snapshots alone."""
        if not self._app.is_running:
            return
        snapshots, machines = self._app.call_from_thread(self._snapshot)
        yield from machine_readings(machines)
        self._runs = {s.run: self._runs[s.run] for s in snapshots}
        for snapshot in snapshots:
            yield from self._runs[snapshot.run].reader.readings(snapshot)

    def _snapshot(self) -> tuple[list[RunSnapshot], Sequence[MachineState]]:
        shown = {}
        for data in self._app.shown.runs:
            if (snapshot := self._of_run(data)) is not None:
                shown[snapshot.run] = snapshot
        site = self._app.site
        return list(shown.values()), site.state.machines if site is not None else []

    def _of_run(self, data: RunData) -> RunSnapshot | None:
        """Snapshot of a run that is shown; None before anything is known of it."""
        state = data.state
        if state is None:
            return None
        run = state.run or data.name
        mine = self._runs.setdefault(run, _ShownRun())
        if mine.source is not data.columns and data.resolved is not None:
            mine.source, mine.columns = data.columns, _completed(data)
        return RunSnapshot(
            run=run,
            target=state.target,
            plan=state.plan,
            seed=state.seed,
            stage=state.stage,
            now_ps=data.now_ps,
            duration_ps=data.duration_ps,
            pace=state.pace,
            resolved=data.resolved,
            columns=mine.columns,
            values=data.values[-1].copy() if data.rows else None,
            rows=data.rows,
            verdict=state.verdict,
            fidelity=data.judged.fidelity.get("verdict") if data.judged is not None else None,
        )


def _completed(data: RunData) -> list[Column]:
    """The run's columns; where the plan has the same column, that one, as `known` is no part of
    the messages."""
    assert data.resolved is not None
    planned = {
        (probe.column.entity, probe.column.quantity): probe.column
        for probe in probes(data.resolved, Indices(data.resolved.plan))
    }
    return [planned.get((column.entity, column.quantity), column) for column in data.columns]
