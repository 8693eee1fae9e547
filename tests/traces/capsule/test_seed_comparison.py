"""Means of seeds beside each other: against Student's t as SciPy reckons it, and at the edges."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from scipy import stats

from traces.capsule.seed_comparison import (
    LEVEL,
    as_single_seed_table,
    compare_spreads,
    same_expectation,
    within,
)

X = "latency_s.mean of gen in run"
QUEUE, USED = "queue_bytes.mean of s.d in run", "utilization of s.d in run"


def seeds(values: list[float], name: str = X) -> list[dict[str, float]]:
    return [{name: value} for value in values]


@pytest.mark.parametrize(("count", "others"), [(3, 3), (20, 5), (1, 4), (2, 1)])
def test_the_room_is_where_a_t_test_has_its_level(count: int, others: int) -> None:
    draw = random.Random(count)
    one = [draw.gauss(10, 1) for _ in range(count)]
    other = [draw.gauss(10, 2) for _ in range(others)]
    room = within(one, other, 0.99)
    assert room is not None
    moved = [value + room - (math.fsum(other) / others - math.fsum(one) / count) for value in other]
    error = math.sqrt(_pooled(one, other) * (1 / count + 1 / others))
    t = (math.fsum(moved) / others - math.fsum(one) / count) / error
    assert 2 * stats.t.sf(t, count + others - 2) == pytest.approx(0.01)
    if min(count, others) > 1:
        assert stats.ttest_ind(one, moved).pvalue == pytest.approx(0.01)


def _pooled(one: list[float], other: list[float]) -> float:
    squares = sum((v - sum(side) / len(side)) ** 2 for side in (one, other) for v in side)
    return squares / (len(one) + len(other) - 2)


def test_one_seed_on_both_sides_tells_nothing() -> None:
    assert within([1.0], [2.0], 0.99) is None
    count = compare_spreads(seeds([1.0]), seeds([2.0]), {})
    assert count.kinds["metric"] == {"hold": 0, "differ": 0, "not_judged": 1}


def test_what_seeds_spread_by_holds_and_more_differs() -> None:
    packed = [1.0, 1.1, 0.9, 1.05]
    held = compare_spreads(seeds(packed), seeds([1.1, 1.0, 1.2]), {X: "s"})
    assert held.all_hold
    assert held.held[0].within == pytest.approx(within(packed, [1.1, 1.0, 1.2], LEVEL))
    differs = compare_spreads(seeds(packed), seeds([1.6, 1.5, 1.7]), {X: "s"})
    assert [one.name for one in differs.differ] == [X]
    assert differs.differ[0].packed == pytest.approx(1.0125)
    assert differs.differ[0].here == pytest.approx(1.6)


def test_what_never_changes_has_to_be_the_same() -> None:
    assert compare_spreads(seeds([5.0] * 3), seeds([5.0] * 3), {}).all_hold
    assert not compare_spreads(seeds([5.0] * 3), seeds([5.000001] * 3), {}).all_hold


@pytest.mark.parametrize("one_first", [False, True])
def test_one_run_beside_seeds_that_all_have_one_value_is_not_judged(one_first: bool) -> None:
    """Amplitudes of whole frames: 3000 octets in the run, 1500 in each of three seeds."""
    sides = [[3000.0], [1500.0] * 3]
    packed, here = sides if one_first else sides[::-1]
    assert within(packed, here, 0.99) is None
    count = compare_spreads(seeds(packed), seeds(here), {X: "B"})
    assert count.kinds["metric"] == {"hold": 0, "differ": 0, "not_judged": 1}
    assert (
        compare_spreads(seeds([1500.0]), seeds([1500.0] * 3), {X: "B"}).kinds["metric"]["hold"] == 1
    )
    of_rule = compare_spreads(seeds([0.9], USED), seeds([0.5] * 3, USED), {})
    assert [one.name for one in of_rule.differ] == [USED], "what compare has a rule for is judged"


def test_all_figures_together_differ_by_chance_once_in_a_hundred() -> None:
    """200 numbers of 5 and 5 seeds of one distribution, 300 times: 3 are to be expected; more than
    11 would come once in ten thousand such tests, none once in twenty."""
    draw = random.Random(7)

    def side() -> list[dict[str, float]]:
        return [{f"m{n} of x in run": draw.gauss(0, 1) for n in range(200)} for _ in range(5)]

    failed = sum(not compare_spreads(side(), side(), {}).all_hold for _ in range(300))
    assert 1 <= failed <= 11


def test_ports_have_the_room_of_compare_as_well() -> None:
    quiet = {QUEUE: [30e3, 30e3 + 1], USED: [0.95, 0.95001]}
    near = {QUEUE: [32e3, 32e3 + 1], USED: [0.955, 0.95501]}
    far = {QUEUE: [34e3, 34e3 + 1], USED: [0.97, 0.97001]}
    for name in quiet:
        assert compare_spreads(seeds(quiet[name], name), seeds(near[name], name), {}).all_hold, name
        assert not compare_spreads(seeds(quiet[name], name), seeds(far[name], name), {}).all_hold, (
            name
        )
    one = compare_spreads(seeds([0.95], USED), seeds([0.97], USED), {})
    assert not one.all_hold, "by compare's rule it is judged with one seed too"


def test_a_number_that_only_one_side_has() -> None:
    gone = compare_spreads(seeds([1.0, 1.1]), [{}, {}], {})
    assert not gone.all_hold
    seldom = compare_spreads([{X: 1.0}, {}], [{}, {}], {})
    assert seldom.all_hold
    assert seldom.kinds["metric"]["not_judged"] == 1


def row(**more: Any) -> dict[str, Any]:
    return (
        {"min": 0.9, "max": None, "of_seeds": None, "met": True, "uncertain": False}
        | {
            "met_in": 3,
            "count": 3,
        }
        | more
    )


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (row(), True),
        (row(min=0.8), False),
        (row(of_seeds="median"), False),
        (row(met=False, met_in=0), False),
        (row(met=False, met_in=2), True),
        (row(met=False, met_in=0, uncertain=True), True),
    ],
)
def test_when_expectations_are_the_same(other: dict[str, Any], same: bool) -> None:
    assert same_expectation(row(), other) is same
    assert same_expectation(other, row()) is same


def test_a_run_stands_beside_seeds() -> None:
    from tests.orchestrator.batch.made import FULL, random_flow

    told = {"metric": "utilization", "of": "switch.sink", "phase": "run", "value": 0.5}
    result = {
        "verdict": "met",
        "units": {},
        "metrics": {"run": {"switch.sink": {"utilization": 0.5, "queue_bytes.mean": None}}},
        "expectations": [told | {"min": 0.4, "max": None, "met": True}],
    }
    made = as_single_seed_table(random_flow(expect=[FULL]), result)
    (one,) = made.result["expectations"]
    assert (one["met_in"], one["count"], one["mean"], one["of_seeds"]) == (1, 1, 0.5, None)
    assert made.tables["point"].to_pylist() == [{"utilization of switch.sink in run": 0.5}]
