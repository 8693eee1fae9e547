"""QCN step by step, with numbers worked out by hand; beside the oracle for a short while.

`test_qcn_oracle` has what these are a part of: long lives, all presets, any parameters.
"""

from __future__ import annotations

import random

import pytest
from pydantic import ValidationError

from orchestrator.engine.kernel_answers import (
    NOTIFY_ARRIVING,
    NOTIFY_HEAD,
    NOTIFY_LARGEST,
    NOTIFY_RANDOM_UNIT,
)
from orchestrator.engine.records import CE, ECT0, NEVER
from plugins.qcn_cp import QCN_CP, QcnCongestionPoint
from plugins.qcn_rp import QCN_RP, QcnReactionPoint
from tests.plugins.qcn_pairs import CpPair, RpPair
from tests.plugins.scheme_driver import Driver
from tests.plugins.test_qcn_oracle import long_life

GIGABIT = 10**9
US = 10**6
CALM = {"jitter": False}


def point(**params: object) -> Driver:
    """A congestion point at an empty queue; its samples are 150 KB apart and never jittered."""
    settings = QcnCongestionPoint.from_table({"jitter": False, **params}, bare=True)
    return Driver(QCN_CP, settings, capacity=10**9, congestion_point_timer=NEVER)


def told(cp: Driver, event: str = "arrival") -> tuple[int, int, int]:
    """Feedback, offset and delta of a sample at the next event."""
    cp.state["countdown"], cp.state["started"] = 0, 1
    cp.come(event, length=64)
    offset, delta = (int(cp.message[field][0]) for field in ("offset", "delta"))
    return int(cp.message["feedback"][0]), offset, delta


def test_a_sample_is_taken_when_more_octets_came_than_are_between_samples():
    cp = point(sample_base=1500)
    cp.set(bytes=26_001)
    assert [cp.come("arrival", length=octets) for octets in (1000, 500, 1)] == [0, 0, 1]
    assert cp.state["countdown"][0] == SAMPLED_OFTEN
    assert cp.come("arrival", length=SAMPLED_OFTEN) == 0, "the next one as well"


SAMPLED_OFTEN = 375
"""A hundredth of 37 500: feedback 25, for 1 octet too many and 26 001 that came since."""


