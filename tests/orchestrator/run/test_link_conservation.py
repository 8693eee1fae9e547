"""Every link is balanced: what comes twice, in another order, or late, is told; made-up counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.run.link_conservation import LinkCounts, link_findings
from orchestrator.run.run_fidelity import Demand, judge
from tests.orchestrator.run.test_run_fidelity import QUIET

US = 10**6
DEMAND = Demand(feedback_loop_ps=100 * US, drain_ps=300 * US, shortest_phase_ps=10**12)
SOUND = LinkCounts(
    entity="nic>switch",
    sent=100_000,
    received=99_990,
    left=100_000,
    came=99_995,
    dropped=0,
    departed=100_004,
    delay_ps=50 * US,
    extra_ps=100_000 * 2 * US,
)
"""Ten frames are under way: four in the delay line, five between, five in the socket."""


def judged(*crossings: LinkCounts) -> dict:
    return judge(replace(QUIET, crossings=list(crossings)), DEMAND)


def test_a_sound_link_gives_no_reasons() -> None:
    told = judged(SOUND, replace(SOUND, entity="switch>nic", sent=0, received=0, left=0, came=0))
    assert (told["verdict"], told["reasons"]) == ("valid", [])
    link = told["links"]["nic>switch"]
    assert (link["sent"], link["received"], link["duplicated"]) == (100_000, 99_990, 0)
    assert link["lost"] + link["under_way"] == 10
    assert link["delay_s"] == pytest.approx(52e-6)
    assert link["planned_delay_s"] == pytest.approx(50e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"received": 100_003, "came": 100_003, "left": 100_003},  # repeated before the interface
        {"received": 100_003, "came": 100_003},  # between the interfaces
        {"received": 100_003, "came": 100_000},  # behind them
        {"received": 100_003, "left": None, "came": None},  # where interfaces do not count
        {"left": 100_003},  # put in by somebody, and lost again
        {"came": 100_003},
        {"repeated": 3},  # while as many others were lost
    ],
)
def test_frames_that_were_not_sent_are_told_wherever_they_came_in(wrong: dict) -> None:
    told = judged(SOUND, replace(SOUND, entity="switch>sink", **wrong))
    assert told["verdict"] == "invalid"
    (reason,) = told["reasons"]
    assert reason.startswith("invalid: switch>sink brought 3 frames that were not sent")
    assert told["links"]["switch>sink"]["duplicated"] == 3


def test_a_single_one_in_many_frames_is_degraded() -> None:
    many = replace(SOUND, sent=10**6, left=10**6, came=10**6, departed=10**6, extra_ps=None)
    assert judged(replace(many, received=10**6 + 1))["verdict"] == "degraded"
    assert judged(replace(many, received=10**6))["verdict"] == "valid"


def test_frames_out_of_order_are_told() -> None:
    told = judged(replace(SOUND, reordered=4))
    assert told["verdict"] == "invalid"
    assert "4 frames out of order" in told["reasons"][0]
    assert told["links"]["nic>switch"]["reordered"] == 4


def test_frames_that_came_back_into_order_are_nobodys_fault() -> None:
    assert judged(replace(SOUND, reordered=-4, repeated=-2))["verdict"] == "valid"


def test_a_frame_that_no_port_sent_is_told() -> None:
    told = judged(replace(SOUND, departed=99_998))
    assert told["verdict"] == "invalid"
    assert "2 frames that no port sent" in told["reasons"][0]


def test_frames_between_two_interfaces_are_lost() -> None:
    assert replace(SOUND, left=100_000, came=99_900).lost == 100
    assert replace(SOUND, left=None).lost == 0


@pytest.mark.parametrize(
    ("extra_us", "verdict"), [(19, "valid"), (21, "degraded"), (59, "degraded"), (61, "invalid")]
)
def test_a_hidden_delay_is_judged_by_the_loop(extra_us: int, verdict: str) -> None:
    told = judged(replace(SOUND, extra_ps=100_000 * extra_us * US))
    assert told["verdict"] == verdict
    assert [f"takes {50 + extra_us} us instead of 50 us" in r for r in told["reasons"]] == (
        [] if verdict == "valid" else [True]
    )


def test_a_link_that_was_not_used_or_timed_has_no_delay() -> None:
    assert replace(SOUND, extra_ps=None).mean_extra_ps is None
    assert replace(SOUND, sent=0).mean_extra_ps is None
    assert all(grade == "valid" for grade, _ in link_findings([replace(SOUND, extra_ps=None)], 1))


BARE = LinkCounts(entity="a>b", sent=10, received=10)


def test_of_a_link_of_which_nothing_else_is_known_nothing_is_wrong() -> None:
    assert (BARE.surplus, BARE.reordered, BARE.lost, BARE.in_flight) == (0, 0, 0, 0)
    assert BARE.table() == {
        "sent": 10,
        "received": 10,
        "lost": 0,
        "under_way": 0,
        "duplicated": 0,
        "reordered": 0,
        "delay_s": None,
        "planned_delay_s": 0.0,
    }


@pytest.mark.parametrize(
    ("counts", "lost", "under_way"),
    [
        ({"left": 10, "came": 10}, 0, 3),
        ({"left": 10, "came": 9}, 1, 2),
        ({"left": 9, "came": 10}, 0, 3),
        ({"left": 8, "came": 8, "dropped": 2}, 2, 1),
        ({"left": 8, "came": 7, "dropped": 2}, 3, 0),
        ({"left": 10, "came": 5}, 5, 0),  # more came out than came in
    ],
)
def test_what_did_not_arrive_is_lost_or_under_way(
    counts: dict[str, int], lost: int, under_way: int
) -> None:
    table = replace(BARE, received=7, **counts).table()
    assert (table["lost"], table["under_way"]) == (lost, under_way)


def test_what_is_less_than_nothing_is_nothing() -> None:
    better = replace(BARE, received=7, repeated=-3, reordered=-3, extra_ps=-50, departed=12)
    table = replace(better, delay_ps=4_000_000).table()
    assert (table["duplicated"], table["reordered"]) == (0, 0)
    assert table["delay_s"] == pytest.approx(4e-6)
    assert replace(better, extra_ps=3).mean_extra_ps == pytest.approx(0.3)
    told = link_findings([better], 1)
    assert [grade for grade, _ in told] == ["valid"] * 4
    of = "is 0 of the 10 frames sent"
    assert [text.split(";")[0] for _, text in told[:3]] == [
        f"valid: a>b brought 0 frames that were not sent, which {of}",
        f"valid: a>b brought 0 frames out of order, which {of}",
        f"valid: a>b was given 0 frames that no port sent, which {of}",
    ]
    assert told[3][1].startswith("valid: a frame takes 0 us instead of 0 us over a>b (mean); ")
    assert replace(BARE, received=7).surplus == 0


@pytest.mark.parametrize("sent", [1, 4])
@pytest.mark.parametrize(
    ("wrong", "which"),
    [
        (lambda sent: {"received": sent + 2}, "brought 2 frames that were not sent"),
        (lambda sent: {"reordered": 2}, "brought 2 frames out of order"),
        (lambda sent: {"departed": sent - 2}, "was given 2 frames that no port sent"),
    ],
)
def test_a_share_is_of_the_frames_that_the_link_was_given(
    sent: int, wrong: Callable[[int], dict[str, int]], which: str
) -> None:
    one = replace(BARE, sent=sent, received=sent)
    (text,) = [t for g, t in link_findings([replace(one, **wrong(sent))], 1) if g != "valid"]
    assert f"a>b {which}, which is {2 / sent:.3g} of the {sent} frames sent;" in text
