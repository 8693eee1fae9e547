"""Did a run meet its expectations? Each is checked against the metric that it names."""

from __future__ import annotations

from typing import Any

from orchestrator.plan import Plan
from orchestrator.plan.judge import unit_of
from orchestrator.plan.metrics import bound

MET, MISSED, UNJUDGED, INVALID = "met", "missed", "unjudged", "invalid"


def check(plan: Plan, metrics: dict[str, Any], *, bare: bool) -> list[dict[str, Any]]:
    """One row per expectation: bounds and value in the metric's unit, and whether it is met.

    A metric that the run did not yield (`value` null) is not met.
    """
    rows = []
    for expect in plan.expect:
        unit = unit_of(expect.metric, expect.relative_to)
        low, high = (
            None if text is None else float(bound(text, unit, bare=bare))
            for text in (expect.min, expect.max)
        )
        value = _value(metrics, expect.phase, expect.of, expect.metric)
        if expect.relative_to is not None:
            whole = _value(metrics, expect.phase, expect.relative_to, expect.metric)
            value = value / whole if value is not None and whole else None
        met = (
            value is not None and (low is None or value >= low) and (high is None or value <= high)
        )
        rows.append(
            {
                "metric": expect.metric,
                "of": f"{expect.of} / {expect.relative_to}" if expect.relative_to else expect.of,
                "phase": expect.phase,
                "min": low,
                "max": high,
                "value": value,
                "unit": unit.symbol,
                "met": met,
                "source": expect.source,
                "note": expect.note,
            }
        )
    return rows


def _value(metrics: dict[str, Any], phase: str, entity: str, metric: str) -> float | None:
    """One metric; None where the run did not yield it."""
    value: float | None = metrics.get(phase, {}).get(entity, {}).get(metric)
    return value


def verdict(rows: list[dict[str, Any]], fidelity: dict[str, Any]) -> str:
    """met, missed, unjudged where nothing was expected, or invalid: the machine distorted it."""
    if fidelity["verdict"] == INVALID:
        return INVALID
    if not rows:
        return UNJUDGED
    return MET if all(row["met"] for row in rows) else MISSED


def without_machine(vanished: int) -> dict[str, Any]:
    """The fidelity of a run without a machine in its path: valid, unless frames vanished."""
    reason = f"invalid: {vanished} frames found no descriptor; this is a bug, please report it"
    return {
        "verdict": INVALID if vanished else "valid",
        "reasons": [reason] if vanished else [],
        "note": "simulated: no machine is in the path",
    }
