"""The console's memory of a run, its plots' points, its window of time."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.console import change_detection, parameter_values
from orchestrator.console.live_expectations import judge_so_far
from orchestrator.console.plan_parameters import parameters
from orchestrator.console.run_data import RunData
from orchestrator.console.time_plot import nice, thin
from orchestrator.console.time_window import Window
from orchestrator.recording import Column
from tests.orchestrator.console.made import MS, data, resolved

COLUMNS = [Column("n", "e", q, "1", "counter") for q in ("a", "b", "c")]


def filled(rows: int, budget: int) -> RunData:
    """So many rows, 100 at a time."""
    made = RunData("x", budget=budget)
    made.describe(COLUMNS)
    for first in range(0, rows, 100):
        t = np.arange(first, first + 100)
        made.add(t * 10, np.stack([t, 2 * t, -t], 1))
    return made


def test_memory_does_not_grow_beyond_the_budget_and_the_past_gets_coarser() -> None:
    made = filled(100_000, budget=64_000)
    assert made._values.nbytes + made._times.nbytes <= 64_000
    assert made.rows <= 2000
    steps = np.diff(made.times)
    assert made.times[-1] == 999_990
    assert (steps > 0).all()
    assert steps[-100:].max() == 10, "the newest rows are all there"
    assert made.times[0] < 100_000, "and the oldest in part"
    assert (made.values[:, 1] == 2 * made.times // 10).all(), "rows stay whole"


def test_rows_that_come_again_take_the_place_of_the_old_ones() -> None:
    made = filled(300, budget=1 << 20)
    t = np.arange(250, 260)
    made.add(t * 10, np.stack([t, t, t], 1))
    assert made.rows == 260
    assert made.value("e", "b", 2590) == 259
    made.add(np.array([3000, 3000]), np.array([[1, 1, 1], [2, 2, 2]]))
    assert (made.rows, made.value("e", "a", 3000)) == (261, 2)


def test_rates_and_series_at_a_moment() -> None:
    made = filled(300, budget=1 << 20)
    assert made.rate("e", "b", 2000, 1000) == pytest.approx(2 / (10 / 1e12))
    times, values = made.series("e", "a", 995, 1030)
    assert times.tolist() == [990, 1000, 1010, 1020, 1030]
    assert values.tolist() == [99, 100, 101, 102, 103]
    assert made.value("e", "nothing", 2000) is None


def test_thinned_lines_keep_every_peak() -> None:
    x = np.arange(10_000.0)
    y = np.zeros(10_000)
    y[[17, 5003, 9999]] = 5, -3, 7
    tx, ty = thin(x, y, 200)
    assert len(tx) <= 220
    assert (np.diff(tx) > 0).all()
    assert {5.0, -3.0, 7.0} <= set(ty.tolist())


@pytest.mark.parametrize("top", [0.003, 1, 7, 63, 94, 150, 2_000])
def test_ticks_are_few_and_round(top: float) -> None:
    ticks = nice(top, 5)
    assert 2 <= len(ticks) <= 6
    assert ticks[0] == 0
    assert top * 0.5 <= ticks[-1] <= top * 1.001


def test_a_window_follows_freezes_and_never_leaves_the_run() -> None:
    window = Window(span_ps=100)
    assert window.move_on(500, 1.0)
    assert (window.from_ps, window.to_ps) == (400, 500)
    window.pan(-10, 500)
    assert (window.cursor_ps, window.follow) == (0, False)
    assert not window.move_on(600, 1.0)
    assert (window.from_ps, window.to_ps) == (0, 100)
    window.play(600, live=True)
    assert window.move_on(700, 0.1)
    assert window.cursor_ps == 700


def test_losses_and_pauses_are_found_where_they_begin(catalog: object) -> None:
    moments = change_detection.moments(data())
    at = {(m.what, m.entity): m.time_ps for m in reversed(moments)}
    assert at["loss", "switch.sink"] == 880 * MS
    assert at["PAUSE", "switch.sink"] == 900 * MS
    losses = [m.time_ps for m in moments if (m.what, m.entity) == ("loss", "switch.sink")]
    assert losses == [(880 + 200 * n) * MS for n in range(5)]


def test_levels_follow_the_timeline(catalog: object) -> None:
    run = data()
    assert parameter_values.lines_of(run, "switch.sink", 0) == [
        ("set point", 33_000),
        ("PAUSE above", 120_000),
        ("resume below", 60_000),
    ]
    table = run.plan.to_table()
    key = "nodes.switch.congestion_point.set_point"
    table["timeline"].append({"at": "1s", "set": key, "to": "20KB"})
    run.resolved = run.plan.with_data(table).check(catalog)  # type: ignore[arg-type]
    assert (
        parameter_values.parameter(run, "congestion_point", "switch.sink", "set_point", 999 * MS)
        == 33_000
    )
    assert (
        parameter_values.parameter(run, "congestion_point", "switch.sink", "set_point", 1000 * MS)
        == 20_000
    )


def test_expectations_are_judged_when_their_phase_is_over(catalog: object) -> None:
    early, late = judge_so_far(data(rows=60)), judge_so_far(data(rows=180))
    assert early is not None
    assert late is not None
    assert [row.met for row in early.rows] == [None, None]
    assert [row.met for row in late.rows] == [True, None]


def test_parameters_have_units_bounds_and_what_they_are_by_now(catalog: object) -> None:
    known = {p.key: p for p in parameters(resolved())}
    point = known["nodes.switch.congestion_point.set_point"]
    assert (point.value, point.unit, point.bounds, point.live) == ("33KB", "B", "> 0B", True)
    rate = known["nodes.switch.service_rate"]
    assert (rate.value, rate.bounds, rate.live) == ("950Mb/s", ">= 1kb/s, <= 10Tb/s", True)
    assert not known["traffic.gen.frame"].live
    later = {p.key: p.value for p in parameters(resolved(), 900 * MS)}
    assert later["nodes.switch.service_rate"] == "500Mb/s"
