"""P4QCN's reaction point gives the paper's rate series; its congestion point answers as it says."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from pydantic import ValidationError

from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.records import CE, NEVER, RETURNED
from plugins.p4qcn_cp import P4QCN_CP, P4qcnCongestionPoint
from plugins.p4qcn_rp import P4QCN_RP, P4qcnReactionPoint
from plugins.p4qcn_thresholds import in_flight, thresholds
from tests.plugins.scheme_driver import Driver

MBIT = 10**6
SERIES = [2, 3, 3.5, 3.75, 3.875, 3.9375, 6.46875]
"""Mb/s after one message to a source of 4 Mb/s, and at the end of each cycle (spec)."""


def source(**params: object) -> Driver:
    """A source that has just begun, on a link of 7 Mb/s, with frames waiting."""
    return Driver(
        P4QCN_RP,
        P4qcnReactionPoint(**({"initial_rate": 4 * MBIT} | params)),
        rate=7 * MBIT,
        link_rate=7 * MBIT,
        backlog=15_000,
        timer=NEVER,
    )


def test_the_rate_series_is_the_papers_exactly():
    rp = source()
    rp.come("feedback")
    rates = [rp.rate]
    for _ in range(6):
        for sent in range(100):
            assert rp.rate == rates[-1], sent
            rp.come("sent", length=1500)
        rates.append(rp.rate)
    assert rates == [rate * MBIT for rate in SERIES]
    assert rp.target == 7 * MBIT, "the target of 9 Mb/s is capped at the link's rate"


def test_a_message_in_recovery_begins_anew_from_the_rate_it_finds():
    rp = source()
    rp.come("feedback")
    for _ in range(150):
        rp.come("sent", length=1500)
    assert rp.rate == 3 * MBIT
    rp.come("feedback")
    assert (rp.rate, rp.target) == (1.5 * MBIT, 3 * MBIT)
    for _ in range(99):
        rp.come("sent", length=1500)
    assert rp.rate == 1.5 * MBIT, "the byte counter began anew as well"


@pytest.mark.parametrize(("beta", "left"), [(Fraction(1, 2), 3), (Fraction(3, 4), 2.5)])
def test_beta_decides_how_much_is_cut(beta, left):
    rp = source(beta=beta)
    rp.state["byte_stage"] = 3
    rp.come("feedback")
    assert rp.rate == left * MBIT
    assert rp.state["byte_stage"][0] == 0


def test_a_limiter_at_the_links_rate_with_nothing_waiting_is_released():
    rp = source()
    rp.come("feedback")
    rp.set(rate=7 * MBIT, backlog=1500)
    rp.come("sent", length=1500)
    assert rp.active == 1
    rp.set(rate=7 * MBIT, backlog=0)
    rp.come("sent", length=1500)
    assert rp.active == 0


def test_the_cycle_that_brings_the_links_rate_back_releases_the_limiter():
    rp = source(ai_rate=7 * MBIT)
    rp.come("feedback")
    rp.set(backlog=0)
    sent = 0
    while rp.active == 1 and sent < 700:
        rp.come("sent", length=1500)
        sent += 1
    assert sent == 600, "the first cycle of active increase ends with this frame"


def switch(**params: object) -> Driver:
    return Driver(P4QCN_CP, P4qcnCongestionPoint(**params), bytes=0)


def test_above_the_mark_every_flow_is_answered_once_an_interval():
    cp = switch(min_interval=50)
    cp.set(bytes=16_500)
    assert cp.come("arrival", 1000) == 0, "it has to be exceeded"
    cp.set(bytes=16_501)
    assert cp.come("arrival", 1000) == 1
    assert cp.message["kind"][0] == RETURNED
    assert [cp.come("arrival", now) for now in (1001, 1049, 1050, 1051)] == [0, 0, 1, 0]


def test_between_the_marks_answers_come_in_proportion():
    cp = switch(low=10_000, high=20_000, min_interval=0)
    clock, found = itertools.count(), {}
    for queue in (9_000, 10_000, 12_500, 17_500, 20_000, 20_001):
        cp.set(bytes=queue)
        found[queue] = sum(cp.come("arrival", next(clock)) for _ in range(4000)) / 4000
    assert found[9_000] == found[10_000] == 0
    assert found[20_000] == found[20_001] == 1
    assert found[12_500] == pytest.approx(0.25, abs=0.03)
    assert found[17_500] == pytest.approx(0.75, abs=0.03)


def test_over_three_points_frames_are_marked_instead():
    cp = switch(points="three")
    cp.set(bytes=16_501)
    assert cp.come("arrival", 0, mark=0) == 0
    assert cp.frame["mark"][0] == CE


def test_marks_out_of_order_are_refused():
    with pytest.raises(ValidationError, match="low must not be above high"):
        P4qcnCongestionPoint(low=20_000, high=10_000)


def test_an_answer_is_a_header_and_says_how_far_above_the_mark():
    cp = switch()
    cp.message["feedback"], cp.message["delta"] = 9, 9
    cp.set(bytes=16_500 + 70)
    assert cp.come("arrival", 0) == 1
    found = [cp.message[name][0] for name in ("kind", "feedback", "offset", "delta")]
    assert found == [RETURNED, 0, 70, 0]


def test_a_flow_is_answered_at_once_the_first_time_even_at_time_0():
    cp = switch(min_interval=50)
    cp.set(bytes=20_000)
    assert [cp.come("arrival", now) for now in (0, 49, 50)] == [1, 0, 1]


def test_every_flow_has_a_time_of_its_own():
    assert P4QCN_CP.has_flow_states


def test_the_chance_is_drawn_against_the_upper_20_bits():
    """A quarter: the draws that follow decide, one by one."""
    cp = switch(low=10_000, high=20_000, min_interval=0)
    cp.set(bytes=12_500)
    draw, found, expected = 12345, [], []
    for now in range(50):
        draw = int(lfsr_next(draw))
        expected.append(int(draw >> 12 < 1 << 18))
        found.append(cp.come("arrival", now))
    assert found == expected
    assert 0 < sum(found) < 50


def test_at_the_upper_mark_nothing_is_left_to_chance_and_nothing_drawn_above_it():
    cp = switch(low=10_000, high=20_000, min_interval=0)
    for queue in (9_999, 10_000):
        cp.set(bytes=queue)
        assert cp.come("arrival", 0) == 0
        assert cp.state["lfsr"][0] == 12345, "nor is there below the lower one, or at it"
    cp.set(bytes=20_001)
    cp.come("arrival", 0)
    assert cp.state["lfsr"][0] == 12345
    cp.set(bytes=20_000)
    assert cp.come("arrival", 1) == 1
    assert cp.state["lfsr"][0] == lfsr_next(12345)


def test_marks_are_said_to_be_made_where_they_are_made():
    assert not P4qcnCongestionPoint().marks()
    assert P4qcnCongestionPoint(points="three").marks()


def test_a_mark_leaves_the_rest_of_the_octet():
    cp = switch(points="three")
    cp.set(bytes=16_501)
    cp.come("arrival", 0, mark=40 << 2)
    assert cp.frame["mark"][0] == 40 << 2 | CE


def test_the_first_cut_is_of_the_links_rate_or_of_what_is_lower():
    for initial, first in ((0, 7 * MBIT), (1, 1), (9 * MBIT, 7 * MBIT)):
        rp = source(initial_rate=initial, min_rate=1)
        rp.set(rate=3)
        rp.come("feedback")
        assert (rp.target, rp.rate, rp.active) == (first, first - first // 2, 1)


def test_the_rate_never_falls_below_the_least():
    rp = source(min_rate=1_500_000)
    for _ in range(2):
        rp.come("feedback")
    assert (rp.rate, rp.target) == (1_500_000, 2 * MBIT)


def test_octets_beyond_a_cycle_count_for_the_next_one():
    rp = source(byte_reset=2000)
    rp.come("feedback")
    for _ in range(4):
        rp.come("sent", length=1500)
    assert (rp.state["byte_stage"][0], rp.state["countdown"][0]) == (3, 2000)


def test_without_a_limiter_octets_do_not_count():
    rp = source()
    rp.come("sent", length=1500)
    assert (rp.active, rp.rate, rp.state["countdown"][0]) == (0, 7 * MBIT, 0)


def test_what_is_released_begins_anew():
    rp = source()
    rp.come("feedback")
    rp.state["byte_stage"] = 4
    rp.set(rate=7 * MBIT, backlog=0, timer=5)
    rp.come("sent", length=1500)
    assert (rp.active, rp.target, rp.timer, rp.state["byte_stage"][0]) == (0, 7 * MBIT, NEVER, 0)


def test_the_thresholds_are_the_papers_formulas():
    found = thresholds(buffer=1_000_000, ports=4, in_flight=3000)
    assert found.pfc == (1_000_000 - 32 * 3000) // 32 == 28_250
    assert found.p4qcn == 25_250
    assert found.p4qcn_shared == int(8 * (1_000_000 - 96_000) / (32 * 9))
    assert found.possible
    assert not thresholds(buffer=90_000, ports=4, in_flight=3000).possible
    assert thresholds(288 * 9, 1, 0, 8).p4qcn_shared == 287, "strictly below"
    assert in_flight(7 * MBIT, 20 * 10**9) == 17_500


def test_a_source_never_asks_for_a_probe():
    rp = source(byte_reset=1500)
    told = [rp.come(event, 0, feedback=1, length=1501) for event in ("feedback", "sent")]
    assert told == [0, 0]


def test_what_ends_a_limiter_counts_no_more_and_what_is_short_of_a_cycle_is_none():
    rp = Driver(P4QCN_RP, P4qcnReactionPoint(), rate=10**9, link_rate=10**9, timer=NEVER)
    rp.set(active=1, backlog=0, target=7)
    rp.state["countdown"], rp.state["byte_stage"] = 500, 3
    assert rp.come("sent", 5, length=1000) == 0
    assert (rp.active, rp.target, rp.state["countdown"][0]) == (0, 10**9, 500)
    assert rp.come("sent", 6, length=1000) == 0
    rp.set(active=1, backlog=1500, rate=10**8)
    rp.state["countdown"] = 501
    assert rp.come("sent", 7, length=500) == 0
    assert (rp.state["countdown"][0], rp.state["byte_stage"][0], rp.rate) == (1, 0, 10**8)


def test_its_stages_are_those_by_octets():
    assert [one.field for one in P4QCN_RP.columns] == ["byte_stage"]
