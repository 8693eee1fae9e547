"""Jain's index over time as a table, from which the metrics `fairness.window_*` are computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.assembly.source_activity import sources_on
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.input_problems import near
from orchestrator.registry import Registry
from traces.metrics.completion_times import ALL_TRAFFIC
from traces.metrics.fairness_windows import fairness_series
from traces.metrics.sample_table import RUN_PHASE
from traces.run_reader import Run

if TYPE_CHECKING:
    import pyarrow as pa


def fairness_table(run: Run, folder: Path, entity: str, phase: str) -> pa.Table:
    """time_ps (end of a window) and fairness, of a traffic entry or of all traffic in a phase.

    Raises BadInput for an entry or phase that is none.
    """
    import pyarrow as pa

    registry = Registry.load()
    resolved = Plan.load(folder / "plan.toml", registry).check(registry)
    entries = {flow.entity: flow.entry for flow in resolved.plan.flows()}
    received = {
        flow: entries[name]
        for flow in run.table.entities("bytes_received")
        if (name := flow.partition("@")[0]) in entries
    }
    known = [ALL_TRAFFIC, *dict.fromkeys(received.values())]
    if entity not in known:
        raise BadInput("entity", f"{entity!r} is no entry of its traffic; {near(entity, known)}")
    spans = {RUN_PHASE: (int(run.times_ps[0]), int(run.times_ps[-1]))} | run.phases
    if phase not in spans:
        raise BadInput("phase", f"{phase!r} is no phase of its plan; {near(phase, list(spans))}")
    on = sources_on(resolved)
    flows = {
        flow: on.get(flow.partition("@")[0])
        for flow, entry in received.items()
        if entity in (ALL_TRAFFIC, entry)
    }
    ends, index = fairness_series(run.table.window(*spans[phase]), flows)
    return pa.table({"time_ps": ends, "fairness": pa.array(index, from_pandas=True)})
