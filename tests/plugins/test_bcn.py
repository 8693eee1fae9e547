"""BCN: messages above a level, cuts in proportion, additive increase, release."""

from __future__ import annotations

from orchestrator.engine.records import NEVER
from plugins.bcn import BCN_CP, BCN_RP, BcnCongestionPoint, BcnReactionPoint
from tests.plugins.scheme_driver import Driver

LINK = 10**9


def test_a_message_tells_the_queues_status_once_a_sample_base():
    cp = Driver(BCN_CP, BcnCongestionPoint(level=20_000, sample_base=15_000), bytes=20_000)
    assert cp.come("arrival", length=1500) == 0, "at the level"
    cp.set(bytes=30_000)
    assert cp.come("arrival", length=1500) == 1
    message = cp.message[0]
    found = [int(message[name]) for name in ("feedback", "offset", "delta")]
    assert found == [31, 10_000, 30_000]
    cp.set(bytes=90_000)
    assert [cp.come("arrival", length=1500) for _ in range(10)] == [0] * 9 + [1]
    message = cp.message[0]
    assert [int(message[name]) for name in ("feedback", "offset", "delta")] == [63, 70_000, 60_000]


def test_the_rate_is_cut_in_proportion_and_raised_by_equal_steps():
    rp = Driver(BCN_RP, BcnReactionPoint(), rate=LINK, link_rate=LINK, timer=NEVER, backlog=1)
    assert rp.come("feedback", 0, feedback=0) == 0
    assert rp.active == 0
    rp.come("feedback", 0, feedback=32)
    assert (rp.active, rp.rate) == (1, LINK * 3 // 4)
    rp.come("feedback", 0, feedback=63)
    assert rp.rate == LINK * 3 // 4 * 65 // 128
    before = rp.rate
    for step in range(1, 4):
        rp.come("timer", rp.timer)
        assert rp.rate == before + step * 5_000_000


def test_at_the_links_rate_with_nothing_waiting_it_is_released():
    rp = Driver(BCN_RP, BcnReactionPoint(), rate=LINK, link_rate=LINK, timer=NEVER)
    rp.come("feedback", 0, feedback=1)
    while rp.active == 1:
        rp.come("timer", rp.timer)
    assert (rp.rate, rp.timer) == (LINK, NEVER)


def test_just_above_the_level_the_least_is_told_and_never_more_than_63():
    cp = Driver(BCN_CP, BcnCongestionPoint(level=20_000, sample_base=64), bytes=20_001)
    assert cp.come("arrival", length=64) == 1
    assert cp.message["feedback"][0] == 1
    cp.set(bytes=20_000 + 20_000 * 62 // 63 + 1)
    cp.come("arrival", length=64)
    assert cp.message["feedback"][0] == 62
    cp.set(bytes=40_000)
    cp.come("arrival", length=64)
    assert cp.message["feedback"][0] == 63


def test_octets_count_while_there_is_nothing_to_tell():
    cp = Driver(BCN_CP, BcnCongestionPoint(level=20_000, sample_base=3000), bytes=30_000)
    assert cp.come("arrival", length=64) == 1
    cp.set(bytes=10_000)
    assert [cp.come("arrival", length=1500) for _ in range(3)] == [0] * 3
    cp.set(bytes=30_000)
    assert cp.come("arrival", length=64) == 1
    assert [cp.come("arrival", length=octets) for octets in (2999, 1)] == [0, 1]


def limited(**params: object) -> Driver:
    """A source of BCN on its link, with a frame waiting."""
    settings = BcnReactionPoint(**params)  # type: ignore[arg-type]
    return Driver(BCN_RP, settings, rate=7, link_rate=LINK, timer=NEVER, backlog=1)


def test_a_source_begins_at_its_links_rate_and_its_clock_with_the_first_message():
    rp = limited(time_reset=10**6)
    rp.come("feedback", 500, feedback=1)
    assert (rp.active, rp.rate, rp.target, rp.timer) == (
        *(1, LINK * 127 // 128, LINK * 127 // 128, 10**6 + 500),
    )
    rp.come("feedback", 900, feedback=1)
    assert (rp.rate, rp.timer) == (LINK * 127 // 128 * 127 // 128, 10**6 + 500)


def test_a_message_leaves_a_half_and_the_least_rate():
    rp = limited(gd="1/63", min_rate=300_000_000)
    rp.come("feedback", 0, feedback=60)
    assert (rp.rate, rp.target) == (LINK // 2, LINK // 2)
    rp.come("feedback", 0, feedback=60)
    assert rp.rate == 300_000_000


def test_with_frames_waiting_it_is_kept_at_the_links_rate():
    rp = limited(time_reset=10**6, ai_rate=LINK)
    rp.come("feedback", 0, feedback=1)
    rp.come("timer", 10**6)
    assert (rp.rate, rp.target, rp.active, rp.timer) == (LINK, LINK, 1, 2 * 10**6)
    rp.set(backlog=0)
    rp.come("timer", 2 * 10**6)
    assert (rp.active, rp.timer) == (0, NEVER)


def test_it_never_asks_for_a_probe():
    rp = limited()
    assert [rp.come(event, 0, feedback=1) for event in ("feedback", "timer")] == [0, 0]
