"""Which seeds are meant, and what several rows of one expectation come to."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.seed_statistics import judge_seeds, read_seeds
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from tests.orchestrator.worlds import line_of_three

SUBJECT = Experiment("made", "simulated", {}, "0")
VALID = {"verdict": "valid", "reasons": []}


def plan(*expect: dict[str, Any], **changes: Any) -> Plan:
    return Plan(**line_of_three(expect=list(expect), **changes))


def within(low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"metric": "utilization", "of": "switch.sink", "min": low, "max": high, **more}


def found(*values: float | None, fidelity: dict[str, Any] = VALID) -> list[MeasuredPoint]:
    return [
        MeasuredPoint(
            Point(SUBJECT, seed),
            {
                "metrics": {"run": {"switch.sink": {"utilization": value}}},
                "fidelity": fidelity,
                "notes": [],
            },
            False,
        )
        for seed, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("1", [1]),
        ("4", [1, 2, 3, 4]),
        ("3,5,8..10", [3, 5, 8, 9, 10]),
        ("7..7", [7]),
        ("0,2", [0, 2]),
        ("plan", [1, 2, 3]),
    ],
)
def test_seeds_that_are_meant(text: str, seeds: list[int]) -> None:
    assert read_seeds(text, plan(seeds=3)) == seeds


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "x", "3,", "5..3", "1,1", "1..20000", "3,x", "99999", "1.5", "plan"]
)
def test_other_texts_are_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="seeds"):
        read_seeds(text, plan())


def test_the_spread_of_the_values() -> None:
    result = judge_seeds(plan(within(0, 1)), found(0.1, 0.2, 0.6))
    (row,) = result["expectations"]
    assert (row["mean"], row["median"], row["least"], row["most"]) == (
        pytest.approx(0.3),
        *(0.2, 0.1, 0.6),
    )
    assert row["sd"] == pytest.approx(0.07**0.5)
    assert (row["met_in"], row["count"], row["values"]) == (3, 3, [0.1, 0.2, 0.6])
    assert result["verdict"] == "met"


@pytest.mark.parametrize(
    ("of_seeds", "values", "met"),
    [
        (None, (0.5, 0.5, 0.5), True),
        (None, (0.5, 0.5, 0.9), False),
        ("median", (0.5, 0.5, 0.9), True),
        ("median", (0.5, 0.9, 0.9), False),
        ("median", (0.5, 0.5, None), False),
        ("2/3", (0.5, 0.5, 0.9), True),
        ("2/3", (0.5, 0.9, None), False),
        ("18/20", (0.5,) * 9 + (0.9,), True),
        ("18/20", (0.5,) * 8 + (0.9, 0.9), False),
        ("1/1", (0.5, 0.5), True),
    ],
)
def test_what_is_judged(of_seeds: str | None, values: tuple[float, ...], met: bool) -> None:
    asked = {} if of_seeds is None else {"of_seeds": of_seeds}
    result = judge_seeds(plan(within(0.4, 0.6, **asked)), found(*values))
    assert result["expectations"][0]["met"] is met
    assert result["verdict"] == ("met" if met else "missed")


def test_one_invalid_seed_makes_all_invalid() -> None:
    broken = {"verdict": "invalid", "reasons": ["invalid: made"]}
    runs = [*found(0.5), *found(0.5, fidelity=broken)]
    assert judge_seeds(plan(within(0, 1)), runs)["verdict"] == "invalid"


def test_error_bars_leave_it_open() -> None:
    (one,) = found(0.5)
    one.row["uncertainties"] = {"run": {"switch.sink": {"utilization": 0.2}}}
    for asked in ({}, {"of_seeds": "median"}, {"of_seeds": "1/2"}):
        result = judge_seeds(plan(within(0.4, 0.9, **asked)), [one])
        assert result["verdict"] == "uncertain"


@pytest.mark.parametrize(
    ("bars", "verdict"),
    [((0.0, 0.0, 0.3), "met"), ((0.0, 0.3, 0.3), "uncertain"), ((0.3, 0.0, 0.0), "met")],
)
def test_a_median_has_the_median_of_the_error_bars(bars: tuple[float, ...], verdict: str) -> None:
    runs = found(0.5, 0.5, 0.5)
    for one, bar in zip(runs, bars, strict=True):
        one.row["uncertainties"] = {"run": {"switch.sink": {"utilization": bar}}}
    result = judge_seeds(plan(within(0.4, 0.6, of_seeds="median")), runs)
    assert result["verdict"] == verdict
    assert result["expectations"][0]["uncertainty"] == max(bars)


@pytest.mark.parametrize("text", ["mean", "0/3", "4/3", "3", "3/0", ""])
def test_of_seeds_is_a_median_or_a_share(text: str) -> None:
    with pytest.raises(BadInput, match=r"expect\[0\].of_seeds.*'median', or a share"):
        plan(within(0, 1, of_seeds=text))


def test_one_run_does_not_judge_it() -> None:
    rows, verdict = found(0.9)[0].judged_by(plan(within(0, 0.5, of_seeds="median")))
    assert (rows[0]["met"], rows[0]["of_seeds"], verdict) == (False, "median", "unjudged")
    both = plan(within(0, 0.5, of_seeds="median"), within(0.8, 1))
    assert found(0.9)[0].judged_by(both)[1] == "met"


def test_one_seed_with_an_incomplete_scheme_makes_all_missed() -> None:
    points = found(0.9, 0.9, 0.9)
    assert judge_seeds(plan(within(0.5, 1)), points)["verdict"] == "met"
    points[1].row["incomplete"] = ["its scheme lacks a part"]
    judged = judge_seeds(plan(within(0.5, 1)), points)
    assert judged["verdict"] == "missed"
    assert [seed["verdict"] for seed in judged["seeds"]] == ["met", "missed", "met"]
    assert judge_seeds(plan(), points)["verdict"] == "unjudged"
