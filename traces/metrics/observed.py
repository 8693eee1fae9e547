"""Metrics of the state columns of algorithms."""

from __future__ import annotations

from orchestrator.plan.observed import STATISTICS, scale_of, symbol_of
from orchestrator.recording import Column
from traces.metrics.gauges import moments, percentile
from traces.metrics.table import Window

Number = int | float | None


def observed(window: Window, column: Column) -> dict[str, Number]:
    """Metrics of one column: increments of a counter, or statistics of a gauge's samples."""
    scale = scale_of(column.unit)
    if column.kind == "counter":
        grown = window.count(column.entity, column.quantity)
        return {column.metric: grown if scale == 1 else grown * scale}
    values = window.known(column.entity, column.quantity)
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
