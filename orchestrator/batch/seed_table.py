"""Table of the numbers of each seed: `points/part-00000.parquet`, a row for each seed.

Columns are named as those of a sweep, and selected as a sweep's are without `--metric`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.metric_columns import ColumnTable, metric_filter
from orchestrator.batch.parquet_dataset import Measured, write_points
from orchestrator.batch.seed_statistics import single
from orchestrator.plan import Plan


def write_seeds(folder: Path, plan: Plan, found: Sequence[MeasuredPoint]) -> dict[str, str]:
    """Write the table; returns its columns and their units."""
    alone, flat = single(plan), ColumnTable(metric_filter([], plan, "--metric"))
    for one in found:
        flat.of(one.row)

    def rows() -> Iterator[Measured]:
        for one in found:
            yield 0, one.point.seed, one.judged_by(alone)[1], flat.of(one.row)

    write_points(folder, [], [()], list(flat.units), rows())
    return flat.units
