"""Prediction intervals of another run, from those of several seeds.

For n normally distributed values, another one lies within mean ± t s sqrt(1 + 1/n) with 95 %: s is
their standard deviation, t the quantile of Student's distribution with n - 1 degrees of freedom.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from orchestrator.plan import Plan
from orchestrator.points.carry import Found
from orchestrator.points.columns import Flat, called, wanted_by

SHARE = 0.95
FEWEST = 3
"""Least number of seeds for an interval."""


def interval(values: Sequence[float]) -> dict[str, float] | None:
    """Mean and prediction interval of another value; None with too few values."""
    if len(values) < FEWEST:
        return None
    from scipy.stats import t

    mean, sd, count = statistics.fmean(values), statistics.stdev(values), len(values)
    wide = float(t.ppf(0.5 + SHARE / 2, count - 1)) * sd * math.sqrt(1 + 1 / count)
    return {"mean": mean, "low": mean - wide, "high": mean + wide, "seeds": count}


def predicted(plan: Plan, found: Sequence[Found]) -> dict[str, dict[str, float]]:
    """Prediction intervals of the metrics that all seeds yield, by column of the seed table."""
    flat = Flat(wanted_by([], plan, "--metric"))
    rows = [flat.of(one.row) for one in found]
    told: dict[str, dict[str, float]] = {}
    for column in flat.units:
        values = [row.get(column) for row in rows]
        known = [float(value) for value in values if value is not None]
        if len(known) == len(rows) and (within := interval(known)) is not None:
            told[column] = within
    return told


def of_row(told: dict[str, dict[str, float]], row: dict[str, Any]) -> dict[str, float] | None:
    """Prediction interval of an expectation's metric."""
    return told.get(called(row["metric"], row["of"], row["phase"]))
