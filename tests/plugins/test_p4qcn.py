"""P4QCN's reaction point gives the paper's rate series; its congestion point answers as it says."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from pydantic import ValidationError

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


def test_beta_decides_how_much_is_cut():
    rp = source(beta=Fraction(1, 2))
    rp.come("feedback")
    assert rp.rate == 3 * MBIT


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


def test_the_thresholds_are_the_papers_formulas():
    found = thresholds(buffer=1_000_000, ports=4, in_flight=3000)
    assert found.pfc == (1_000_000 - 32 * 3000) // 32 == 28_250
    assert found.p4qcn == 25_250
    assert found.p4qcn_shared == int(8 * (1_000_000 - 96_000) / (32 * 9))
    assert found.possible
    assert not thresholds(buffer=90_000, ports=4, in_flight=3000).possible
    assert thresholds(288 * 9, 1, 0, 8).p4qcn_shared == 287, "strictly below"
    assert in_flight(7 * MBIT, 20 * 10**9) == 17_500
