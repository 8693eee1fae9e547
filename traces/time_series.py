"""Time series for figures: windows of counters, decimation that keeps peaks."""

from __future__ import annotations

import numpy as np

from traces.metrics.sample_table import PS, Table

POINTS = 1200
"""Buckets that a long series is cut down to: more than a figure has pixels across."""


def envelope(
    times: np.ndarray, values: np.ndarray, buckets: int = POINTS
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest sample of each bucket, in order of time.

    A series of up to `2 * buckets` samples is returned as it is.
    """
    if len(values) <= 2 * buckets:
        return times, values
    starts = np.arange(buckets + 1) * len(values) // buckets
    picked = np.empty((buckets, 2), np.int64)
    width = int(np.diff(starts).max())
    # buckets differ by one sample at most: repeat the last index instead of looping over them
    index = np.minimum(starts[:-1, None] + np.arange(width), starts[1:, None] - 1)
    rows = values[index]
    picked[:, 0] = index[np.arange(buckets), rows.argmin(axis=1)]
    picked[:, 1] = index[np.arange(buckets), rows.argmax(axis=1)]
    order = np.sort(picked, axis=1).reshape(-1)
    return times[order], values[order]


def window_rows(table: Table, width_ps: int) -> np.ndarray:
    """Rows that cut the samples into windows of about `width_ps`, whole sampling intervals each."""
    grid = np.flatnonzero(table.on_grid)
    if len(grid) < 3:
        return grid
    interval = max(int(np.median(np.diff(table.times_ps[grid]))), 1)
    return grid[:: max(round(width_ps / interval), 1)]


def rate_bps(
    table: Table, entity: str, quantity: str, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(end of each window in s, bit/s within it) of a counter of bytes."""
    times = table.times_ps[rows]
    sent = np.diff(table.column(entity, quantity)[rows]) * 8.0
    return times[1:] / PS, sent / (np.diff(times) / PS)


def utilization(
    table: Table, entity: str, rows: np.ndarray, rate: str = "service_rate"
) -> tuple[np.ndarray, np.ndarray]:
    """(end of each window in s, share of what could have been served); 0 where nothing could."""
    steps = np.diff(table.times_ps).astype(float) / PS
    could = np.concatenate([[0.0], np.cumsum(table.column(entity, rate)[:-1] * steps)])
    sent = np.diff(table.column(entity, "bytes_out")[rows]) * 8.0
    served = np.diff(could[rows])
    share = np.divide(sent, served, out=np.zeros_like(sent), where=served > 0)
    return table.times_ps[rows][1:] / PS, share
