"""Which stalls a run had, by whom, and which of its loops must have felt one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.run.datapath_stalls import (
    CAUSES,
    HYPERVISOR,
    PROCESSES,
    STOPPED,
    UNEXPLAINED,
    UNKNOWN,
    WORK,
    LongIteration,
    StallLog,
    find_stalls,
)
from orchestrator.run.stall_impact import ControlLoop
from orchestrator.run.stall_report import SHOWN, stall_report

US, MS = 1000, 1_000_000
"""In ns."""
PS = 1000
"""In a ns."""
COST = 500.0
NIC, REST = frozenset({"nic"}), frozenset({"switch", "sink"})
LOOP = ControlLoop(
    "switch.sink", frozenset({"nic", "switch"}), 100 * US * PS, 300 * US * PS, ("nic",)
)


def stall(at_ns: int, length_ns: int, gone_ns: int = 30 * US, **kernel: int) -> LongIteration:
    """A turn for whose time the kernel says what `kernel` has: nothing is known but its length."""
    begun = LongIteration(at_ns, at_ns + length_ns, at_ns * PS, (at_ns + gone_ns) * PS)
    return replace(begun, **{"span_ns": length_ns, "waited_ns": 0, **kernel})


def log(*turns: LongIteration, nodes: frozenset[str] = NIC, more: int = 0) -> StallLog:
    return StallLog(nodes, turns, len(turns) + more, COST, 50 * US)


def cause_of(turn: LongIteration) -> str:
    return find_stalls([log(turn)])[0].cause


@pytest.mark.parametrize(
    ("kernel", "cause"),
    [
        ({"cpu_ns": 10 * MS, "work": 20_000}, WORK),
        ({"cpu_ns": 10 * MS, "work": 9_000}, UNEXPLAINED),
        ({"cpu_ns": 10 * MS, "work": 11_000}, WORK),
        ({"cpu_ns": 10 * US, "waited_ns": 10 * MS, "slept": 0}, PROCESSES),
        ({"cpu_ns": 10 * US, "waited_ns": 10 * MS, "slept": 2}, PROCESSES),
        ({"cpu_ns": 10 * US, "waited_ns": 20 * US, "slept": 1}, STOPPED),
        ({"cpu_ns": 10 * US, "waited_ns": 20 * US, "slept": 0}, HYPERVISOR),
        ({"cpu_ns": 1 * MS, "waited_ns": 4 * MS, "slept": 0}, HYPERVISOR),
        ({"cpu_ns": 1 * MS, "waited_ns": 5 * MS, "slept": 0}, PROCESSES),
        ({"cpu_ns": 10 * US, "waited_ns": UNKNOWN, "slept": 0}, UNEXPLAINED),
        ({"cpu_ns": 10 * US, "waited_ns": UNKNOWN, "slept": 1}, STOPPED),
    ],
)
def test_the_cause_is_where_most_of_the_time_went(kernel: dict[str, int], cause: str) -> None:
    assert cause_of(stall(MS, 10 * MS, **kernel)) == cause


@pytest.mark.parametrize("slept", [0, 1])
@pytest.mark.parametrize("waited", [UNKNOWN, 0, 3 * MS, 99 * MS])
@pytest.mark.parametrize("cpu", [0, 4 * MS, 12 * MS, 99 * MS])
@pytest.mark.parametrize("work", [0, 3_000, 10**6])
def test_shares_are_the_whole_time_and_none_of_them_is_less_than_nothing(work, cpu, waited, slept):
    turn = stall(0, 10 * MS, span_ns=15 * MS, cpu_ns=cpu, waited_ns=waited, work=work, slept=slept)
    shares = turn.shares_ns(COST)
    assert set(shares) == set(CAUSES)
    assert min(shares.values()) >= 0
    assert sum(shares.values()) == pytest.approx(10 * MS)


def test_what_the_kernel_says_of_the_turns_before_is_no_part_of_a_stall():
    """It was last asked 9 ms before a stall of 1 ms, and on its core meanwhile."""
    before = stall(9 * MS, MS, span_ns=10 * MS, cpu_ns=9 * MS, waited_ns=MS)
    assert before.shares_ns(COST)[PROCESSES] == MS
    assert before.shares_ns(COST)[WORK] == before.shares_ns(COST)[UNEXPLAINED] == 0


def test_turns_of_several_threads_at_once_are_one_moment():
    both = log(stall(5 * MS, 2 * MS, slept=1)), log(stall(6 * MS, 3 * MS, slept=1), nodes=REST)
    (one,) = find_stalls(both)
    assert (one.from_ns, one.to_ns, one.threads) == (5 * MS, 9 * MS, 2)


def test_turns_that_follow_on_each_other_are_moments_of_their_own():
    turns = [stall(5 * MS, MS), stall(6 * MS, MS), stall(8 * MS, MS)]
    assert [one.from_ns for one in find_stalls([log(*turns)])] == [5 * MS, 6 * MS, 8 * MS]
    assert [one.threads for one in find_stalls([log(*turns)])] == [1, 1, 1]


def test_logs_of_threads_are_brought_into_one_order():
    late, early = stall(9 * MS, MS), stall(2 * MS, MS)
    found = find_stalls([log(late), log(early, nodes=REST)])
    assert [one.from_ns for one in found] == [2 * MS, 9 * MS]


@pytest.mark.parametrize(("gone", "felt"), [(30 * US, 0), (400 * US, 0), (401 * US, 1)])
def test_a_loop_feels_what_went_by_of_its_own_time_and_is_longer_than_its_reaction(gone, felt):
    said = stall_report([log(stall(MS, 50 * MS, gone))], [LOOP])
    assert said["felt"] == felt
    assert said["loops"]["switch.sink"]["felt"] == felt
    assert said["loops"]["switch.sink"]["longest_s"] == pytest.approx(gone / 1e9)
    assert said["loops"]["switch.sink"]["reaction_time_s"] == pytest.approx(400e-6)


def test_a_loop_that_no_clock_is_held_for_feels_all_of_it():
    programs = replace(LOOP, held=False)
    said = stall_report([log(stall(MS, 350 * US), stall(9 * MS, 450 * US))], [programs, LOOP])
    assert said["felt"] == 1
    assert said["loops"]["switch.sink in real time"]["felt"] == 1
    assert said["loops"]["switch.sink"]["felt"] == 0


def test_a_slow_run_lives_by_its_own_time():
    """At a pace of 0.01 a stall of 10 ms is 100 us of the run, for programs too."""
    programs = replace(LOOP, held=False)
    said = stall_report([log(stall(MS, 10 * MS))], [programs], pace=0.01)
    assert said["loops"]["switch.sink in real time"]["longest_s"] == pytest.approx(100e-6)
    assert said["held_s"] == pytest.approx(70e-6)


def test_a_loop_feels_nothing_of_a_thread_that_drives_none_of_its_nodes():
    elsewhere = log(stall(MS, 50 * MS, 50 * MS), nodes=frozenset({"other"}))
    said = stall_report([log(stall(MS, MS)), elsewhere], [LOOP])
    assert said["felt"] == 0
    assert said["loops"]["switch.sink"]["longest_s"] == pytest.approx(30e-6)


def test_what_lies_before_time_0_is_no_part_of_the_run():
    early = replace(stall(0, 10 * MS), from_ps=-(10**12), to_ps=20 * US * PS)
    assert stall_report([log(early)], [LOOP])["longest"][0]["gone_s"] == pytest.approx(20e-6)


def test_the_table_adds_up():
    waited = {"cpu_ns": 0, "waited_ns": 10 * MS}
    logs = [
        log(stall(MS, 10 * MS, **waited), stall(30 * MS, 40 * MS, slept=1), more=7),
        log(stall(35 * MS, 5 * MS, slept=1), nodes=REST),
    ]
    said = stall_report(logs, [LOOP])
    assert (said["count"], said["not_logged"], said["controlled"]) == (2, 7, 1)
    assert said["causes"] == {
        "processes": {"count": 1, "time_s": pytest.approx(0.01)},
        "stopped": {"count": 1, "time_s": pytest.approx(0.04)},
    }
    assert said["time_s"] == pytest.approx(0.05)
    assert said["longest_s"] == pytest.approx(0.04)
    assert said["held_s"] == pytest.approx(0.05 - 2 * 30e-6)
    assert said["floor_s"] == pytest.approx(50e-6)
    assert [row["cause"] for row in said["longest"]] == ["stopped", "processes"]
    assert [row["threads"] for row in said["longest"]] == [2, 1]
    assert said["longest"][1]["at_s"] == said["longest"][1]["run_s"] == pytest.approx(1e-3)
    json.dumps(said)


@pytest.mark.parametrize(("gone", "felt"), [(400 * US, 0), (401 * US, 1)])
def test_what_the_log_had_no_room_for_is_felt_all_the_same(gone, felt):
    full = replace(log(stall(MS, MS), more=9), most_ns=70 * MS, most_ps=gone * PS)
    said = stall_report([full, log(nodes=REST)], [LOOP])
    assert (said["count"], said["not_logged"], said["felt"]) == (1, 9, felt)
    assert said["loops"]["switch.sink"]["longest_s"] == pytest.approx(gone / 1e9)
    programs = stall_report([full], [replace(LOOP, held=False)], pace=0.5)
    assert programs["loops"]["switch.sink in real time"]["longest_s"] == pytest.approx(0.035)


def test_a_long_table_is_cut_and_says_how_much_there_is():
    turns = [stall(place * MS, (100 + place) * US) for place in range(1, SHOWN + 5)]
    loops = [replace(LOOP, queue=f"q{n}", drain_ps=n * US * PS) for n in range(1, SHOWN + 5)]
    said: dict[str, Any] = stall_report([log(*turns)], loops)
    assert said["count"] == said["controlled"] == SHOWN + 4
    assert len(said["longest"]) == len(said["loops"]) == SHOWN
    assert said["longest"][0]["time_s"] == pytest.approx((104 + SHOWN) * 1e-6)
    assert next(iter(said["loops"])) == "q1", "the loop that came closest to feeling one"


def test_a_quiet_run_has_none():
    said = stall_report([log(), log(nodes=REST)], [LOOP])
    assert (said["count"], said["felt"], said["causes"], said["longest"]) == (0, 0, {}, [])
    assert said["loops"]["switch.sink"]["longest_s"] == 0
