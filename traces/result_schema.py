"""Schema of `result.json`, checked on reading."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, field_validator

from orchestrator.plan.former_names import METRICS

MARKING_COLUMNS = ("low_bytes", "high_bytes", "frames", "ect", "marked")
Number = int | float | None


class Expectation(BaseModel):
    """One expectation of the plan and what the run made of it; bounds in the metric's unit."""

    model_config = ConfigDict(extra="allow")

    metric: str
    of: str
    phase: str
    min: Number = None
    max: Number = None
    value: Number = None
    unit: str = ""
    met: bool
    uncertain: bool = False
    """Its error bar holds a bound: neither met nor missed."""
    uncertainty: Number = None
    """Measurement uncertainty of the value by the machine; None where none was measured, or it is
    unbounded."""
    no_bar: bool = False
    """Its metric has no error bar, and a run on real frames does not judge it."""
    of_seeds: str | None = None
    """Condition over several seeds; one seed alone judges nothing then."""
    source: str | None = None
    note: str | None = None

    @property
    def judgement(self) -> str:
        """Judgement in a word: met, missed, uncertain; or unjudged by one seed, or for want of an
        error bar."""
        if self.of_seeds is not None or self.no_bar:
            return "unjudged"
        return "met" if self.met else "uncertain" if self.uncertain else "missed"


class Marking(BaseModel):
    """Marking of one queue over its length, of the whole run: see
    `orchestrator.run.marking_result`."""

    columns: list[str]
    rows: list[list[int]]
    curve: list[tuple[float, float]] | None = None

    def columns_of(self) -> np.ndarray:
        """int64[rows, 5]: low_bytes, high_bytes, frames, ect, marked."""
        return np.array(self.rows, np.int64).reshape(-1, len(MARKING_COLUMNS))

    def total(self, column: str) -> int:
        """Sum of a column."""
        return int(self.columns_of()[:, MARKING_COLUMNS.index(column)].sum())

    @field_validator("columns")
    @classmethod
    def _check_columns(cls, columns: list[str]) -> list[str]:
        if columns != list(MARKING_COLUMNS):
            raise ValueError(f"{', '.join(MARKING_COLUMNS)} are expected")
        return columns

    @field_validator("rows")
    @classmethod
    def _check_rows(cls, rows: list[list[int]]) -> list[list[int]]:
        if any(len(row) != len(MARKING_COLUMNS) for row in rows):
            raise ValueError(f"{len(MARKING_COLUMNS)} numbers are expected in each row")
        return rows


class Result(BaseModel):
    """Result of a run."""

    model_config = ConfigDict(extra="allow")

    tailback: int
    plan: str
    target: str
    seed: int
    verdict: Literal["met", "missed", "uncertain", "unjudged", "stopped", "invalid"]
    stopped_s: Number = None
    """Time of the last sample of a run that a user stopped before its end (s); None for others."""
    metrics: dict[str, dict[str, dict[str, Number]]]
    uncertainties: dict[str, dict[str, dict[str, Number]]] = {}
    """Measurement uncertainty of the metrics by the machine; laid out as the metrics are."""
    units: dict[str, str]
    marking: dict[str, Marking] = {}
    """By queue: frames that its congestion point saw and marked, over the queue's length."""
    expectations: list[Expectation]
    fidelity: dict[str, Any]
    incomplete: list[str] = []
    """Schemes of congestion control that lack a part; with one no expectations are met."""
    performance: dict[str, Any] = {}


def with_current_metrics(result: dict[str, Any]) -> dict[str, Any]:
    """A result.json of any release with the current names of its metrics."""
    tables = ("metrics", "uncertainties", "units")
    made = result | {name: _renamed(result[name]) for name in tables if name in result}
    rows = result.get("expectations")
    if isinstance(rows, list):
        made["expectations"] = [
            row | {"metric": METRICS.get(row["metric"], row["metric"])}
            if isinstance(row, dict) and isinstance(row.get("metric"), str)
            else row
            for row in rows
        ]
    return made


def _renamed(table: Any) -> Any:
    """A table of tables, with current names of metrics as keys."""
    if not isinstance(table, dict):
        return table
    return {METRICS.get(name, name): _renamed(value) for name, value in table.items()}
