"""Searches of made-up plans whose regions are known: by made-up results, and by runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.batch.batch_executor import MeasuredPoint, forecast, run_points
from orchestrator.batch.experiment import Point
from orchestrator.batch.parameter_axis import read_axes
from orchestrator.batch.result_store import Store
from orchestrator.batch.sample_design import parameter_points
from orchestrator.batch.statement_regions import RegionSearch
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from tests.orchestrator.batch.made import FULL
from tests.orchestrator.worlds import line_of_three

BUFFER, RATE = "nodes.switch.buffer", "links.down.rate"
BUSY = FULL | {"name": "busy", "min": 0.5}
CALM = {"metric": "queue_bytes.max", "of": "switch.sink", "max": "40KB", "name": "calm"}
Measure = Callable[[float, float, int], tuple[float, float]]


def line(*expect: dict[str, Any], **changes: Any) -> Plan:
    return Plan(**line_of_three(expect=list(expect) or [BUSY, CALM]) | changes)


def searched(plan: Plan, free: list[str], measure: Measure, *seeds: int) -> dict[str, Any]:
    """The result of a search whose points came to `measure(first number, second, seed)`."""
    axes = read_axes(free)
    search = RegionSearch.of(plan, axes, parameter_points(axes, 1000), seeds or [1])
    found = []
    for place in search.places:
        numbers = [value.number for value in place] + [0.0]
        for seed in search.seeds:
            busy, queue = measure(numbers[0], numbers[1], seed)
            values = {"utilization": busy, "queue_bytes.max": queue}
            row = {
                "metrics": {"run": {"switch.sink": values}},
                "fidelity": {"verdict": "valid", "reasons": []},
                "notes": [],
            }
            found.append(MeasuredPoint(Point(search.subjects[0], seed), row, False))
    return search.judge(found)


def band(low: float, high: float) -> Measure:
    """Busy from `low` on, calm up to `high`."""
    return lambda first, second, seed: (float(first >= low), 10e3 if first <= high else 90e3)


def test_the_region_is_where_all_hold() -> None:
    result = searched(line(), [f"{BUFFER}=10KB..90KB/9"], band(30e3, 60e3))
    (extent,) = result["all"]["parameters"]
    assert (extent["least"], extent["most"]) == ("30KB", "60KB")
    assert (extent["none_below"], extent["none_above"]) == ("20KB", "70KB")
    assert extent["values"] == ["30KB", "40KB", "50KB", "60KB"]
    assert (result["all"]["places"], result["all"]["of"]) == (4, 9)
    busy, calm = result["statements"]
    assert busy["region"]["parameters"][0]["none_below"] == "20KB"
    assert busy["region"]["parameters"][0]["none_above"] is None
    assert busy["never_at"] == {BUFFER: ["10KB", "20KB"]}
    assert [result["places"][at]["values"][BUFFER] for at in calm["excludes_alone"]] == [
        *("70KB", "80KB", "90KB")
    ]
    assert result["contradictions"] == []
    assert result["most"] == 2


def test_what_cannot_be_met_and_what_cannot_be_met_together() -> None:
    apart = searched(line(), [f"{BUFFER}=10KB..90KB/9"], band(60e3, 30e3))
    assert apart["all"]["places"] == 0
    assert apart["contradictions"] == [["busy", "calm"]]
    assert (apart["most"], len(apart["best"])) == (1, 7)
    never = searched(line(), [f"{BUFFER}=10KB..90KB/9"], band(1e9, 30e3))
    assert never["contradictions"] == [["busy"]]
    assert never["statements"][0]["region"]["places"] == 0
    assert never["statements"][0]["region"]["parameters"][0]["least"] is None


def test_a_region_that_is_no_box_says_so() -> None:
    def below_the_diagonal(first: float, second: float, seed: int) -> tuple[float, float]:
        return float(first / 10e3 >= second / 1e8), 0.0

    free = [f"{BUFFER}=10KB..50KB/5", f"{RATE}=100Mb/s..500Mb/s/5"]
    result = searched(line(), free, below_the_diagonal)
    assert (result["all"]["places"], result["all"]["box_places"]) == (15, 25)
    assert result["statements"][0]["never_at"] == {}


def test_gaps_are_told() -> None:
    result = searched(
        line(), [f"{BUFFER}=10KB..50KB/5"], lambda first, second, seed: (first != 30e3, 0.0)
    )
    (extent,) = result["all"]["parameters"]
    assert (extent["least"], extent["most"], extent["gaps"]) == ("10KB", "50KB", ["30KB"])
    assert result["all"]["box_places"] == 5


@pytest.mark.parametrize(("bad", "holds"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_statement_holds_with_more_than_half_of_the_seeds(bad: int, holds: bool) -> None:
    result = searched(
        line(), [f"{BUFFER}=10KB,20KB"], lambda first, second, seed: (seed > bad, 0.0), 1, 2, 3
    )
    assert result["places"][0]["holds"][0] is holds
    assert result["places"][0]["met_in"] == [3 - bad, 3]


def test_half_of_the_seeds_is_not_enough_and_of_seeds_asks_for_itself() -> None:
    measure: Measure = lambda first, second, seed: (seed > 1, 0.0)  # noqa: E731
    two = searched(line(), [f"{BUFFER}=10KB,20KB"], measure, 1, 2)
    assert two["places"][0]["holds"] == [False, True]
    asked = line(BUSY | {"of_seeds": "1/4"}, CALM)
    assert searched(asked, [f"{BUFFER}=10KB,20KB"], measure, 1, 2)["all"]["places"] == 2


def test_places_that_make_no_plan_are_told_and_left_out() -> None:
    result = searched(line(), ["traffic.gen.frame=10B,1KB,1500B"], band(0, 1e9))
    assert [one["values"] for one in result["refused"]] == [{"traffic.gen.frame": "10B"}]
    assert "traffic.gen.frame" in result["refused"][0]["reason"]
    assert (len(result["places"]), result["grid"]) == (2, False)


@pytest.mark.parametrize(
    ("plan", "free", "message"),
    [
        (line(), "nodes.swich.buffer=1KB,2KB", "swich"),
        (line(), f"{BUFFER}=1KB..2KB/5:log:int", None),
        (line(), "nodes.switch.service_rate=1B,2B", "rate"),
        (line(expect=[]), f"{BUFFER}=1KB,2KB", "nothing to hold"),
    ],
)
def test_bad_input_is_said_before_anything_runs(plan: Plan, free: str, message: str | None) -> None:
    axes = read_axes([free])
    if message is None:
        assert RegionSearch.of(plan, axes, parameter_points(axes, 9), [1]).refused == []
        return
    with pytest.raises(BadInput, match=message):
        RegionSearch.of(plan, axes, parameter_points(axes, 9), [1])


def test_by_runs_a_slower_switch_fills_its_queue(tmp_path: Any) -> None:
    """At half of the rate 2 ms leave 125 KB; the queue stays below 40 KB if it has no more room."""
    plan = line(BUSY, CALM | {"max": "40KB"})
    axes = read_axes([f"{BUFFER}=30KB,60KB", "nodes.switch.service_rate=500Mb/s,1Gb/s"])
    search = RegionSearch.of(plan, axes, parameter_points(axes, 9), [1])
    store = Store(tmp_path)
    assert "known once the first is run" in forecast(search.points(), store, 1)
    result = search.judge(run_points(search.points(), jobs=1, store=store))
    holds = {tuple(place["values"].values()): place["hold"] for place in result["places"]}
    assert holds == {
        ("30KB", "500Mb/s"): 2,
        ("30KB", "1Gb/s"): 2,
        ("60KB", "500Mb/s"): 1,
        ("60KB", "1Gb/s"): 2,
    }
    assert (result["all"]["places"], result["all"]["box_places"]) == (3, 4)
    assert "nothing has to be run" in forecast(search.points(), Store(tmp_path), 1)
    wider = read_axes([f"{BUFFER}=30KB,45KB,60KB", "nodes.switch.service_rate=500Mb/s,1Gb/s"])
    points = RegionSearch.of(plan, wider, parameter_points(wider, 9), [1]).points()
    assert "6 points, 4 of them from before, roughly" in forecast(points, Store(tmp_path), 1)
