"""Computation of all metrics of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from orchestrator.plan.metric_registry import METRICS
from orchestrator.plan.observables import STATISTICS, scale_of, symbol_of
from orchestrator.recording import Column, Recording
from traces.metrics.completion_times import ALL_TRAFFIC, completions
from traces.metrics.entity_metrics import KINDS, Metrics, aggregate_flows, fairness, served
from traces.metrics.fairness_windows import Spans, fairness_over_time
from traces.metrics.sample_statistics import (
    histogram_percentile,
    moments,
    over_time,
    percentile,
)
from traces.metrics.sample_table import PS, RUN_PHASE, Table, Window

Number = int | float | None


def state_metrics(window: Window, column: Column) -> dict[str, Number]:
    """Metrics of one column: increments of a counter, or statistics of a gauge's samples."""
    scale = scale_of(column.unit)
    if column.kind == "counter":
        grown = window.count(column.entity, column.quantity)
        return {column.metric: grown if scale == 1 else grown * scale}
    values = over_time(window.valid_values(column.entity, column.quantity))
    mean, sd = moments(values)
    ends = (int(values.min()), int(values.max())) if len(values) else (None, None)
    found = dict(zip(STATISTICS, (mean, sd, *ends, percentile(values, 0.99)), strict=True))
    return {
        f"{column.metric}.{part}": value if value is None or scale == 1 else value * scale
        for part, value in found.items()
    }


def units(column: Column) -> dict[str, str]:
    """Metric of a column -> the symbol of its unit."""
    symbol = symbol_of(column.metric, column.unit)
    if column.kind == "counter":
        return {column.metric: symbol}
    return {f"{column.metric}.{part}": symbol for part in STATISTICS}


UNITS = {name: unit.symbol for kind in METRICS.values() for name, unit in kind.items()}
"""Every metric of the core that `compute` can give, and its unit."""

PERCENTILES = {"latency_s.p50": 0.50, "latency_s.p99": 0.99}

ByPhase = dict[str, dict[str, Metrics]]


def compute(
    recording: Recording, phases: Mapping[str, tuple[int, int]]
) -> tuple[ByPhase, dict[str, str]]:
    """(metrics, units): `metrics[phase][entity][metric]` in SI units, None where undefined.

    `phases` gives [from, to) in ps; the phase "run" is added. A metric whose samples a target
    does not provide is left out.
    """
    times = recording.times_ps
    spans = {RUN_PHASE: (int(times[0]), int(times[-1]))} if len(times) else {}
    spans |= phases
    boundaries = [time for span in phases.values() for time in span]
    table = Table(times, recording.columns, recording.values, boundaries, recording.changes)
    metrics = {
        name: _in_window(recording, table.window(*span), span) if spans else {}
        for name, span in spans.items()
    }
    for entity in table.entities("frames_sent", "frames_received"):
        found = metrics[RUN_PHASE].get(entity, {})
        if {"frames.sent", "frames.received"} <= found.keys():
            lost = int(found["frames.sent"] or 0) - int(found["frames.received"] or 0)
            found["frames.dropped"] = lost
    if recording.facing and spans:
        from traces.metrics.dut_metrics import (
            device_metrics,  # what reads frames: for devices of others alone
        )

        ended = int(times[-1])
        seen = device_metrics(
            recording.facing, recording.captures, spans, ended, recording.apart_ps
        )
        for name, of in seen.items():
            metrics[name] |= of
    brought = (units(column) for column in recording.columns if column.metric)
    return metrics, dict(UNITS) | {name: unit for each in brought for name, unit in each.items()}


def traffic_entries(recording: Recording, flows: list[str]) -> dict[str, list[str]]:
    """The flows of each traffic entry: `gen1.0`, `gen1.1` belong to `gen1`; a sole flow is it.

    What the members of a group receive of a flow (`gen1.0@sink`) belongs to its entry.
    """
    entries: dict[str, list[str]] = {name: [] for name in recording.latency}
    for flow in flows:
        name = flow.partition("@")[0]
        head, _, tail = name.rpartition(".")
        entry = head if head and tail.isdigit() and name not in recording.latency else name
        entries.setdefault(entry, []).append(flow)
    return entries


def _in_window(recording: Recording, window: Window, span: tuple[int, int]) -> dict[str, Metrics]:
    found: dict[str, Metrics] = {}
    for quantities, measure in KINDS:
        for entity in window.table.entities(*quantities):
            found.setdefault(entity, {}).update(measure(window, entity))
    for column in recording.columns:
        if column.metric:
            found.setdefault(column.entity, {}).update(state_metrics(window, column))
    flows = list(window.table.entities("bytes_received"))
    begun = {flow: _share_begun(recording, flow, span) for flow in flows}
    for entry, members in traffic_entries(recording, flows).items():
        if members:
            bits = sum(window.count(flow, "bytes_received") for flow in members) * 8
            rate = bits / window.seconds if window.seconds else None
            found.setdefault(entry, {})["throughput_bps"] = rate
            if len(members) > 1:
                found[entry] |= fairness(window, {flow: begun[flow] for flow in members})
                found[entry] |= fairness_over_time(window, spans_on(recording, members))
                found[entry] |= served(window, members)
        if entry in recording.latency:
            found.setdefault(entry, {}).update(_latency(recording, entry, span))
    if flows:
        found[ALL_TRAFFIC] = aggregate_flows(window, begun)
        found[ALL_TRAFFIC] |= fairness_over_time(window, spans_on(recording, flows))
        found[ALL_TRAFFIC] |= served(window, flows)
    if recording.messages is not None:
        for entity, measured in completions(recording.messages, span).items():
            found.setdefault(entity, {}).update(measured)
    return found


def spans_on(recording: Recording, flows: Sequence[str]) -> Spans:
    """Times at which the source of each flow was on, also for members of a group."""
    return {flow: recording.on.get(flow.partition("@")[0]) for flow in flows}


def _share_begun(recording: Recording, flow: str, span: tuple[int, int]) -> float:
    """Share of a span that follows the first start of a flow's source; it may be off again."""
    begin, end = span
    spans = spans_on(recording, [flow])[flow]
    if spans is None or end <= begin:
        return 1.0
    return max(end - max(spans[0][0], begin), 0) / (end - begin) if spans else 0.0


def _latency(recording: Recording, entry: str, span: tuple[int, int]) -> Metrics:
    """Percentiles of the latencies seen between two marks (the first at or after a boundary)."""
    edges, marks = recording.latency_edges_ps, recording.latency_marks_ps
    history = recording.latency[entry][:, : len(edges) - 1]
    counts = np.zeros(len(edges) - 1, np.int64)
    if len(marks):
        begin, end = (int(row) for row in np.searchsorted(marks, span))
        counts = history[min(end, len(marks) - 1)].copy()
        if span[0] > int(recording.times_ps[0]):
            counts -= history[min(begin, len(marks) - 1)]
    total = int(counts.sum())
    if not total:
        return dict.fromkeys((*PERCENTILES, "latency_s.mean"))
    seen = np.cumsum(counts)
    shares = {
        metric: histogram_percentile(counts, edges, share, seen)
        for metric, share in PERCENTILES.items()
    }
    found: Metrics = {metric: None if v is None else v / PS for metric, v in shares.items()}
    # each frame is taken to have the middle of its bin
    return found | {"latency_s.mean": float(np.dot(counts, _middles(edges))) / total / PS}


def _middles(edges: np.ndarray) -> np.ndarray:
    """The middle of each bin, in ps."""
    ends = edges.astype(float)
    return (ends[:-1] + ends[1:]) / 2
