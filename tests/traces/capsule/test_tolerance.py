"""When figures count as the same: exactly, by the rule of `compare`, within a share."""

from __future__ import annotations

from typing import Any

import pytest

from traces.capsule.tolerance import Tolerance
from traces.capsule.value_comparison import compare_runs


def result(**changes: Any) -> dict[str, Any]:
    """A result with a port of a queue, a flow, and an expectation."""
    port = {"queue_bytes.mean": 30_000.0, "utilization": 0.95, "queue_bytes.sd": 100.0}
    row = {"metric": "utilization", "of": "s.d", "phase": "high", "min": 0.9, "max": None}
    return {
        "verdict": "met",
        "units": {"queue_bytes.mean": "B"},
        "metrics": {
            "high": {"s.d": port | changes.pop("port", {}), "flow": {"utilization": 0.1}},
            "run": {"s.d": port | changes.pop("run", {})},
        },
        "expectations": [row | {"value": 0.95, "met": True} | changes.pop("row", {})],
    } | changes


@pytest.mark.parametrize(
    ("changes", "exact", "compare", "relative"),
    [
        ({}, True, True, True),
        ({"port": {"queue_bytes.mean": 32_000.0}}, False, True, False),
        ({"port": {"queue_bytes.mean": 34_000.0}}, False, False, False),
        ({"port": {"utilization": 0.945}}, False, True, True),
        ({"port": {"utilization": 0.93}}, False, False, True),
        ({"port": {"queue_bytes.sd": 103.0}}, False, True, True),
        ({"port": {"queue_bytes.sd": 900.0}}, False, True, False),
        ({"port": {"utilization": None}}, False, False, False),
        ({"run": {"utilization": 0.5}}, False, True, False),
        ({"row": {"value": 0.94}}, False, True, True),
        ({"row": {"value": 0.89, "met": False}}, False, False, False),
        ({"row": {"value": 0.89, "met": False, "uncertain": True}}, False, True, False),
        ({"row": {"min": 0.8}}, False, False, False),
        ({"row": {"of": "s.e"}}, False, False, False),
        ({"verdict": "missed"}, False, False, False),
        ({"verdict": "uncertain"}, False, True, True),
        ({"expectations": []}, False, False, False),
        ({"metrics": {}}, False, False, False),
    ],
)
def test_what_holds_by_which_tolerance(
    changes: dict[str, Any], exact: bool, compare: bool, relative: bool
) -> None:
    packed = result()
    for kind, holds in (("exact", exact), ("compare", compare), ("relative", relative)):
        tolerance = Tolerance(kind, 0.05 if kind == "relative" else 0.0)  # type: ignore[arg-type]
        count = compare_runs(packed, result(**{k: _copy(v) for k, v in changes.items()}), tolerance)
        assert count.all_hold is holds, (kind, count.differ)


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def test_what_only_one_side_has_differs_on_both_sides() -> None:
    less = result()
    del less["metrics"]["high"]["s.d"]["queue_bytes.sd"]
    for pair in ((less, result()), (result(), less)):
        count = compare_runs(*pair, Tolerance("exact"))
        assert [one.name for one in count.differ] == ["queue_bytes.sd of s.d in high"]


def test_what_is_not_judged_is_counted() -> None:
    count = compare_runs(result(), result(), Tolerance("compare"))
    assert count.kinds["metric"] == {"hold": 2, "differ": 0, "not_judged": 5}


def test_a_target_has_its_tolerance_and_a_stated_one_counts_anywhere() -> None:
    assert Tolerance.of("simulated", None).kind == "exact"
    assert Tolerance.of("software", None).kind == "compare"
    assert Tolerance.of("simulated", 0.05) == Tolerance("relative", 0.05)
