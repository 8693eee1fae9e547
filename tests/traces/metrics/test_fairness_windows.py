"""Jain's index in windows: flows whose rates change at known times, with exact answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from orchestrator.recording import Column
from tests.traces.metrics.made import MS
from traces.metrics.compute_metrics import compute
from traces.metrics.fairness_windows import fairness_over_time, fairness_series
from traces.metrics.sample_table import Table, Window

ALWAYS = None
Spans = Sequence[tuple[int, int]] | None


def window(*rates: Sequence[int], first: int = 0) -> Window:
    """Flows a, b, c ... that receive so many octets in each millisecond from 3 ms on."""
    grown = np.array([np.concatenate([[7], 7 + np.cumsum(one)]) for one in rates]).T
    names = "abcdef"[: len(rates)]
    columns = [Column("n", name, "bytes_received", "B", "counter") for name in names]
    times = 3 * MS + np.arange(len(grown)) * MS
    table = Table(times, columns, grown)
    return table.window((3 + first) * MS, int(times[-1]))


def over_time(view: Window, *on: Spans) -> dict[str, float | None]:
    flows = {"abcdef"[at]: spans for at, spans in enumerate(on)}
    return fairness_over_time(view, flows)


def test_two_flows_that_become_equal_after_half_of_the_time() -> None:
    """Of 40 ms in windows of 2 ms: 3 to 1 gives 16/20, a window of both (4 to 2) 36/40."""
    first, second = [3] * 20 + [1] * 20, [1] * 40
    ends, index = fairness_series(window(first, second), {"a": ALWAYS, "b": ALWAYS})
    assert ends[0] == 3 * MS + 2 * MS
    assert np.diff(ends).tolist() == [MS] * (len(ends) - 1)
    at = {int(end - 3 * MS) // MS: value for end, value in zip(ends, index, strict=True)}
    assert at[2] == at[20] == pytest.approx(0.8)
    assert at[21] == pytest.approx(0.9)
    assert at[22] == at[39] == pytest.approx(1)
    found = over_time(window(first, second), ALWAYS, ALWAYS)
    assert found["fairness.window_min"] == pytest.approx(0.8)
    assert found["fairness.window_mean"] == pytest.approx((19 * 0.8 + 0.9 + 18) / 38)
    assert found["fairness.settling_s"] == pytest.approx(0.022)


def test_time_counts_from_the_beginning_of_the_phase() -> None:
    first, second = [3] * 25 + [1] * 35, [1] * 60
    found = over_time(window(first, second, first=10), ALWAYS, ALWAYS)
    assert found["fairness.settling_s"] == pytest.approx(0.017)


def test_it_is_fair_from_the_beginning_or_never_for_good() -> None:
    assert over_time(window([5] * 40, [5] * 40), ALWAYS, ALWAYS) == {
        "fairness.window_mean": 1,
        "fairness.window_min": 1,
        "fairness.settling_s": 0,
    }
    late = over_time(window([5] * 38 + [9] * 2, [5] * 38 + [1] * 2), ALWAYS, ALWAYS)
    assert late["fairness.settling_s"] is None
    once = over_time(window([5] * 20 + [9] * 3 + [5] * 17, [5] * 40), ALWAYS, ALWAYS)
    assert once["fairness.settling_s"] == pytest.approx(0.024), "one relapse begins it anew"


def test_exactly_the_bound_is_fair() -> None:
    """Rates x and 1: (x + 1)^2 / (2 (x^2 + 1)) is 0.95 or more up to x = 1.6 and a bit."""
    assert over_time(window([16] * 40, [10] * 40), *[ALWAYS] * 2)["fairness.settling_s"] is None
    near = over_time(window([15] * 40, [10] * 40), *[ALWAYS] * 2)
    assert near["fairness.window_min"] == pytest.approx(625 / 650)
    assert near["fairness.settling_s"] == 0


def test_a_flow_counts_while_its_source_is_on() -> None:
    """The third flow is off for the first half: nobody waits for it, and it lacks nothing then."""
    rates = [6] * 40, [6] * 40, [0] * 20 + [6] * 20
    off = over_time(window(*rates), ALWAYS, ALWAYS, [(23 * MS, 43 * MS)])
    assert off["fairness.window_min"] == pytest.approx(1)
    assert off["fairness.settling_s"] == 0
    starved = over_time(window(*rates), ALWAYS, ALWAYS, ALWAYS)
    assert starved["fairness.window_min"] == pytest.approx(144 / (3 * 72))
    assert starved["fairness.settling_s"] == pytest.approx(0.022)


def test_a_window_of_half_a_source_counts_its_rate_while_it_was_on() -> None:
    rates = [6] * 40, [0] * 21 + [6] * 19
    ends, index = fairness_series(window(*rates), {"a": ALWAYS, "b": [(24 * MS, 43 * MS)]})
    at = {int(end - 3 * MS) // MS: value for end, value in zip(ends, index, strict=True)}
    assert np.isnan(at[21]), "one flow alone is neither fair nor unfair"
    assert at[22] == pytest.approx(1), "on for half of it, at the rate of the other"
    later = fairness_series(window(*rates), {"a": ALWAYS, "b": [(24 * MS + 1, 43 * MS)]})[1]
    assert np.isnan(later[20])
    assert later[21] == pytest.approx(1)


def test_little_says_nothing() -> None:
    nothing = dict.fromkeys(("fairness.window_mean", "fairness.window_min", "fairness.settling_s"))
    assert over_time(window([5] * 39, [5] * 39), ALWAYS, ALWAYS) == nothing
    assert over_time(window([5] * 40), ALWAYS) == nothing
    assert over_time(window([0] * 40, [0] * 40), ALWAYS, ALWAYS) == nothing


def test_long_phases_are_looked_at_two_hundred_times() -> None:
    rows = 2000
    first, second = [3] * 1000 + [1] * 1000, [1] * rows
    ends, index = fairness_series(window(first, second), {"a": ALWAYS, "b": ALWAYS})
    assert len(ends) == 190
    assert np.diff(ends).tolist() == [10 * MS] * 189
    found = over_time(window(first, second), ALWAYS, ALWAYS)
    assert found["fairness.settling_s"] == pytest.approx(1.08), "not yet with 7 steps of 10"
    whole = index[(ends > 3 * MS + 1010 * MS) & (ends <= 3 * MS + 1090 * MS)]
    assert np.all(np.diff(whole) > 0)


def test_entries_of_several_flows_and_all_traffic_have_them(build) -> None:
    rows = np.arange(61)
    series = {
        ("node", name, "bytes_received", "B", "counter"): rows * slope
        for name, slope in {"gen.0": 3, "gen.1": 1, "solo": 1}.items()
    }
    metrics, units = compute(build(rows * MS, series), {"p": (10 * MS, 60 * MS)})
    for phase in ("run", "p"):
        assert metrics[phase]["gen"]["fairness.window_min"] == pytest.approx(0.8)
        assert metrics[phase]["traffic"]["fairness.window_min"] == pytest.approx(25 / 33)
        assert "fairness.window_min" not in metrics[phase]["solo"]
    assert units["fairness.settling_s"] == "s"
