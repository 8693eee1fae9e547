"""Curves of a run for figures: a quantity over time, its distribution, a metric."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orchestrator.plan.observables import scale_of
from traces.metrics.sample_table import PS, RUN_PHASE
from traces.run_reader import Run
from traces.time_series import rate_bps, utilization, window_rows

RATES_PS = 50 * 10**9
FEWEST_WINDOWS = 100
"""Short runs get shorter windows, so that there is still a curve."""

Curve = tuple[np.ndarray, np.ndarray]
NOTHING: Curve = (np.zeros(0), np.zeros(0))
LIMITS = {"rate_bps": "current_rate", "target_bps": "target_rate"}


def window_ps(run: Run, wanted: int) -> int:
    """Window that is used for a curve: `wanted`, or a hundredth of a short run."""
    return min(wanted, max(int(run.times_ps[-1] - run.times_ps[0]) // FEWEST_WINDOWS, 1))


def flows_of(run: Run, entity: str, quantity: str) -> list[str]:
    """The flows that have `quantity` and are this entity: itself, or all of a traffic entry."""
    if run.table.has(entity, quantity):
        return [entity]
    return [
        flow
        for flow in run.table.entities(quantity)
        if (head := flow.partition("@")[0].rpartition("."))[0] == entity and head[2].isdigit()
    ]


def over_time(run: Run, entity: str, y: str, window: int | None) -> Curve:
    """(s, value in SI units) of something drawable; nothing where it was not sampled."""
    rows = window_rows(run.table, window or window_ps(run, RATES_PS))
    if y in WINDOWED:
        return WINDOWED[y](run, entity, rows)
    if (brought := run.table.brought.get((entity, y))) is not None:
        scaled = run.table.column(entity, brought.quantity) * scale_of(brought.unit)
        return run.times_ps / PS, run.table.drawn(entity, brought.quantity, scaled)
    quantity = LIMITS.get(y, y)
    if not run.table.has(entity, quantity):
        return NOTHING
    values = run.table.column(entity, quantity).astype(float)
    return run.times_ps / PS, run.table.drawn(entity, quantity, values)


def _counted(run: Run, entity: str, rows: np.ndarray, *quantities: str) -> Curve:
    """Bits per second of the first of some counters of octets that the entity has."""
    for quantity in quantities:
        if flows := flows_of(run, entity, quantity):
            curves = [rate_bps(run.table, flow, quantity, rows) for flow in flows]
            return curves[0][0], np.sum([rates for _, rates in curves], axis=0)
    return NOTHING


def _throughput(run: Run, entity: str, rows: np.ndarray) -> Curve:
    return _counted(run, entity, rows, "bytes_received", "bytes_out")


def _sent(run: Run, entity: str, rows: np.ndarray) -> Curve:
    return _counted(run, entity, rows, "bytes_sent")


def _utilization(run: Run, entity: str, rows: np.ndarray) -> Curve:
    for rate in ("service_rate", "rate"):
        if run.table.has(entity, rate) and run.table.has(entity, "bytes_out"):
            return utilization(run.table, entity, rows, rate)
    return NOTHING


def _paused(run: Run, entity: str, rows: np.ndarray) -> Curve:
    if not run.table.has(entity, "paused_ps"):
        return NOTHING
    times = run.times_ps[rows]
    held = np.diff(run.table.column(entity, "paused_ps")[rows])
    return times[1:] / PS, held / np.diff(times)


WINDOWED: dict[str, Callable[[Run, str, np.ndarray], Curve]] = {
    "throughput_bps": _throughput,
    "sent_bps": _sent,
    "utilization": _utilization,
    "paused": _paused,
}
"""Quantities that are means over windows rather than samples."""


def span_of(run: Run, phase: str) -> tuple[int, int]:
    """[from, to) of a phase of the run, or of all of it, in ps."""
    return run.phases.get(phase, (int(run.times_ps[0]), int(run.times_ps[-1])))


def within(curve: Curve, span: tuple[int, int], *, ends: bool = True) -> Curve:
    """The part of a curve that lies in a phase; with the instant it ends at, or without."""
    times, values = curve
    last = times <= span[1] / PS if ends else times < span[1] / PS
    chosen = (times >= span[0] / PS) & last
    return times[chosen], values[chosen]


def distribution(run: Run, entity: str, y: str, phase: str) -> Curve:
    """(value, share that is not larger) of what a cdf draws."""
    if y == "latency_s":
        return _latencies(run, entity, phase)
    if y in ("fct_s", "slowdown"):
        values = _messages(run, entity, y, phase)
    else:
        ends = phase == RUN_PHASE
        values = within(over_time(run, entity, y, None), span_of(run, phase), ends=ends)[1]
    values = np.sort(values[np.isfinite(values)])
    return values, np.arange(1, len(values) + 1) / max(len(values), 1)


def _messages(run: Run, entity: str, y: str, phase: str) -> np.ndarray:
    table = run.messages
    if table is None:
        return np.zeros(0)
    begin, end = span_of(run, phase)
    mine = np.array([entity in (entry, "traffic") for _, entry in table.flows], bool)[table.flow]
    chosen = mine & (table.start_ps >= begin) & (table.start_ps < end + (phase == RUN_PHASE))
    values: np.ndarray = (table.fct_s() if y == "fct_s" else table.slowdown())[chosen]
    return values


def _latencies(run: Run, entity: str, phase: str) -> Curve:
    """Latencies of frames, by the upper edges of the histogram's bins."""
    if run.latency is None or entity not in run.latency.history:
        return NOTHING
    counts = run.latency.within(entity, span_of(run, phase), first=int(run.times_ps[0]))
    seen = np.flatnonzero(counts)
    if not len(seen):
        return NOTHING
    share = np.cumsum(counts[seen]) / counts.sum()
    return run.latency.edges_ps[1:][seen] / PS, share


def metric(run: Run, entity: str, name: str, phase: str) -> float:
    """A metric of one phase; NaN where the run has none."""
    value = run.result.metrics.get(phase, {}).get(entity, {}).get(name)
    return float("nan") if value is None else float(value)
