"""What a buffer does beside counting: units, stamps on the way out, other lanes, its answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.engine import kernel_answers
from orchestrator.engine.frames.telemetry_header import FIRST, PORT, QUEUED, ROOM, STAMPED, WORDS
from orchestrator.engine.kernel_answers import (
    NOTIFY_LARGEST,
    NOTIFY_RANDOM_UNIT,
    STAMP,
    STAMP_IF_LARGER,
    STAMP_IF_SMALLER,
)
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.node.buffer import can_change_lane
from orchestrator.engine.records import CNM, DATA, HOST, NEVER, NONE
from tests.orchestrator.engine.node.bench import SOURCE, Bench, values

NOW = 900
BUSY = 10**12


def busy(answer: int = 0, **room: int) -> Bench:
    """A bench whose port 0 sends nothing; the congestion point of its first queue answers this."""
    bench = Bench(**room)
    bench.world.ports[0].free_at = BUSY
    bench.world.queues[0].congestion_point = bench.rows["point"]
    bench.tell("point", answer=answer, feedback=40)
    return bench


def test_what_a_kernel_may_answer_is_what_its_authors_were_told() -> None:
    """The numbers stand in the contract of algorithms, and in kernels that were compiled apart."""
    congestion_point = {
        "FORWARD": 0,
        "NOTIFY_ARRIVING": 1,
        "NOTIFY_HEAD": 2,
        "NOTIFY_RANDOM_UNIT": 3,
        "NOTIFY_LARGEST": 4,
        "DROP": 5,
        "TRIM": 6,
        "STAMP": 7,
        "STAMP_IF_LARGER": 8,
        "STAMP_IF_SMALLER": 9,
        "LANE": 16,
    }
    others = {"FCS_WRONG": 1, "FCS_RIGHT": 2}
    others |= {"NOTHING": 0, "SEND": 1, "REFLECT": 1, "REQUEST_CREDIT": 2, "LOST": -1}
    named = {name: value for name, value in vars(kernel_answers).items() if name.isupper()}
    assert named == congestion_point | others


def test_a_frame_takes_units_and_gives_them_back() -> None:
    bench = busy(units=1)
    w = bench.world
    index = bench.arrives(NOW, length=256)
    assert (w.units[:, 0].tolist(), int(w.frames[index].unit)) == ([index], 0)
    assert w.queues[0].free_unit == NONE
    bench.serve(0, BUSY)
    assert (w.units[:, 0].tolist(), int(w.queues[0].free_unit)) == ([NONE], 0)
    assert w.frames[index].unit == NONE


def test_a_queue_without_units_keeps_none() -> None:
    bench = busy(units=3)
    w = bench.world
    before = w.units.copy()
    for _ in range(2):
        bench.arrives(NOW, priority=1)
    bench.serve(0, BUSY)
    assert (w.units == before).all()
    assert values(w.queues[1], "frames", "free_unit") == [1, 0]


def told_about(bench: Bench) -> int:
    """The sequence number of the frame that the last message of port 0 is about."""
    frame = bench.world.frames[int(bench.world.ports[0].control_tail)]
    assert frame.kind == CNM
    return int(frame.sequence)


UNITS = 64


def draws(state: int) -> list[int]:
    """The states of a register from which a unit is drawn, until one of the first two is."""
    found = [int(lfsr_next(state))]
    while found[-1] * UNITS >> 32 > 1:
        found.append(int(lfsr_next(found[-1])))
    return found


@pytest.mark.parametrize(("searches", "sequence"), [(1, 11), (0, 22)])
def test_a_unit_is_drawn_and_after_so_many_searches_the_next_occupied_one_is_taken(
    searches: int, sequence: int
) -> None:
    """The first two are occupied: one draw leads round to the first, the last one to the second."""
    bench = busy(units=UNITS)
    for number in (11, 22):
        bench.arrives(NOW, length=256, sequence=number)
    drawn = {state: draws(state) for state in range(1, 2000)}
    state = next(s for s, d in drawn.items() if len(d) > 2 and d[-1] * UNITS >> 32 == 1)
    bench.world.queues[0].lfsr = state
    bench.tell("point", answer=NOTIFY_RANDOM_UNIT, searches=searches)
    bench.arrives(NOW, length=64, sequence=33)
    assert told_about(bench) == sequence
    assert int(bench.world.queues[0].lfsr) == drawn[state][searches - 1]


def test_of_the_largest_share_the_first_frame_is_found() -> None:
    bench = busy(units=64)
    w = bench.world
    for number, source, length in ((11, 1, 300), (22, SOURCE, 200), (33, SOURCE, 200)):
        index = bench.arrives(NOW, length=length, sequence=number)
        w.frames[index].source = source
    bench.tell("point", answer=NOTIFY_LARGEST)
    bench.arrives(NOW, length=64, sequence=44)
    assert told_about(bench) == 33, "the one with which its source had the most"


@pytest.mark.parametrize(
    ("answer", "kept", "stays"),
    [
        (STAMP, 100, [2, 100, 640]),
        *((STAMP_IF_LARGER, 100, [2, 640, 0]), (STAMP_IF_LARGER, 700, [2, 700, 0])),
        *((STAMP_IF_SMALLER, 100, [2, 100, 0]), (STAMP_IF_SMALLER, 700, [2, 640, 0])),
    ],
)
def test_a_frame_takes_the_stamp_of_its_port_along(
    answer: int, kept: int, stays: list[int]
) -> None:
    """It has one already that says `kept`; nobody is told."""
    bench = busy(stamps=2)
    w = bench.world
    index = bench.arrives(NOW)
    row = w.stamps[index]
    row[:] = 0
    row[ROOM], row[STAMPED], row[FIRST + QUEUED] = 2, 1, kept
    bench.tell("point", answer=answer, offset=640)
    bench.serve(0, BUSY)
    assert [int(row[place]) for place in (STAMPED, FIRST + QUEUED, FIRST + WORDS + QUEUED)] == stays
    ports = [int(row[FIRST + PORT]), int(row[FIRST + WORDS + PORT])]
    assert ports == [int(said == 640) for said in stays[1:]]
    assert values(w.queues[0], "feedback_sent", "frames_out") == [0, 1]
    assert w.ports[0].control_head == NONE


@pytest.mark.parametrize(
    ("priority", "moves"), [(1, True), (7, True), (0, False), (6, False), (8, False), (9, False)]
)
def test_there_are_eight_priorities_and_those_of_the_lane_itself_are_no_other(
    priority: int, moves: bool
) -> None:
    bench = Bench()
    frame = bench.world.frames[bench.frame()]
    assert bool(can_change_lane(bench.world, 0, frame, priority)) == moves
    bench.world.queues[0].input = 0
    assert not can_change_lane(bench.world, 0, frame, priority), (
        "inputs have their lanes by the tag"
    )


@pytest.mark.parametrize(
    ("kind", "tags", "moves"),
    [(DATA, 1, True), (DATA, 2, True), (DATA, 0, False), (HOST, 1, True), (HOST, 0, True)],
)
def test_a_priority_that_no_tag_could_tell_is_none(kind: int, tags: int, moves: bool) -> None:
    """What a program sends has its tag put in where it leaves."""
    bench = Bench()
    w = replace(bench.world, types=bench.world.types.copy())  # all worlds have one table
    w.types["pcp_tags"][kind] = tags
    frame = w.frames[bench.frame(kind=kind)]
    assert bool(can_change_lane(w, 0, frame, 1)) == moves


@pytest.mark.parametrize("queue", [0, 1])
def test_each_queue_wakes_for_its_own_timers(queue: int) -> None:
    bench = busy()
    bench.world.queues[queue].pause_timer = BUSY + 6
    bench.arrives(NOW, priority=queue)
    assert [bench.queue(place) for place in (queue, 1 - queue)] == [BUSY + 6, NEVER]
    assert bench.line(1) == NEVER
