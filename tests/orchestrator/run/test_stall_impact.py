"""Which loops over several machines must have felt a stall of one of them, or of two together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.run.datapath_stalls import LongIteration, StallLog, find_stalls
from orchestrator.run.stall_impact import ControlLoop
from orchestrator.run.stall_report import UnloggedMachine, stall_report

US, MS = 1000, 1_000_000
"""In ns."""
PS = 1000
LEFT, RIGHT = frozenset({"nic"}), frozenset({"switch", "sink"})
LOOP = ControlLoop(
    "switch.sink", frozenset({"nic", "switch"}), 100 * US * PS, 300 * US * PS, ("nic",)
)
"""It reacts in 400 us."""


def turn(at_ns: int, length_ns: int) -> LongIteration:
    """Of a machine whose clock nobody holds: all of it went by."""
    return LongIteration(
        at_ns, at_ns + length_ns, at_ns * PS, (at_ns + length_ns) * PS, waited_ns=0
    )


def left(*turns: LongIteration, error_ns: int = 0) -> StallLog:
    return StallLog(LEFT, turns, len(turns), 500.0, 50 * US, machine="left", error_ns=error_ns)


def right(*turns: LongIteration, error_ns: int = 0) -> StallLog:
    return StallLog(RIGHT, turns, len(turns), 500.0, 60 * US, machine="right", error_ns=error_ns)


def met(
    *logs: StallLog, loop: ControlLoop = LOOP, pace: float = 1.0, one_clock: bool = False
) -> float:
    """Us that the loop was behind at the most."""
    row = stall_report(logs, [loop], pace, one_clock=one_clock)["loops"]
    (only,) = row.values()
    return float(only["longest_s"] * 1e6)


def test_turns_of_two_machines_at_once_are_moments_of_their_own():
    found = find_stalls([left(turn(MS, MS)), right(turn(MS, 2 * MS)), left(turn(MS, 3 * MS))])
    assert [(one.machine, one.ns, one.threads) for one in found] == [
        ("left", 3 * MS, 2),
        ("right", 2 * MS, 1),
    ]


def test_stalls_of_two_machines_at_once_add_up_for_a_loop_over_both():
    both = left(turn(5 * MS, 250 * US)), right(turn(5 * MS, 200 * US))
    assert met(*both) == pytest.approx(450)
    said = stall_report(both, [LOOP], one_clock=False)
    assert said["felt"] == 2
    assert [said["machines"][name]["felt"] for name in ("left", "right")] == [1, 1]
    assert met(left(turn(5 * MS, 250 * US)), right()) == pytest.approx(250)


@pytest.mark.parametrize(
    ("apart_us", "error_us", "behind_us"),
    [(0, 0, 450), (100, 0, 450), (101, 0, 250), (140, 40, 450), (141, 40, 250)],
)
@pytest.mark.parametrize("later", ["left", "right"])
def test_those_that_a_round_trip_lies_between_at_the_most_add_up(
    apart_us, error_us, behind_us, later
):
    """By clocks that may be apart by the errors of both."""
    first, then = turn(5 * MS, 250 * US), turn(5 * MS + (250 + apart_us) * US, 200 * US)
    if later == "left":
        first, then = turn(5 * MS, 200 * US), turn(5 * MS + (200 + apart_us) * US, 250 * US)
    one, other = (first, then) if later == "right" else (then, first)
    errors = {"error_ns": error_us * US // 2}
    both = left(one, **errors), right(other, **errors)
    assert met(*both) == pytest.approx(behind_us)
    assert stall_report(both, [LOOP], one_clock=False)["felt"] == (2 if behind_us > 400 else 0)


def test_a_source_that_takes_its_time_is_reached_by_what_comes_meanwhile():
    slow = replace(LOOP, acts_ps=50 * US * PS)
    assert slow.reaction_ps == LOOP.reaction_ps + 50 * US * PS
    apart = left(turn(5 * MS, 250 * US)), right(turn(5 * MS + 400 * US, 200 * US))
    assert met(*apart) == pytest.approx(250)
    assert met(*apart, loop=slow) == pytest.approx(450)


def test_a_round_trip_of_a_slow_run_lasts_longer_by_the_machines_clock():
    apart = left(turn(5 * MS, 250 * US)), right(turn(6 * MS, 200 * US))
    assert met(*apart) == pytest.approx(250)
    assert met(*apart, pace=0.1) == pytest.approx(450)


def test_a_long_stall_meets_all_of_the_other_machine_that_fall_into_it():
    many = right(turn(6 * MS, 30 * US), turn(7 * MS, 40 * US), turn(90 * MS, 50 * US))
    assert met(left(turn(5 * MS, 3 * MS)), many) == pytest.approx(3070)


def test_a_loop_of_one_machine_meets_nothing_of_the_other():
    here = replace(LOOP, nodes=frozenset({"switch", "sink"}))
    both = left(turn(5 * MS, 250 * US)), right(turn(5 * MS, 200 * US))
    assert met(*both, loop=here) == pytest.approx(200)


def test_what_is_of_another_thread_meets_no_loop():
    """Its machine has a thread that the loop does not touch: that one's stall is not its."""
    other = replace(left(turn(5 * MS, 250 * US)), nodes=frozenset({"elsewhere"}))
    assert met(other, left(), right(turn(5 * MS, 200 * US))) == pytest.approx(200)
    long = right(turn(5 * MS, 450 * US))
    said = stall_report([other, left(), long], [LOOP], one_clock=False)
    assert (said["felt"], said["machines"]["left"]["felt"]) == (1, 0)


