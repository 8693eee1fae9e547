"""Evaluation of a live run's expectations from the samples so far."""

from __future__ import annotations

import numpy as np

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.source_activity import rates_set, sources_on
from orchestrator.console.run_data import RunData
from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.live.feed_messages import Judgement, Row
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.plugin_metrics import measure_metrics
from orchestrator.run.verdict import check


def phases_over(data: RunData) -> dict[str, tuple[int, int]]:
    """The phases whose last sample is there."""
    if data.plan is None or not data.rows:
        return {}
    end = int(data.times[-1])
    return {n: (p.from_, p.to) for n, p in data.plan.phases.items() if p.to <= end}


def judge_so_far(data: RunData) -> Judgement | None:
    """Expectations judged on the samples so far; None before the plan is known.

    Latencies are not sampled, so that expectations of them wait for the end.
    """
    if data.resolved is None:
        return None
    over = phases_over(data)
    metrics: dict[str, dict[str, dict[str, float | None]]] = {}
    if over:
        recording = _recording(data)
        metrics = measure_metrics(
            Registry.load(), data.resolved.plan, recording, over, live=True
        ).values
        metrics.pop("run", None)
    rows = []
    for row in check(data.plan, metrics, bare=False):
        known = row["phase"] in over and row["value"] is not None and "of_seeds" not in row
        rows.append(Row.model_validate(row | {"met": row["met"] if known else None}))
    return Judgement(final=False, rows=rows)


def _recording(data: RunData) -> Recording:
    return Recording(
        target=data.state.target if data.state else "",
        times_ps=data.times,
        columns=list(data.columns),
        values=data.values,
        latency={},
        latency_marks_ps=np.zeros(0, np.int64),
        latency_edges_ps=latency_edges(),
        events=[],
        captures=[],
        epoch_ns=0,
        data_frames=0,
        cpu_s=0.0,
        wall_s=0.0,
        on=sources_on(data.resolved) if data.resolved else {},
        changes=rates_set(data.resolved, Indices(data.resolved.plan)) if data.resolved else {},
    )
