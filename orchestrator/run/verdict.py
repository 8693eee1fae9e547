"""Verdict of a run: each expectation is checked against the metric that it names."""

from __future__ import annotations

import math
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
INVALID, STOPPED = "invalid", "stopped"
INCOMPLETE = "the scheme lacks a part, so its expectations are not met"
"""Beginning of the sentence on such a scheme, in notes and in the report."""


def check(
    plan: Plan, metrics: Metrics, bars: Metrics | None = None, *, bare: bool
) -> list[dict[str, Any]]:
    """One row per expectation: bounds and value in the metric's unit, and whether it is met.

    A metric that the run did not yield (`value` null) is not met, and neither is one that has a
    bound within its error bar: that one is `uncertain`. One with `of_seeds` is not judged from one
    seed: neither met nor missed. `bars` are laid out as the metrics are, with null for a metric
    that has no error bar: its row is not judged (`no_bar`). None where no machine was measured.
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
        off = 0.0 if bars is None or value is None else _bar(expect, metrics, bars)
        uncertain = value is not None and off is not None and is_uncertain(value, off, low, high)
        uncertain = uncertain and expect.of_seeds is None
        known: dict[str, Any] = {}
        if bars is not None:
            bounded = off is not None and math.isfinite(off)  # JSON has no infinity
            known = {"uncertainty": off if bounded else None, "uncertain": uncertain}
            known |= {"no_bar": True} if off is None else {}
        rows.append(
            {
                "metric": expect.metric,
                "of": f"{expect.of} / {expect.relative_to}" if expect.relative_to else expect.of,
                "phase": expect.phase,
                "min": low,
                "max": high,
                "value": value,
                "unit": unit.symbol,
                "met": within and not uncertain and off is not None and expect.of_seeds is None,
                **({} if expect.of_seeds is None else {"of_seeds": expect.of_seeds}),
                **known,
                "source": expect.source,
                "note": expect.note,
            }
        )
    return rows


def _bar(expect: Expect, metrics: Metrics, bars: Metrics) -> float | None:
    """Uncertainty of a value; None where its metric has no error bar.

    Of a ratio a / b with bars da and db, the first-order propagation (GUM 5.1, worst case)
    da / |b| + |a / b| db / |b|. Infinite where b may be 0.
    """
    off = _value(bars, expect.phase, expect.of, expect.metric, 0.0)
    if expect.relative_to is None or off is None:
        return off
    off_divisor = _value(bars, expect.phase, expect.relative_to, expect.metric, 0.0)
    if off_divisor is None:
        return None
    part = _value(metrics, expect.phase, expect.of, expect.metric) or 0.0
    divisor = abs(_value(metrics, expect.phase, expect.relative_to, expect.metric) or 0.0)
    if off_divisor >= divisor:
        return math.inf
    return (off + abs(part) / divisor * off_divisor) / divisor


def _ratio(value: float | None, divisor: float | None) -> float | None:
    """Ratio of two metrics; None where one is absent or the divisor is 0."""
    return value / divisor if value is not None and divisor else None


def _value(
    metrics: Metrics, phase: str, entity: str, metric: str, absent: float | None = None
) -> float | None:
    """Value of a metric; `absent` where the run did not yield it."""
    value: float | None = metrics.get(phase, {}).get(entity, {}).get(metric, absent)
    return value


def verdict(
    rows: list[dict[str, Any]],
    fidelity: dict[str, Any],
    incomplete: Sequence[str] = (),
    *,
    stopped: bool = False,
) -> str:
    """Verdict: met; missed; uncertain where the machine leaves it open and nothing was missed for
    certain; unjudged where nothing is expected of one seed, or of metrics with an error bar;
    stopped before its end by a user; invalid: the machine distorted it.

    With a scheme that is `incomplete` nothing is met: its values are those of another scheme."""
    if fidelity["verdict"] == INVALID:
        return INVALID
    if stopped:
        return STOPPED
    rows = [row for row in rows if "of_seeds" not in row and "no_bar" not in row]
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