def test_feedback_is_the_offset_and_twice_the_growth_in_64_steps():
    cp = point(set_point=1000)
    cp.set(bytes=1500)
    assert told(cp) == ((500 + 2 * 1500) * 63 // 5000, 500, 1500)
    assert told(cp) == (500 * 63 // 5000, 500, 0)
    cp.set(bytes=1200)
    assert told(cp) == (0, 200, -300), "it shrinks faster than it is too long"
    cp.set(bytes=9000)
    assert told(cp) == (63, 8000, 7800)
    cp.set(bytes=1000)
    told(cp)
    assert told(cp) == (0, 0, 0)


def test_who_has_nothing_to_be_told_is_not_notified():
    cp = point(set_point=1000, sample_base=64)
    cp.set(bytes=1000)
    cp.state["old"] = 1000
    assert cp.come("arrival", length=65) == 0
    cp.set(bytes=1079)
    cp.state["old"] = 1079
    assert cp.come("arrival", length=65) == 0, "63 x 79 are less than a step of 5000"
    cp.set(bytes=1080)
    cp.state["old"] = 1080
    assert cp.come("arrival", length=65) == 1


@pytest.mark.parametrize(
    ("row", "octets"),
    [*enumerate((150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500))],
)
def test_the_more_feedback_the_sooner_the_next_sample(row: int, octets: int):
    """With no weight on growth and a set point of 6300, feedback is a hundredth of the offset."""
    cp = point(set_point=6300, weight=0)
    for feedback in (8 * row, 8 * row + 7):
        cp.set(bytes=6300 + 100 * feedback)
        assert told(cp)[0] == feedback
        assert cp.state["countdown"][0] == octets


def test_the_table_is_scaled_by_the_sample_base():
    cp = point(set_point=6300, weight=0, sample_base=1000)
    cp.set(bytes=6300 + 2400)
    told(cp)
    assert cp.state["countdown"][0] == 250


@pytest.mark.parametrize(
    ("sampling", "arrival", "departure"),
    [
        ("arrival", NOTIFY_ARRIVING, 0),
        ("head", NOTIFY_HEAD, 0),
        ("departure", 0, NOTIFY_ARRIVING),
        ("occupancy-random", NOTIFY_RANDOM_UNIT, 0),
        ("occupancy-max", NOTIFY_LARGEST, 0),
    ],
)
def test_who_is_notified_and_when(sampling: str, arrival: int, departure: int):
    cp = point(sampling=sampling, sample_base=64, searches=17)
    cp.set(bytes=52_000)
    assert cp.come("arrival", length=65) == arrival
    assert cp.come("departure", length=65) == departure
    assert cp.message["mark"][0] == 17


@pytest.mark.parametrize(("counts", "counted"), [("enqueued", 0), ("arriving", 1)])
def test_a_frame_that_finds_no_room(counts: str, counted: int):
    cp = point(counts=counts, sample_base=1000)
    cp.set(bytes=149_000, capacity=150_000)
    assert cp.come("arrival", length=1001) == counted
    assert cp.state["started"][0] == counted
    cp.set(capacity=150_001)
    assert cp.come("arrival", length=1001) == 1, "it fits to the octet"


def test_with_three_points_a_frame_carries_the_most_that_it_was_told():
    cp = point(tell="destination", sample_base=64, set_point=1000)
    cp.set(bytes=1500)
    assert cp.come("arrival", length=65, mark=ECT0) == 0
    assert cp.frame["mark"][0] == CE | 44 << 2
    cp.state["old"] = 1500
    assert cp.come("arrival", length=10_000, mark=CE | 9 << 2) == 0
    assert cp.frame["mark"][0] == CE | 9 << 2, "6 here, and 9 on the way before"
    cp.set(bytes=0)
    assert cp.come("arrival", length=10_000, mark=ECT0) == 0
    assert cp.frame["mark"][0] == ECT0, "nothing to tell"


def paused(**params: object) -> Driver:
    """A congestion point whose neighbour is paused, at 1 Gb/s with 1000 octets between samples."""
    cp = point(sampling="occupancy-max", sample_base=1000, **{"keep_alive": True} | params)
    cp.set(bytes=52_000, pausing=1, line_rate=GIGABIT)
    return cp


@pytest.mark.parametrize("event", ["arrival", "departure"])
def test_a_pause_sets_the_clock_that_samples_meanwhile(event: str):
    cp = paused()
    cp.come(event, 5 * US, length=64)
    assert cp.congestion_point_timer == 13 * US
    cp.come(event, 6 * US, length=64)
    assert cp.congestion_point_timer == 13 * US, "it runs already"
    for idle in (paused(keep_alive=False), paused()):
        idle.set(pausing=int(idle.params["keep_alive"][0] == 0))
        idle.come(event, 5 * US, length=64)
        assert idle.congestion_point_timer == NEVER


def test_the_clock_samples_while_the_neighbour_is_paused():
    cp = paused()
    assert cp.come("timer", 20 * US) == NOTIFY_LARGEST
    assert cp.message["feedback"][0] == 63
    assert cp.congestion_point_timer == 28 * US
    cp.set(bytes=10_000)
    assert cp.come("timer", 28 * US) == 0, "less than the set point: nobody is told"
    cp.set(bytes=28_100)
    cp.state["old"] = 28_100
    assert (cp.come("timer", 32 * US), cp.message["feedback"][0]) == (NOTIFY_LARGEST, 1)
    cp.set(pausing=0, bytes=52_000, congestion_point_timer=NEVER)
    assert cp.come("timer", 36 * US) == 0
    assert cp.congestion_point_timer == NEVER
    assert paused(keep_alive=False).come("timer", 20 * US) == 0


def test_what_goes_together():
    with pytest.raises(ValidationError, match='needs sampling = "arrival"'):
        QcnCongestionPoint(tell="destination", sampling="head")
    with pytest.raises(ValidationError, match="keep_alive needs sampling by occupancy"):
        QcnCongestionPoint(keep_alive=True, sampling="departure")
    assert not QcnCongestionPoint(sampling="head").keeps_units()
    random_units = QcnCongestionPoint(sampling="occupancy-random", keep_alive=True)
    assert random_units.keeps_units()
    assert (random_units.marks(), QcnCongestionPoint(tell="destination").marks()) == (False, True)
    assert QcnCongestionPoint(set_point=5000).operating_queue(GIGABIT) == 5000


@pytest.mark.parametrize("preset", ["ieee", "netfpga"])
def test_a_congestion_point_follows_the_pseudo_code_for_a_while(preset: str):
    pair = CpPair(True, preset=preset)
    rng = random.Random(preset)
    queue_bytes = 0
    for _ in range(600):
        queue_bytes = min(max(queue_bytes + rng.randrange(-20_000, 20_000), 0), 400_000)
        pair.arrive(rng.choice([1500, 9000]), queue_bytes)
    assert len(pair.rows) > 4


@pytest.mark.parametrize("preset", ["ieee", "pseudocode"])
def test_a_reaction_point_follows_the_pseudo_code_for_a_while(preset: str):
    pair = RpPair(preset, 10**10, jitter=True)
    for event in long_life(random.Random(preset), 120):
        event.apply(pair)
    assert {"fast recovery", "active increase", "target cut"} <= pair.seen


def limited(rate: int = 0, **params: object) -> Driver:
    """A limiter on a link of 1 Gb/s with frames waiting, which was told once; at `rate` if any."""
    settings = QcnReactionPoint(**CALM | params)
    rp = Driver(QCN_RP, settings, rate=GIGABIT, link_rate=GIGABIT, timer=NEVER, backlog=1500)
    rp.come("feedback", 0, feedback=32)
    rp.set(rate=rate or rp.rate)
    return rp


def test_feedback_cuts_the_rate_in_proportion_and_to_a_half_at_most():
    rp = limited()
    assert (rp.active, rp.rate, rp.target, rp.timer) == (
        *(1, GIGABIT * 96 // 128, GIGABIT, 15 * 10**9),
    )
    rp.come("feedback", 7, feedback=63)
    assert (rp.rate, rp.timer) == (750_000_000 * 65 // 128, 7 + 15 * 10**9)
    assert rp.target == GIGABIT, "no octets since: it keeps where it was before both"
    gentle = limited(rate=800_000_000, min_decrease_factor="3/4")
    gentle.come("feedback", 0, feedback=63)
    assert gentle.rate == 600_000_000
    slow = limited(rate=6_000_000)
    slow.come("feedback", 0, feedback=63)
    assert slow.rate == 5_000_000


def test_a_message_after_a_cycle_of_octets_keeps_the_rate_as_target():
    rp = limited(rate=600_000_000, byte_reset=1500)
    rp.come("sent", 1, length=1501)
    assert (rp.rate, rp.state["byte_stage"][0]) == (800_000_000, 1)
    assert rp.come("feedback", 2, feedback=0) == 0
    assert rp.state["byte_stage"][0] == 1, "no feedback, no message"
    rp.come("sent", 2, length=700)
    rp.come("feedback", 2, feedback=1)
    assert (rp.target, rp.state["byte_stage"][0], rp.state["countdown"][0]) == (
        *(800_000_000, 0, 1500),
    )
    assert rp.rate == 800_000_000 * 127 // 128


def test_stages_by_time_recover_then_probe_then_probe_harder():
    """Half of what is missing five times; then 5 Mb/s a stage; beyond both thresholds 50 Mb/s."""
    rp = limited(rate=GIGABIT // 2)
    rp.set(target=GIGABIT // 2 + 64_000)
    missing = 64_000
    for stage in range(1, 6):
        before = rp.timer
        rp.come("timer", before)
        missing //= 2
        assert (rp.target, rp.rate) == (GIGABIT // 2 + 64_000, GIGABIT // 2 + 64_000 - missing)
        assert rp.timer - before == (15 * 10**9 if stage < 5 else 15 * 10**9 // 2)
    rp.come("timer", rp.timer)
    assert rp.target == GIGABIT // 2 + 64_000 + 5_000_000
    rp.state["byte_stage"] = 8
    target = rp.target
    rp.come("timer", rp.timer)
    assert rp.target == target + 2 * 50_000_000, "7 and 8 stages: two beyond the threshold"


def test_a_target_far_above_the_rate_is_cut_at_the_first_stage():
    rp = limited(rate=99_000_000)
    rp.come("timer", rp.timer)
    assert (rp.target, rp.rate) == (125_000_000, (125_000_000 + 99_000_000) // 2)
    kept = limited(rate=100_000_000)
    kept.come("timer", kept.timer)
    assert kept.target == GIGABIT
    later = limited(rate=99_000_000)
    later.state["timer_stage"], later.state["byte_stage"] = 1, 3
    later.come("timer", later.timer)
    assert later.target == GIGABIT


@pytest.mark.parametrize(("cap", "target"), [(True, GIGABIT), (False, GIGABIT + 5_000_000)])
def test_the_target_is_capped_where_it_is_asked_for(cap: bool, target: int):
    rp = limited(rate=GIGABIT, cap_target=cap)
    rp.state["timer_stage"] = 5
    rp.come("timer", rp.timer)
    assert (rp.target, rp.rate) == (target, GIGABIT)


def test_without_extra_fast_recovery_each_message_takes_the_target_back():
    rp = limited(extra_fast_recovery=False)
    rp.come("sent", 1, length=700)
    rp.come("feedback", 7, feedback=1)
    assert (rp.target, rp.state["countdown"][0]) == (GIGABIT * 96 // 128, 150_000)


def test_a_first_message_begins_at_the_links_rate():
    rp = Driver(QCN_RP, QcnReactionPoint(**CALM), rate=7, link_rate=GIGABIT, timer=NEVER, backlog=9)
    rp.come("feedback", 0, feedback=32)
    assert (rp.rate, rp.target) == (GIGABIT * 96 // 128, GIGABIT)


def test_as_many_octets_as_a_cycle_has_are_in_it():
    rp = limited(byte_reset=1500)
    rp.come("sent", 1, length=1500)
    assert (rp.state["byte_stage"][0], rp.state["countdown"][0]) == (0, 0)


def test_the_first_cycle_of_octets_cuts_a_far_target_and_no_later_one_of_time():
    rp = limited(rate=99_000_000, byte_reset=1500)
    rp.come("sent", 1, length=1501)
    assert (rp.state["byte_stage"][0], rp.target) == (1, 125_000_000)
    later = limited(rate=99_000_000)
    later.state["timer_stage"] = 1
    later.come("timer", later.timer)
    assert later.target == GIGABIT, "there was none by octets, and a second by time"


def test_it_ends_with_the_cycle_that_reaches_the_links_rate():
    rp = limited(rate=GIGABIT - 2, byte_reset=1500)
    rp.set(backlog=0, target=GIGABIT + 2)
    rp.come("sent", 1, length=1501)
    assert (rp.active, rp.rate, rp.timer) == (0, GIGABIT, NEVER)


def test_it_does_not_begin_on_a_link_of_the_least_rate():
    slow = {"rate": 5_000_000, "link_rate": 5_000_000}
    rp = Driver(QCN_RP, QcnReactionPoint(**CALM), timer=NEVER, backlog=0, **slow)
    assert rp.come("feedback", 0, feedback=32) == 0
    assert (rp.active, rp.rate, rp.timer) == (0, 5_000_000, NEVER)


def test_stages_are_shown_and_make_no_metrics():
    assert [(one.field, one.measured) for one in QCN_RP.columns] == [
        *(("byte_stage", False), ("timer_stage", False)),
    ]


def test_what_is_not_limited_neither_counts_nor_has_a_timer():
    rp = Driver(QCN_RP, QcnReactionPoint(**CALM), rate=GIGABIT, link_rate=GIGABIT, timer=NEVER)
    assert rp.come("sent", 5, length=9000) == 0
    assert rp.come("timer", 5) == 0
    assert (rp.timer, rp.active, rp.state["countdown"][0], rp.state["timer_stage"][0]) == (
        *(NEVER, 0, 0, 0),
    )


@pytest.mark.parametrize("event", ["sent", "timer"])
def test_at_the_links_rate_with_nothing_waiting_it_begins_anew(event: str):
    rp = limited(rate=GIGABIT)
    rp.state["byte_stage"], rp.state["timer_stage"], rp.state["countdown"] = 7, 7, 9
    rp.set(backlog=0, target=GIGABIT // 2 if event == "sent" else GIGABIT)
    rp.come(event, rp.timer, length=1500)
    stages = [int(rp.state[name][0]) for name in ("byte_stage", "timer_stage", "countdown")]
    assert (rp.active, rp.target, rp.timer, stages) == (0, GIGABIT, NEVER, [0, 0, 150_000])


def test_a_source_never_asks_for_a_probe():
    rp = limited(byte_reset=1500)
    told = [rp.come(event, 0, feedback=1, length=1501) for event in ("feedback", "sent", "timer")]
    assert told == [0, 0, 0]
