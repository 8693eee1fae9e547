"""What algorithms show of themselves can be expected and drawn, and nothing else of them can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.algorithm import congestion_point
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.observables import Observed, scale_of, unit_of
from orchestrator.registry import Registry
from tests.orchestrator.worlds import Empty, line_of_three


def plan(metric: str, of: str = "switch.sink", **more: Any) -> Plan:
    table = line_of_three(expect=[{"metric": metric, "of": of, "max": "1s"} | more])
    table["nodes"]["switch"] = {"kind": "switch", "congestion_point": {"plugin": "codel"}}
    return Plan(**table)


def problem(metric: str, of: str = "switch.sink", **more: Any) -> str:
    with pytest.raises(BadInput) as caught:
        plan(metric, of, **more).check(Registry.load())
    (found,) = caught.value.problems
    return str(found)


def test_a_metric_that_a_plugin_brings_can_be_expected_in_its_unit() -> None:
    resolved = plan("codel.sojourn_s.mean", max="5ms").check(Registry.load())
    assert resolved.plan.to_table()["expect"][0]["max"] == "5ms"
    assert plan("codel.count.mean", max=3).check(Registry.load())


def test_what_it_does_not_bring_is_refused_with_what_it_does() -> None:
    said = problem("codel.sojurn_s.mean")
    assert said.startswith("expect[0].metric: 'codel.sojurn_s.mean' is not accepted")
    assert "codel has no such metric; did you mean codel.sojourn_s.mean" in said
    assert "codel has no such metric" in problem("codel.sojourn_s")


def test_a_place_without_the_plugin_has_no_metric_of_it() -> None:
    assert "switch.nic" in problem("codel.sojourn_s.mean", "sink")
    assert "there is no such metric" in problem("pie.delay_s.mean")
    assert "there is no such metric" in problem("frames.droped")
    assert "there is no such metric" in problem("pause.tme_s")


def test_its_bound_needs_its_unit() -> None:
    assert "expect[0].max" in problem("codel.sojourn_s.mean", max="5KB")
    assert "a number without unit is expected" in problem("codel.count.mean", max="5ms")


def test_it_can_be_drawn_over_time_and_its_statistics_at_places() -> None:
    def figured(**figure: Any) -> Plan:
        made = plan("codel.count.mean", max=3).to_table()
        return Plan(**made, figure=[{"title": "x", "of": ["switch.sink"]} | figure])

    registry = Registry.load()
    figured(y="codel.sojourn_s").check(registry)
    figured(y="codel.sojourn_s.mean", x="of", kind="bars").check(registry)
    with pytest.raises(BadInput, match="codel has no such metric"):
        figured(y="codel.sojourn_s.mean").check(registry)
    with pytest.raises(BadInput, match="entity"):
        figured(y="codel.sojourn_s", of=["sink"]).check(registry)


@pytest.mark.parametrize(
    ("unit", "scale", "metric"),
    [
        ("ps", 1e-12, "x.wait_s"),
        ("B", 1.0, "x.wait_bytes"),
        ("bit/s", 1.0, "x.wait_bps"),
        ("1", 1.0, "x.wait"),
        ("2^-20", 2.0**-20, "x.wait"),
        ("10^-12", 1e-12, "x.wait"),
    ],
)
def test_the_unit_of_the_samples_names_and_scales_the_metric(
    unit: str, scale: float, metric: str
) -> None:
    assert Observed("wait", unit, "a wait").metric("x") == metric
    assert scale_of(unit) == pytest.approx(scale)


def test_units_are_read_from_names() -> None:
    names = ["x.wait_s.mean", "x.wait_bytes.p99", "x.wait_bps.max", "x.wait.mean", "x.wait"]
    assert [unit_of(name).symbol for name in names] == ["s", "B", "bit/s", "1", "1"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([("nothing", "1")], "column nothing is no field of its state"),
        ([("many", "1")], "column many is an array"),
        ([("wait", "ms")], "unit 'ms' is none of ps, B, bit/s, 1, 2\\^-N, 10\\^-N"),
        ([("wait_s", "ps")], "its unit is not part of the name"),
    ],
)
def test_a_column_that_could_not_be_sampled_is_refused(
    columns: list[tuple[str, str]], words: str
) -> None:
    state = np.dtype([("wait", np.int64), ("wait_s", np.int64), ("many", np.int64, (3,))])
    with pytest.raises(ValueError, match=words):
        congestion_point(
            "x",
            "x",
            Empty,
            state,
            columns=tuple(Observed(name, unit, "x") for name, unit in columns),
        )


def test_a_state_for_every_flow_has_no_columns() -> None:
    state = np.dtype([("wait", np.int64)])
    columns = (Observed("wait", "ps", "x"),)
    with pytest.raises(ValueError, match="a state for every flow has no columns"):
        congestion_point("x", "x", Empty, state, per_flow=True, columns=columns)
