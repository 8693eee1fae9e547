"""DCQCN: marks by RED, alpha, the two timers and the byte counter; the notification point."""

from __future__ import annotations

import random

import pytest

from orchestrator.engine.records import CE, CNP, ECT0, NEVER, NOT_ECT
from plugins.dcqcn_rp import ALPHA_BITS, DCQCN_RP, DcqcnReactionPoint
from plugins.notification_point import NOTIFY, NotificationPoint
from plugins.qcn_cp import QCN_CP, QcnCongestionPoint
from plugins.red_marking import RED, RedMarking
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US = 10**6
LINK = 40 * 10**9


def source(**params: object) -> Driver:
    return Driver(
        DCQCN_RP,
        DcqcnReactionPoint(**params),
        rate=LINK,
        link_rate=LINK,
        backlog=9000,
        timer=NEVER,
    )


def test_the_first_cnp_halves_the_rate_and_the_next_one_too():
    rp = source()
    rp.come("feedback", 0)
    assert (rp.rate, rp.target) == (LINK // 2, LINK)
    rp.come("feedback", 1)
    assert (rp.rate, rp.target) == (LINK // 4, LINK // 2), "alpha is still 1"


def test_alpha_falls_by_g_in_each_of_its_times_and_a_later_cut_is_smaller():
    rp = source(increase_time=10**9)
    rp.come("feedback", 0)
    alpha = 1 << ALPHA_BITS
    for step in range(1, 11):
        assert rp.timer == step * 55 * US
        rp.come("timer", rp.timer)
        alpha -= alpha // 256
        assert rp.state["alpha"][0] == alpha
    rp.set(rate=LINK, target=LINK)
    rp.come("feedback", 11 * 55 * US)
    assert rp.rate == LINK - (LINK * alpha >> ALPHA_BITS + 1)
    assert rp.state["alpha"][0] == alpha + ((1 << ALPHA_BITS) - alpha) // 256


def test_the_timer_brings_fast_recovery_then_active_increase():
    rp = source(alpha_time=10**12)
    rp.come("feedback", 0)
    rp.set(target=LINK // 2, rate=LINK // 4)
    gap = LINK // 4
    for _ in range(4):
        rp.come("timer", rp.timer)
        gap //= 2
        assert (rp.target, rp.rate) == (LINK // 2, LINK // 2 - gap)
    before = rp.rate
    rp.come("timer", rp.timer)
    assert rp.target == LINK // 2 + 40 * 10**6
    assert rp.rate == (rp.target + before) // 2


def test_with_both_counters_beyond_the_threshold_it_is_hyper_active():
    rp = source(alpha_time=10**12)
    rp.come("feedback", 0)
    rp.set(target=LINK // 2)
    rp.state["byte_stage"], rp.state["timer_stage"] = 6, 5
    rp.come("timer", rp.timer)
    assert rp.target == LINK // 2 + 200 * 10**6


@pytest.mark.parametrize("below", [10**6, 40 * 10**6, 10**9])
def test_the_target_is_never_above_the_link(below: int):
    rp = source(alpha_time=10**12)
    rp.come("feedback", 0)
    rp.set(target=LINK - below)
    rp.state["timer_stage"] = 5
    rp.come("timer", rp.timer)
    assert rp.target == min(LINK - below + 40 * 10**6, LINK)


def test_what_is_cut_is_half_of_alpha_to_the_bit():
    rng = random.Random(1)
    for _ in range(60):
        rate, alpha = rng.randrange(10**9, LINK) | 1, rng.randrange(1 << ALPHA_BITS) | 1
        rp = source(min_rate=1)
        rp.set(active=1, rate=rate)
        rp.state["alpha"] = alpha
        rp.come("feedback", 0)
        assert rp.rate == rate - (rate * alpha >> ALPHA_BITS + 1), (rate, alpha)


def test_alpha_is_said_to_be_a_share():
    """Proofs go out from that."""
    assert DCQCN_RP.bounds == {"alpha": (0, 1 << ALPHA_BITS)}


def test_the_byte_counter_counts_stages_of_its_own():
    rp = source(byte_reset=30_000)
    rp.come("feedback", 0)
    for _ in range(20):
        rp.come("sent", 1, length=1500)
    assert (rp.state["byte_stage"][0], rp.state["timer_stage"][0]) == (1, 0)
    assert rp.rate == LINK * 3 // 4


def test_a_limiter_whose_source_has_stopped_is_released_by_its_timer():
    rp = source()
    rp.come("feedback", 0)
    rp.set(backlog=0)
    while rp.active == 1 and rp.timer < 10**12:
        rp.come("timer", rp.timer)
    assert (rp.active, rp.timer, rp.rate) == (0, NEVER, LINK)


def test_the_octets_that_bring_the_links_rate_back_release_the_limiter():
    rp = source(ai_rate=LINK, byte_reset=1500)
    rp.come("feedback", 0)
    rp.set(backlog=0)
    while rp.rate < LINK:
        assert rp.active == 1
        rp.come("sent", 1, length=1500)
    assert rp.active == 0, "with the very frame"


def test_red_marks_in_proportion_and_only_what_is_ecn_capable():
    cp = Driver(RED, RedMarking(low=5_000, high=200_000))

    def share(queue: int, mark: int, frames: int = 20_000) -> float:
        cp.set(bytes=queue)
        marked = 0
        for _ in range(frames):
            assert cp.come("arrival", mark=mark) == 0
            marked += int(cp.frame["mark"][0]) == CE
        return marked / frames

    assert share(5_000, ECT0, 500) == 0
    assert share(200_001, ECT0, 500) == 1
    assert share(200_001, NOT_ECT, 500) == 0
    assert share(102_500, ECT0) == pytest.approx(0.005, abs=0.002)


def test_the_notification_point_sends_a_cnp_an_interval():
    np = Driver(NOTIFY, NotificationPoint.from_table({"preset": "dcqcn"}))
    assert np.come("arrival", 0, mark=ECT0) == 0
    assert np.come("arrival", 5, mark=CE) == 1
    assert np.message["kind"][0] == CNP
    assert np.come("arrival", 5 + 50 * US - 1, mark=CE) == 0
    assert np.come("arrival", 5 + 50 * US, mark=CE) == 1
    assert np.frame["mark"][0] == CE


def test_at_a_switch_it_can_take_the_mark_away():
    np = Driver(NOTIFY, NotificationPoint(absorb=True, interval=0))
    assert np.come("arrival", 0, mark=CE | 42 << 2) == 1
    assert np.message["feedback"][0] == 42
    assert np.frame["mark"][0] == ECT0


def test_qcn_can_put_its_feedback_into_the_frame():
    params = {"sample_base": 1500, "jitter": False, "tell": "destination"}
    cp = Driver(QCN_CP, QcnCongestionPoint(**params), bytes=52_000, capacity=150_000)
    told = [cp.come("arrival", length=1500, mark=ECT0)]
    told.append(cp.come("arrival", length=1500, mark=ECT0))
    assert told == [0, 0]
    feedback = (26_000 + 2 * 52_000) * 63 // (26_000 * 5)
    assert cp.frame["mark"][0] == CE | feedback << 2


def test_the_rate_never_falls_below_the_least():
    rp = source(min_rate=15 * 10**9)
    for _ in range(2):
        rp.come("feedback", 0)
    assert rp.rate == 15 * 10**9


def test_a_cnp_restarts_both_counters_and_both_timers():
    rp = source(byte_reset=3000, alpha_time=20 * US, increase_time=30 * US)
    rp.come("feedback", 5)
    assert rp.timer == 20 * US + 5
    for event in ("sent", "sent", "timer"):
        rp.come(event, 30 * US + 5, length=1500)
    assert [rp.state[name][0] for name in ("byte_stage", "timer_stage")] == [1, 1]
    rp.come("sent", 0, length=1000)
    rp.come("feedback", 7 * US)
    stages = [rp.state[name][0] for name in ("byte_stage", "timer_stage", "countdown")]
    assert stages == [0, 0, 3000]
    assert rp.timer == 27 * US


def test_each_timer_is_due_on_its_own():
    rp = source(alpha_time=20 * US, increase_time=30 * US)
    rp.come("feedback", 0)
    due = []
    for _ in range(5):
        rp.come("timer", rp.timer)
        due.append(rp.timer // US)
    assert due == [30, 40, 60, 80, 90], "both at 60"
    assert rp.state["timer_stage"][0] == 2
    assert rp.state["alpha"][0] == after_times(4)


def after_times(count: int) -> int:
    """Alpha, which was 1, after so many of its times."""
    alpha = 1 << ALPHA_BITS
    for _ in range(count):
        alpha -= alpha // 256
    return alpha


def test_octets_beyond_a_cycle_count_for_the_next_one():
    rp = source(byte_reset=2000)
    rp.come("feedback", 0)
    for _ in range(3):
        rp.come("sent", 1, length=1500)
    assert (rp.state["byte_stage"][0], rp.state["countdown"][0]) == (2, 1500)
    rp.come("sent", 1, length=1500)
    assert (rp.state["byte_stage"][0], rp.state["countdown"][0]) == (3, 2000)


@pytest.mark.parametrize(
    ("octets", "times", "mbit"), [(4, 4, 0), (0, 5, 40), (5, 0, 40), (5, 6, 40), (6, 6, 200)]
)
def test_counters_at_the_threshold_probe_and_beyond_it_both_probe_harder(
    octets: int, times: int, mbit: int
):
    rp = source(alpha_time=10**12)
    rp.come("feedback", 0)
    rp.set(target=LINK // 2)
    rp.state["byte_stage"], rp.state["timer_stage"] = octets, times - 1
    rp.come("timer", rp.timer)
    assert rp.target == LINK // 2 + mbit * 10**6


def test_a_limiter_that_is_not_there_does_nothing():
    rp = source()
    assert [rp.come("sent", 0, length=1500), rp.come("timer", 0)] == [0, 0]
    assert (rp.active, rp.timer, rp.rate) == (0, NEVER, LINK)
    assert [rp.state[name][0] for name in ("countdown", "timer_stage")] == [0, 0]


def test_what_is_released_begins_anew():
    rp = source(byte_reset=1500)
    rp.come("feedback", 0)
    rp.state["byte_stage"], rp.state["timer_stage"] = 4, 4
    rp.set(backlog=0, rate=LINK)
    rp.come("sent", 1, length=1500)
    assert (rp.active, rp.target, rp.timer) == (0, LINK, NEVER)
    assert [rp.state[name][0] for name in ("byte_stage", "timer_stage")] == [0, 0]


def test_at_the_links_rate_with_frames_waiting_it_is_kept():
    rp = source(byte_reset=3000)
    rp.come("feedback", 0)
    rp.set(rate=LINK)
    rp.come("sent", 1, length=1500)
    assert (rp.active, rp.state["countdown"][0]) == (1, 1500)


def test_flows_are_sent_as_ecn_capable_and_g_is_a_ratio_of_small_numbers():
    assert DcqcnReactionPoint().sends_ect()
    assert DcqcnReactionPoint(g="1/1000000").g.denominator == 10**6
    with pytest.raises(ValueError, match="numbers up to 1000000"):
        DcqcnReactionPoint(g="1/1000001")


def test_a_source_never_asks_for_a_probe():
    rp = source(byte_reset=1500)
    told = [rp.come(event, 0, feedback=1, length=1501) for event in ("feedback", "sent", "timer")]
    assert told == [0, 0, 0]


def test_what_ends_a_limiter_counts_no_more_and_what_is_short_of_a_cycle_is_none():
    rp = Driver(DCQCN_RP, DcqcnReactionPoint(), rate=10**9, link_rate=10**9, timer=NEVER)
    rp.set(active=1, backlog=0, target=7)
    rp.state["countdown"], rp.state["byte_stage"] = 500, 3
    assert rp.come("sent", 5, length=1000) == 0
    assert (rp.active, rp.target, rp.state["countdown"][0]) == (0, 10**9, 500)
    assert rp.come("sent", 6, length=1000) == 0
    rp.set(active=1, backlog=1500, rate=10**8)
    rp.state["countdown"] = 501
    assert rp.come("sent", 7, length=500) == 0
    assert (rp.state["countdown"][0], rp.state["byte_stage"][0], rp.rate) == (1, 0, 10**8)


def test_a_first_message_begins_at_the_links_rate_and_g_may_be_two_thirds():
    params = DcqcnReactionPoint(g="2/3")
    rp = Driver(DCQCN_RP, params, rate=7, link_rate=10**9, timer=NEVER, backlog=9)
    rp.come("feedback", 0)
    assert (rp.rate, rp.target) == (10**9 // 2, 10**9)
    rp.state["alpha"] = 3000
    rp.come("timer", int(rp.state["alpha_at"][0]))
    assert rp.state["alpha"][0] == 1000
    rp.come("feedback", 0)
    assert rp.state["alpha"][0] == 1000 + ((1 << 20) - 1000) * 2 // 3


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.notification_point") > 0
