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
