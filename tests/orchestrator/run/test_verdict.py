"""Expectations against metrics: bounds, units, absent values, phases; the machine's veto."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.verdict import check, verdict, without_machine
from tests.orchestrator.worlds import MS, line_of_three

VALID = {"verdict": "valid"}


def plan_expecting(*expect: dict[str, Any]) -> Plan:
    phases = {"late": {"from": MS, "to": 2 * MS}}
    return Plan(**line_of_three(expect=list(expect), phases=phases))


def rows(metrics: dict[str, Any], *expect: dict[str, Any]) -> list[dict[str, Any]]:
    return check(plan_expecting(*expect), metrics, bare=False)


def queue(**bounds: Any) -> dict[str, Any]:
    return {"metric": "queue_bytes.mean", "of": "switch.sink", **bounds}


@pytest.mark.parametrize(
    ("value", "met"), [(29_999.9, False), (30_000, True), (38_000, True), (38_000.1, False)]
)
def test_bounds_belong_to_the_band_and_are_in_the_metrics_unit(value: float, met: bool) -> None:
    metrics = {"run": {"switch.sink": {"queue_bytes.mean": value}}}
    (row,) = rows(metrics, queue(min="30KB", max="38KB", source="text", note="as written"))
    assert row == {
        "metric": "queue_bytes.mean",
        "of": "switch.sink",
        "phase": "run",
        "min": 30_000.0,
        "max": 38_000.0,
        "value": value,
        "unit": "B",
        "met": met,
        "source": "text",
        "note": "as written",
    }


def test_times_and_ratios_are_si() -> None:
    metrics = {
        "run": {
            "switch.sink": {"recovery_s": 0.2, "utilization": 0.985},
            "gen": {"latency_s.p99": 1.5e-4},
        }
    }
    found = rows(
        metrics,
        {"metric": "recovery_s", "of": "switch.sink", "max": "350ms"},
        {"metric": "utilization", "of": "switch.sink", "min": 0.99},
        {"metric": "latency_s.p99", "of": "gen", "min": "100us", "max": "0.15ms"},
    )
    assert [row["met"] for row in found] == [True, False, True]
    assert found[0]["max"] == 0.35
    assert found[2]["min"] == pytest.approx(1e-4)


def test_each_is_judged_in_its_phase() -> None:
    metrics = {
        "run": {"switch.sink": {"queue_bytes.mean": 1.0}},
        "late": {"switch.sink": {"queue_bytes.mean": 5.0}},
    }
    found = rows(metrics, queue(max="2B"), queue(max="2B", phase="late"))
    assert [row["met"] for row in found] == [True, False]


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"run": {}},
        {"run": {"switch.sink": {}}},
        {"run": {"switch.sink": {"queue_bytes.mean": None}}},
    ],
)
def test_what_the_run_did_not_yield_is_not_met(metrics: dict[str, Any]) -> None:
    (row,) = rows(metrics, queue(max="1GB"))
    assert row["value"] is None
    assert row["met"] is False


def test_not_a_number_is_not_met() -> None:
    metrics = {"run": {"switch.sink": {"queue_bytes.mean": float("nan")}}}
    for bounds in ({"min": "0B"}, {"max": "1GB"}):
        assert rows(metrics, queue(**bounds))[0]["met"] is False


@pytest.mark.parametrize(
    ("met", "fidelity", "expected"),
    [
        ([True, True], "valid", "met"),
        ([True, False], "valid", "missed"),
        ([], "valid", "unjudged"),
        ([], "degraded", "unjudged"),
        ([], "invalid", "invalid"),
        ([True], "degraded", "met"),
        ([False], "degraded", "missed"),
        ([True], "invalid", "invalid"),
        ([False], "invalid", "invalid"),
    ],
)
def test_verdict(met: list[bool], fidelity: str, expected: str) -> None:
    assert verdict([{"met": m} for m in met], {"verdict": fidelity}) == expected


@pytest.mark.parametrize(("other", "met"), [(10.0, True), (4.0, False), (0.0, False)])
def test_a_ratio_of_two_entities(other: float, met: bool) -> None:
    plan = plan_expecting(
        {"metric": "throughput_bps", "of": "gen", "relative_to": "traffic", "min": 0.5, "max": 1.0}
    )
    row = check(
        plan,
        {"run": {"gen": {"throughput_bps": 6.0}, "traffic": {"throughput_bps": other}}},
        bare=True,
    )[0]
    assert row["met"] is met
    assert (row["of"], row["unit"]) == ("gen / traffic", "ratio")
    assert row["value"] == (6.0 / other if other else None)


@pytest.mark.parametrize(
    ("part", "whole", "value", "met"),
    [(0, 0, None, False), (1, 0, None, False), (0, 4, 0.0, True), (5, 4, 1.25, False)],
)
def test_a_ratio_to_nothing_has_no_value(
    part: float, whole: float, value: float | None, met: bool
) -> None:
    metrics = {
        "run": {"gen": {"throughput_bps": part}, "traffic": {"throughput_bps": whole}},
    }
    (row,) = rows(
        metrics, {"metric": "throughput_bps", "of": "gen", "relative_to": "traffic", "max": 1}
    )
    assert (row["value"], row["met"]) == (value, met)


RATIO = {"metric": "throughput_bps", "of": "gen", "relative_to": "traffic", "min": 0.1}
SHARED = {"run": {"gen": {"throughput_bps": 2e8}, "traffic": {"throughput_bps": 8e8}}}


def bar(bars: dict[str, Any], metrics: dict[str, Any], expect: dict[str, Any]) -> float:
    """The error bar that stands beside an expectation."""
    (row,) = check(plan_expecting(expect), metrics, bars, bare=False)
    return float(row["uncertainty"])


@pytest.mark.parametrize(
    ("off", "share"),
    [
        ({"gen": 2e6, "traffic": 4e6}, 0.01 + 0.005),
        ({"gen": 2e6}, 0.01),  # what has no bar of its own is off by nothing
        ({"traffic": 4e6}, 0.005),
        ({}, 0.0),
    ],
)
def test_a_ratio_is_off_by_both_its_parts(off: dict[str, float], share: float) -> None:
    bars = {"run": {entity: {"throughput_bps": by} for entity, by in off.items()}}
    assert bar(bars, SHARED, RATIO) == pytest.approx(0.25 * share)


@pytest.mark.parametrize(
    ("part", "divisor", "off_part", "off_divisor", "expected"),
    [
        (0.0, 4.0, 1.0, 0.0, 0.25),
        (0.0, 4.0, 1.0, 2.0, 0.25),
        (0.0, 4.0, 50.0, 50.0, None),  # the divisor may be 0
        (1.0, 4.0, 50.0, 4.0, None),
        (1.0, 4.0, 0.0, 1.0, 0.0625),
        (-1.0, 4.0, 0.5, 1.0, 0.125 + 0.0625),
    ],
)
def test_the_bar_of_a_ratio_by_propagation(
    part: float, divisor: float, off_part: float, off_divisor: float, expected: float | None
) -> None:
    metrics = {"run": {"gen": {"throughput_bps": part}, "traffic": {"throughput_bps": divisor}}}
    bars = {
        "run": {"gen": {"throughput_bps": off_part}, "traffic": {"throughput_bps": off_divisor}}
    }
    expect = {"metric": "throughput_bps", "of": "gen", "relative_to": "traffic", "max": 0.3}
    (row,) = check(plan_expecting(expect), metrics, bars, bare=False)
    assert row["uncertainty"] == (None if expected is None else pytest.approx(expected))
    assert row["uncertain"] is (expected is None or abs(part / divisor - 0.3) < expected)
    assert row["met"] is not row["uncertain"]


@pytest.mark.parametrize("without", ["gen", "traffic"])
def test_a_ratio_with_an_operand_that_has_no_bar_is_not_judged(without: str) -> None:
    bars = {"run": {without: {"throughput_bps": None}}}
    (row,) = check(plan_expecting(RATIO), SHARED, bars, bare=False)
    assert (row["met"], row["no_bar"], row["uncertain"]) == (False, True, False)
    assert verdict([row], VALID) == "unjudged"
    assert verdict([row, {"met": False}], VALID) == "missed"


@pytest.mark.parametrize("met", [[True], [False], [True, False], []])
def test_a_stopped_run_is_stopped_unless_it_is_invalid(met: list[bool]) -> None:
    found = [{"met": m} for m in met]
    assert verdict(found, VALID, stopped=True) == "stopped"
    assert verdict(found, {"verdict": "invalid"}, stopped=True) == "invalid"


def test_what_has_no_bar_and_what_was_not_measured_is_off_by_nothing() -> None:
    assert bar({}, {"run": {"switch.sink": {"queue_bytes.mean": 5}}}, queue(max="1KB")) == 0.0
    bars = {"run": {"switch.sink": {"queue_bytes.mean": 70.0}}}
    assert bar(bars, {}, queue(max="1KB")) == 0.0


def test_a_run_without_a_machine_is_valid_unless_frames_vanished() -> None:
    assert (without_machine(0)["verdict"], without_machine(0)["reasons"]) == ("valid", [])
    told = without_machine(3)
    assert told["verdict"] == "invalid"
    assert told["reasons"] == [
        "invalid: 3 frames found no descriptor; this is a bug, please report it"
    ]


@pytest.mark.parametrize("entity", ["gen", "traffic"])
def test_the_ratio_of_an_entity_to_itself_is_refused(entity: str) -> None:
    expect = {"metric": "throughput_bps", "of": entity, "relative_to": entity, "min": 0.99}
    with pytest.raises(BadInput) as error:
        plan_expecting(expect).check(Registry.load())
    (problem,) = error.value.problems
    assert (problem.where, problem.value) == ("expect[0].relative_to", entity)
    assert "another entity is expected" in problem.accepted
