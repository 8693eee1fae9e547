"""Schema of `result.json`, checked on reading."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from orchestrator.plan.former_names import METRICS

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
    """Measurement uncertainty of the value by the machine; None where none was measured."""
    of_seeds: str | None = None
    """Condition over several seeds; one seed alone judges nothing then."""
    source: str | None = None
    note: str | None = None

    @property
    def judgement(self) -> str:
        """Judgement in a word: met, missed, uncertain; or unjudged by one seed."""
        if self.of_seeds is not None:
            return "unjudged"
        return "met" if self.met else "uncertain" if self.uncertain else "missed"


class Result(BaseModel):
    """Result of a run."""

    model_config = ConfigDict(extra="allow")

    tailback: int
    plan: str
    target: str
    seed: int
    verdict: Literal["met", "missed", "uncertain", "unjudged", "invalid"]
    metrics: dict[str, dict[str, dict[str, Number]]]
    uncertainties: dict[str, dict[str, dict[str, Number]]] = {}
    """Measurement uncertainty of the metrics by the machine; laid out as the metrics are."""
    units: dict[str, str]
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