def test_machines_that_are_held_back_together_are_as_threads_of_one():
    both = left(turn(5 * MS, 250 * US)), right(turn(5 * MS, 200 * US))
    assert met(*both, one_clock=True) == pytest.approx(250)
    programs = replace(LOOP, held=False)
    assert met(*both, loop=programs, one_clock=True) == pytest.approx(450)


def test_what_there_was_no_room_for_may_have_come_at_any_time():
    full = replace(right(turn(MS, 60 * US)), count=9, most_ps=200 * US * PS, most_ns=200 * US)
    assert met(left(turn(50 * MS, 250 * US)), full) == pytest.approx(450)
    said = stall_report([left(turn(50 * MS, 250 * US)), full], [LOOP], one_clock=False)
    assert (said["felt"], said["machines"]["right"]["felt"]) == (2, 1)
    assert said["machines"]["right"]["not_logged"] == 8


def test_each_machine_is_told_and_all_of_them_together():
    waited = {"cpu_ns": 0, "waited_ns": 2 * MS, "span_ns": 2 * MS}
    logs = [left(replace(turn(MS, 2 * MS), **waited)), right(turn(MS, MS), turn(9 * MS, MS))]
    said: dict[str, Any] = stall_report(logs, [LOOP], one_clock=False)
    assert (said["count"], said["time_s"], said["floor_s"]) == (3, pytest.approx(4e-3), 60e-6)
    mine, its = said["machines"]["left"], said["machines"]["right"]
    assert (mine["count"], mine["longest_s"], mine["floor_s"]) == (1, pytest.approx(2e-3), 50e-6)
    assert mine["causes"] == {"processes": {"count": 1, "time_s": pytest.approx(2e-3)}}
    assert (its["count"], its["time_s"]) == (2, pytest.approx(2e-3))
    assert its["held_s"] == mine["held_s"] == said["held_s"] == 0
    assert [(row["machine"], row["at_s"]) for row in said["longest"]] == [
        ("left", pytest.approx(1e-3)),
        ("right", pytest.approx(1e-3)),
        ("right", pytest.approx(9e-3)),
    ]
    json.dumps(said)


def test_the_order_of_the_machines_changes_no_number():
    logs = [left(turn(MS, 250 * US)), right(turn(MS, 200 * US), turn(9 * MS, MS))]
    one, other = (stall_report(which, [LOOP], one_clock=False) for which in (logs, logs[::-1]))
    assert one == other


def test_a_machine_that_tells_nothing_is_no_machine_without_stalls():
    silent = UnloggedMachine("right", RIGHT, "it is older")
    said = stall_report([left(turn(MS, 50 * US))], [LOOP], one_clock=False, silent=[silent])
    assert said["machines"]["right"] == {"untold": "it is older"}
    assert said["loops"]["switch.sink"]["untold"] == ["right"]
    here = replace(LOOP, nodes=LEFT)
    assert "untold" not in stall_report([left()], [here], silent=[silent])["loops"]["switch.sink"]
    nobody = stall_report([], [LOOP], silent=[silent])
    assert (nobody["count"], nobody["machines"]) == (0, {"right": {"untold": "it is older"}})


def test_a_run_on_one_machine_names_none():
    said = stall_report([StallLog(LEFT, [turn(MS, MS)], 1)], [LOOP])
    assert "machines" not in said
    assert "machine" not in said["longest"][0]
