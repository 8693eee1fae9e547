"""Verdict of a run: each expectation is checked against the metric that it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.plan import Plan
from orchestrator.plan.expectation_checks import unit_of
from orchestrator.plan.metric_registry import bound
from orchestrator.plan.timeline_tables import Expect
from orchestrator.run.metric_uncertainty import is_uncertain

Metrics = dict[str, Any]
"""Phase -> entity -> metric -> value."""

MET, MISSED, UNCERTAIN, UNJUDGED = "met", "missed", "uncertain", "unjudged"
INVALID = "invalid"
INCOMPLETE = "the scheme lacks a part, so its expectations are not met"
"""Beginning of the sentence on such a scheme, in notes and in the report."""


def check(
    plan: Plan, metrics: Metrics, bars: Metrics | None = None, *, bare: bool
) -> list[dict[str, Any]]:
    """One row per expectation: bounds and value in the metric's unit, and whether it is met.

    A metric that the run did not yield (`value` null) is not met, and neither is one that has a
    bound within its error bar: that one is `uncertain`. One with `of_seeds` is not judged from one
    seed: neither met nor missed. `bars` are laid out as the metrics are; None where no machine was
    measured.
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
            value = _ratio(value, whole)
        within = (
            value is not None and (low is None or value >= low) and (high is None or value <= high)
        )
        off = 0.0 if bars is None or value is None else _bar(expect, metrics, bars, value)
        uncertain = value is not None and is_uncertain(value, off, low, high)
        uncertain = uncertain and expect.of_seeds is None
        known = {} if bars is None else {"uncertainty": off, "uncertain": uncertain}
        rows.append(
            {
                "metric": expect.metric,
                "of": f"{expect.of} / {expect.relative_to}" if expect.relative_to else expect.of,
                "phase": expect.phase,
                "min": low,
                "max": high,
                "value": value,
                "unit": unit.symbol,
                "met": within and not uncertain and expect.of_seeds is None,
                **({} if expect.of_seeds is None else {"of_seeds": expect.of_seeds}),
                **known,
                "source": expect.source,
                "note": expect.note,
            }
        )
    return rows


def _bar(expect: Expect, metrics: Metrics, bars: Metrics, value: float) -> float:
    """Uncertainty of a value; of a ratio, the sum of the relative uncertainties of its operands."""
    off = _value(bars, expect.phase, expect.of, expect.metric) or 0.0
    if expect.relative_to is None:
        return off
    share = 0.0
    for entity in (expect.of, expect.relative_to):
        part = _value(metrics, expect.phase, entity, expect.metric)
        if part:
            share += (_value(bars, expect.phase, entity, expect.metric) or 0.0) / abs(part)
    return abs(value) * share


def _ratio(value: float | None, whole: float | None) -> float | None:
    """Ratio of two metrics; 1 if both are 0. None where one is absent, or only the divisor is 0."""
    if value == 0 and whole == 0:
        return 1.0
    return value / whole if value is not None and whole else None


def _value(metrics: Metrics, phase: str, entity: str, metric: str) -> float | None:
    """Value of a metric; None where the run did not yield it."""
    value: float | None = metrics.get(phase, {}).get(entity, {}).get(metric)
    return value


def verdict(
    rows: list[dict[str, Any]], fidelity: dict[str, Any], incomplete: Sequence[str] = ()
) -> str:
    """Verdict: met; missed; uncertain where the machine leaves it open and nothing was missed for
    certain; unjudged where nothing is expected of one seed; invalid: the machine distorted it.

    With a scheme that is `incomplete` nothing is met: its values are those of another scheme."""
    if fidelity["verdict"] == INVALID:
        return INVALID
    rows = [row for row in rows if "of_seeds" not in row]
    if not rows:
        return UNJUDGED
    if incomplete:
        return MISSED
    if all(row["met"] for row in rows):
        return MET
    return UNCERTAIN if all(row["met"] or row.get("uncertain") for row in rows) else MISSED


def without_machine(vanished: int) -> dict[str, Any]:
    """Fidelity of a simulated run: valid, unless frames vanished."""
    reason = f"invalid: {vanished} frames found no descriptor; this is a bug, please report it"
    return {
        "verdict": INVALID if vanished else "valid",
        "reasons": [reason] if vanished else [],
        "note": "simulated: no machine is in the path",
    }
