"""The verdict on the machine follows from the numbers, and names the one that decided."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from orchestrator.engine.histogram import BINS, bin_of, mean_ps, new_histogram
from orchestrator.run import link_conservation, run_fidelity
from orchestrator.run.run_fidelity import Demand, Measured, Rate, advised_pace, judge

US, SECOND = 10**6, 10**12
DEMAND = Demand(feedback_loop_ps=100 * US, drain_ps=300 * US, shortest_phase_ps=10**12)


def departures(*groups: tuple[int, int]):
    """A histogram of (how many, how late in ps)."""
    histogram = new_histogram()
    for count, late in groups:
        histogram[bin_of(late)] += count
        histogram[BINS] = max(histogram[BINS], late)
    return histogram


QUIET = Measured(departures((100_000, US)), sent=100_000, lost={"sockets": 0}, capture_lost=0)


def test_a_faithful_machine_gives_no_reasons():
    told = judge(QUIET, DEMAND)
    assert (told["verdict"], told["reasons"]) == ("valid", [])
    assert told["reaction_time_s"] == pytest.approx(400e-6)
    assert told["lateness_s"]["max"] == pytest.approx(1e-6)
    assert told["departures"] == 100_000
    json.dumps(told)


@pytest.mark.parametrize(
    ("groups", "verdict", "named"),
    [
        ([(98_000, US), (2_000, 39 * US)], "valid", None),
        ([(98_000, US), (2_000, 60 * US)], "degraded", "p99 "),
        ([(98_000, US), (2_000, 200 * US)], "invalid", "p99 "),
        ([(99_600, US), (400, 1000 * US)], "valid", None),
        ([(99_200, US), (800, 1000 * US)], "degraded", "share of departures"),
        ([(99_999, US), (1, 5_000 * US)], "valid", None),
        ([(99_999, US), (1, 50_000 * US)], "degraded", "longest"),
        ([(99_999, US), (1, 500_000 * US)], "invalid", "longest"),
    ],
)
def test_lateness_is_judged_by_the_plans_own_times(groups, verdict, named):
    told = judge(replace(QUIET, lateness=departures(*groups)), DEMAND)
    assert told["verdict"] == verdict
    assert [named in reason for reason in told["reasons"]] == [True] * (named is not None)


@pytest.mark.parametrize(
    ("margin", "verdict"), [(None, "valid"), (41, "valid"), (39, "degraded"), (12, "invalid")]
)
def test_a_loop_that_goes_by_delays_is_held_to_the_mean_of_a_round_trip(margin, verdict):
    """One departure of a thousand is 1 ms late and no percentile tells: 1 us each, four of them."""
    late = departures((99_900, 0), (100, 1000 * US))
    demand = replace(DEMAND, margin_ps=margin and margin * US, departures=4)
    measured = replace(QUIET, lateness=late)
    assert mean_ps(late) == pytest.approx(US, rel=0.01)
    told = judge(measured, demand)
    assert told["verdict"] == verdict
    assert [" in 4 departures" in reason for reason in told["reasons"]] == [True] * (
        verdict != "valid"
    )
    if margin is None:
        assert "lateness_mean_s" not in told["bounds"]
    else:
        bounds = [share * margin * 1e-6 / 4 for share in (0.1, 0.3)]
        assert told["bounds"]["lateness_mean_s"] == pytest.approx(bounds)
    assert (advised_pace(measured, demand) is None) == (verdict != "invalid")


def test_departures_beyond_the_reaction_time_are_invalid_from_two_percent():
    late = departures((97_000, US), (3_000, 1000 * US))
    told = judge(replace(QUIET, lateness=late), DEMAND)
    assert told["verdict"] == "invalid"
    assert told["displaced_share"] == pytest.approx(0.03)


def test_the_same_lateness_suits_a_slower_loop():
    late = replace(QUIET, lateness=departures((98_000, US), (2_000, 60 * US)))
    assert judge(late, DEMAND)["verdict"] == "degraded"
    assert judge(late, replace(DEMAND, feedback_loop_ps=10_000 * US))["verdict"] == "valid"


@pytest.mark.parametrize(("lost", "verdict"), [(0, "valid"), (1, "degraded"), (2, "invalid")])
def test_a_loss_outside_the_queues_is_told(lost, verdict):
    told = judge(replace(QUIET, lost={"sockets": lost}), DEMAND)
    assert told["verdict"] == verdict
    assert told["lost_outside_queues"] == {"sockets": lost}
    assert all("sockets" in reason for reason in told["reasons"])


def test_a_gap_in_the_capture_degrades_and_no_more():
    told = judge(replace(QUIET, capture_lost=10**6), DEMAND)
    assert told["verdict"] == "degraded"


@pytest.mark.parametrize(
    ("achieved", "verdict"),
    [
        (10**9, "valid"),
        (996 * 10**6, "valid"),
        (990 * 10**6, "degraded"),
        (970 * 10**6, "invalid"),
        (1_030 * 10**6, "invalid"),
        (0, "invalid"),
    ],
)
def test_a_rate_is_held_to_what_was_configured(achieved, verdict):
    rate = Rate("switch.sink", 10**9, achieved, 1500)
    told = judge(replace(QUIET, rates=[rate]), DEMAND)
    assert told["verdict"] == verdict
    assert all("switch.sink" in reason for reason in told["reasons"])


def test_two_frames_across_the_ends_are_no_error():
    assert Rate("gen1", 10_000, 7_000, 1500).error == 0
    assert Rate("gen1", 10_000, 7_000, 1000).error == pytest.approx(0.1)
    assert Rate("gen1", 10_000, 7_000, 1000, stretches=2).error == 0


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        ([0], "valid"),
        ([SECOND // 100], "valid"),
        ([SECOND // 100, US], "degraded"),
        ([SECOND // 20, SECOND // 20], "degraded"),
        ([SECOND // 20, SECOND // 20, US], "invalid"),
        ([SECOND], "invalid"),
    ],
)
def test_a_clock_that_was_held_was_not_real_time(held, verdict):
    told = judge(replace(QUIET, duration_ps=SECOND, held_ps=held), DEMAND)
    assert told["verdict"] == verdict
    assert told["held"]["share"] == pytest.approx(sum(held) / SECOND)
    assert told["held"]["time_s"] == pytest.approx(sum(held) / SECOND)
    assert [("held back" in reason) for reason in told["reasons"]] == [True] * (verdict != "valid")


def test_how_often_and_for_how_long_the_clock_was_held_is_told():
    some = replace(QUIET, duration_ps=SECOND, held_ps=[US, US], holds=7, longest_hold_ps=US // 2)
    told = judge(some, DEMAND)
    assert told["held"]["count"] == 7
    assert told["held"]["longest_s"] == pytest.approx(0.5e-6)
    assert told["verdict"] == "valid", "the number of holds is no measure by itself"


@pytest.mark.parametrize(
    ("pace", "held_ms", "verdict"),
    [
        *((0.999, 10, "valid"), (0.999, 20, "degraded"), (0.999, 200, "invalid")),
        *((0.91, 10, "valid"), (0.91, 20, "degraded"), (0.91, 200, "invalid")),
        *((0.9, 10, "valid"), (0.9, 200, "valid"), (0.9, 9000, "valid")),
        (2.0, 20, "degraded"),
    ],
)
def test_a_pace_just_below_real_time_does_not_switch_the_judgement_off(pace, held_ms, verdict):
    """A run that lasts longer by less than a tenth, which is accepted of one in real time."""
    measured = replace(QUIET, duration_ps=SECOND, held_ps=[held_ms * SECOND // 1000], pace=pace)
    told = judge(measured, DEMAND)
    assert told["verdict"] == verdict
    assert told["held"]["share"] == pytest.approx(held_ms / 1000)


@pytest.mark.parametrize(("pace", "verdict"), [(1.0, "invalid"), (4.0, "invalid"), (0.5, "valid")])
def test_a_run_that_was_asked_to_be_slower_than_real_time_is_not_held_to_it(pace, verdict):
    measured = replace(QUIET, duration_ps=SECOND, held_ps=[SECOND // 2], pace=pace)
    told = judge(measured, DEMAND)
    assert told["verdict"] == verdict
    assert told["held"]["share"] == 0.5, "it is told all the same"


def test_the_horizon_keeps_the_threads_within_what_lateness_may_be():
    """The share of the reaction time that is accepted for p99 is what one part may run ahead."""
    assert DEMAND.horizon_ps == 40 * US
    assert DEMAND.horizon_ps <= run_fidelity.LATE_P99[0] * DEMAND.reaction_ps
    assert replace(DEMAND, feedback_loop_ps=1700 * US).horizon_ps == 200 * US


def test_two_horizons_do_not_spoil_a_short_phase():
    short = replace(DEMAND, shortest_phase_ps=600 * US)
    assert short.horizon_ps == 30 * US
    told = judge(replace(QUIET, lateness=departures((10**6, US), (1, 2 * short.horizon_ps))), short)
    assert told["verdict"] == "degraded"


def test_a_machine_that_keeps_up_needs_no_slower_clock():
    assert advised_pace(QUIET, DEMAND) is None
    barely = replace(QUIET, duration_ps=SECOND, held_ps=[SECOND // 20])
    assert advised_pace(barely, DEMAND) is None


@pytest.mark.parametrize(
    ("change", "pace"),
    [
        ({"duration_ps": SECOND, "held_ps": [SECOND]}, 0.2),
        ({"duration_ps": SECOND, "held_ps": [SECOND], "pace": 0.5}, 0.1),
        ({"lateness": departures((100, 1200 * US))}, 0.05),
        ({"lateness": departures((10**5, US), (1, SECOND))}, 0.05),
    ],
)
def test_a_slower_clock_is_advised_by_what_was_late(change, pace):
    """A clock that was held for as long as the run could have gone at half the pace; a p99 of ten
    times what is accepted needs a tenth: and half of that, to have something to spare."""
    measured = replace(QUIET, **change)
    assert advised_pace(measured, DEMAND) == pytest.approx(pace, rel=0.25)
    assert judge(measured, DEMAND)["pace"] == measured.pace


def test_a_plan_without_a_loop_has_a_time_all_the_same():
    nothing = Demand(feedback_loop_ps=0, drain_ps=0, shortest_phase_ps=0)
    assert nothing.reaction_ps > 0
    assert nothing.horizon_ps >= 0
    json.dumps(judge(replace(QUIET, duration_ps=0), nothing))


def test_every_number_stands_beside_its_bounds():
    told = judge(QUIET, DEMAND)
    assert {"p50", "p99", "p99.9", "max"} == set(told["lateness_s"])
    bounds = told["bounds"]
    assert bounds["held_share"] == list(run_fidelity.HELD)
    assert bounds["lateness_p99_s"] == pytest.approx([40e-6, 120e-6])
    assert bounds["lateness_max_s"] == pytest.approx([0.01, 0.1])
    assert bounds.pop("changed_share") == [0.0, 0.0], "no single frame may be another one"
    for degraded, invalid in bounds.values():
        assert 0 <= degraded < invalid


def test_the_worst_finding_decides_and_all_are_told():
    late = departures((98_000, US), (2_000, 60 * US))
    told = judge(replace(QUIET, lateness=late, lost={"veth": 50}), DEMAND)
    assert told["verdict"] == "invalid"
    assert len(told["reasons"]) == 2


def test_the_grades_are_ordered():
    assert run_fidelity.ORDER == ("valid", "degraded", "invalid")


@pytest.mark.parametrize("duration_s", [1, 100, 10_000])
def test_a_stall_counts_by_the_phase_that_it_may_spoil_however_long_the_run(duration_s):
    """5 ms are half a percent of the shortest phase and 50 ms five, in a long run as in a short."""
    for stall, verdict in ((5_000 * US, "valid"), (50_000 * US, "degraded")):
        late = departures((99_999, US), (1, stall))
        told = judge(replace(QUIET, lateness=late, duration_ps=duration_s * SECOND), DEMAND)
        assert told["verdict"] == verdict, (stall, told["reasons"])
        assert told["bounds"]["lateness_max_s"] == [0.01, 0.1]


def test_all_that_is_told_of_a_machine_that_did_nothing_is_nothing():
    told = judge(Measured(departures(), sent=0, lost={}, capture_lost=0), DEMAND)
    assert told["verdict"] == "valid"
    assert told["held"] == {"share": 0.0, "time_s": 0.0, "count": 0, "longest_s": 0.0}
    assert (told["departures"], told["lateness_mean_s"]) == (0, 0.0)
    assert set(told["lateness_s"].values()) == {0.0}


def test_where_nothing_was_sent_one_loss_is_all_there_was():
    told = judge(replace(QUIET, sent=0, lost={"sockets": 1}), DEMAND)
    assert told["verdict"] == "invalid"
    assert "(sockets: 1) is 1 of the 0 frames sent" in told["reasons"][0]


def test_lateness_is_told_at_each_share_and_on_the_mean():
    """100 000 departures, ten times as late at each step: 50 %, 99 %, 99.9 % and the last one;
    two fifths are earlier than any of these."""
    late = [US // 10, US, 10 * US, 100 * US, 1000 * US]
    counts = [40_000, 20_000, 39_800, 199, 1]
    told = judge(
        replace(QUIET, lateness=departures(*zip(counts, late, strict=True))),
        replace(DEMAND, feedback_loop_ps=SECOND),
    )
    names = ("p50", "p99", "p99.9", "max")
    expected = dict(zip(names, [1e-6, 10e-6, 100e-6, 1e-3], strict=True))
    assert told["lateness_s"] == pytest.approx(expected, rel=0.1)
    mean = sum(n * t for n, t in zip(counts, late, strict=True)) / sum(counts) / 1e12
    assert told["lateness_mean_s"] == pytest.approx(mean, rel=0.05)
    assert told["departures"] == sum(counts)


def test_a_departure_in_the_last_bin_counts():
    told = judge(replace(QUIET, lateness=departures((3, 2**62))), DEMAND)
    assert told["departures"] == 3


def test_bounds_are_told_in_seconds():
    bounds = judge(QUIET, DEMAND)["bounds"]
    assert bounds["extra_delay_s"] == pytest.approx(
        [s * 400e-6 for s in link_conservation.EXTRA_DELAY]
    )
    assert bounds["lateness_p99_s"] == pytest.approx([40e-6, 120e-6])
    assert bounds["lateness_max_s"] == pytest.approx([0.01, 0.1])


def test_a_link_that_is_out_of_balance_decides():
    repeats = link_conservation.LinkCounts("a>b", sent=100, received=107)
    told = judge(replace(QUIET, crossings=[repeats]), DEMAND)
    assert told["verdict"] == "invalid"
    assert told["links"]["a>b"]["duplicated"] == 7
    assert any("a>b brought 7 frames that were not sent" in reason for reason in told["reasons"])


@pytest.mark.parametrize(
    ("expected", "achieved", "error"), [(0, 0, 0.0), (0, 3, 3.0), (1, 4, 3.0), (100, 97, 0.03)]
)
def test_an_error_is_a_share_of_what_was_expected(expected: int, achieved: int, error: float):
    assert Rate("a", expected, achieved, frame_octets=0).error == pytest.approx(error)


@pytest.mark.parametrize(
    ("late", "pace"),
    [
        (1_000 * US, 0.06),  # 0.3 of 400 us is what p99 may be, and half of that pace is spare
        (11_000 * US, 0.005),
        (40_000_000 * US, 1e-6),
    ],
)
def test_an_advised_pace_has_one_digit(late: int, pace: float):
    measured = replace(QUIET, lateness=departures((100, late)))
    got = advised_pace(measured, replace(DEMAND, shortest_phase_ps=10**18))
    assert got == pace


def test_times_are_told_to_the_last_digit():
    """In seconds, whatever a picosecond more in a billion would be called."""
    late = departures((10**5, 123_456_789))
    measured = replace(
        QUIET, lateness=late, duration_ps=SECOND, held_ps=[777_777, 1], longest_hold_ps=654_321
    )
    told = judge(measured, DEMAND)
    assert told["lateness_s"]["max"] == 123_456_789 / 1e12
    assert told["lateness_mean_s"] == mean_ps(late) / 1e12
    assert (told["held"]["time_s"], told["held"]["longest_s"]) == (777_778 / 1e12, 654_321 / 1e12)
    assert told["reaction_time_s"] == 400 * US / 1e12
    reaction = 400 * US
    shares = {
        "lateness_p99_s": run_fidelity.LATE_P99,
        "extra_delay_s": link_conservation.EXTRA_DELAY,
    }
    for name, both in shares.items():
        assert told["bounds"][name] == [share * reaction / 1e12 for share in both]


def test_how_grave_a_share_of_displaced_departures_is_is_told_with_it():
    for displaced, grade in ((1_500, "degraded"), (2_500, "invalid")):
        late = departures((100_000 - displaced, US), (displaced, 1000 * US))
        reasons = judge(replace(QUIET, lateness=late), DEMAND)["reasons"]
        assert [r.split(":")[0] for r in reasons if "the share of departures" in r] == [grade]


@pytest.mark.parametrize(
    ("change", "pace"),
    [
        ({"lateness": departures()}, None),
        ({"duration_ps": 10, "held_ps": [1]}, None),  # as much as is accepted
        ({"duration_ps": 10, "held_ps": [2]}, 0.4),
        ({"duration_ps": 10, "held_ps": [40]}, 0.1),
        ({"duration_ps": 10, "held_ps": [40], "pace": 0.03}, 0.003),
        ({"duration_ps": 10, "held_ps": [90], "pace": 0.14}, 0.007),
        ({"duration_ps": 10, "held_ps": [60], "pace": 0.0014}, 0.0001),
        ({"duration_ps": 10, "held_ps": [60], "pace": 0.00014}, 0.00001),
        ({"duration_ps": 10, "held_ps": [60], "pace": 0.000042}, 0.000003),
    ],
)
def test_the_pace_that_is_advised_has_one_digit(change, pace):
    assert advised_pace(replace(QUIET, **change), DEMAND) == pace


@pytest.mark.parametrize(
    ("pace", "advised"), [(1.0, 0.01), (0.06, 0.001), (0.0014, 0.001), (0.001, None)]
)
def test_no_pace_is_advised_that_the_target_does_not_take(pace, advised):
    measured = replace(QUIET, duration_ps=10, held_ps=[460], pace=pace)
    assert advised_pace(measured, DEMAND, slowest=0.001) == advised
