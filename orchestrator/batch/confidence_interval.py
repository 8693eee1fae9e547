"""Mean of a few seeds, and the confidence interval of the mean over all seeds."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from typing import Any

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.metric_columns import ColumnTable, column_name, metric_filter
from orchestrator.plan import Plan

# Prediction intervals of another run, from those of several seeds.
#
# For n normally distributed values, another one lies within mean ± t s sqrt(1 + 1/n) with 95 %: s
# is
# their standard deviation, t the quantile of Student's distribution with n - 1 degrees of freedom.

SHARE = 0.95
FEWEST = 3
"""Least number of seeds for an interval."""


def prediction_interval(values: Sequence[float]) -> dict[str, float] | None:
    """Mean and prediction interval of another value; None with too few values."""
    if len(values) < FEWEST:
        return None
    from scipy.stats import t

    mean, sd, count = statistics.fmean(values), statistics.stdev(values), len(values)
    wide = float(t.ppf(0.5 + SHARE / 2, count - 1)) * sd * math.sqrt(1 + 1 / count)
    return {"mean": mean, "low": mean - wide, "high": mean + wide, "seeds": count}


def prediction_intervals(plan: Plan, found: Sequence[MeasuredPoint]) -> dict[str, dict[str, float]]:
    """Prediction intervals of the metrics that all seeds yield, by column of the seed table."""
    flat = ColumnTable(metric_filter([], plan, "--metric"))
    rows = [flat.of(one.row) for one in found]
    intervals: dict[str, dict[str, float]] = {}
    for column in flat.units:
        values = [row.get(column) for row in rows]
        known = [float(value) for value in values if value is not None]
        if len(known) == len(rows) and (within := prediction_interval(known)) is not None:
            intervals[column] = within
    return intervals


def interval_of_row(
    intervals: dict[str, dict[str, float]], row: dict[str, Any]
) -> dict[str, float] | None:
    """Prediction interval of an expectation's metric."""
    return intervals.get(column_name(row["metric"], row["of"], row["phase"]))


LEVEL = 0.95
LEAST = 3
"""Least number of seeds for an interval."""


def mean_and_half(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean, and half the width of its 95 % interval (Student's t); None without enough values.

    The interval assumes independent values of about normal distribution; one value has none.
    """
    count = len(values)
    if not count:
        return None, None
    mean = math.fsum(values) / count
    if count < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, quantile(count - 1) * math.sqrt(variance / count)


@functools.cache
def quantile(freedom: int) -> float:
    """97.5 % quantile of Student's t with so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
