"""What an output does with a frame beside queueing it: looks, moves it to a lane, grants, trims."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.frames.frame_layout import VLAN
from orchestrator.engine.frames.telemetry_header import ROOM, STAMPED
from orchestrator.engine.kernel_answers import DROP, LANE, NOTIFY_HEAD, TRIM
from orchestrator.engine.node.egress_enqueue import enqueue_outlined, leave_lane
from orchestrator.engine.records import CE, CNM, DATA, DROPS, ECT0, HOST, NONE
from tests.orchestrator.engine.node.bench import POOL, SOURCE, Bench, values

NOW = 900
BUSY = 10**12


def busy(point: int | None = None, lane: int = 0, **room: int) -> Bench:
    """A bench whose ports send nothing; a congestion point watches a queue of port 0 and answers
    this."""
    bench = Bench(**room)
    for port in bench.world.ports:
        port.free_at = BUSY
    if point is not None:
        bench.world.queues[lane].congestion_point = bench.rows["point"]
        bench.tell("point", answer=point, feedback=40)
    return bench


def lengths(bench: Bench, queue: int) -> list[int]:
    w = bench.world
    return [int(w.frames[index].length) for index in bench.listed(int(w.queues[queue].head))]


def asked(bench: Bench, queue: int, length: int = 700) -> None:
    """A frame at the input of port 1 asks the output for a grant."""
    w = bench.world
    side = w.inputs[0]
    side.moving_head, side.fly_head, side.awaits_head, side.rate = NONE, NONE, NONE, 10**9
    index = bench.frame(length=length, held=NONE)
    w.voqs[0].head, w.voqs[0].next, w.voqs[0].queue = index, NONE, queue
    w.queues[queue].request_head = 0


def granted(bench: Bench) -> list[int]:
    """Octets that each queue of port 0 has promised room to."""
    return [int(bench.world.queues[queue].reserved) for queue in (0, 1)]


@pytest.mark.parametrize(("point", "came"), [(0, 1), (None, 1), (DROP, 0), (LANE + 1, 0)])
def test_a_notification_point_sees_what_is_kept_and_tells_its_source(
    point: int | None, came: int
) -> None:
    bench = busy(point)
    w = bench.world
    w.queues[0].notification_point = bench.rows["notice"]
    bench.tell("notice", answer=1, feedback=33)
    bench.arrives(NOW, length=704, sequence=9)
    assert bench.told("notice", "came", "length") == [came, 704 * came]
    assert w.nodes[0].feedback_sent == came
    if came:
        told = w.frames[int(w.ports[0].control_head)]
        assert values(told, "kind", "feedback", "destination", "source") == [CNM, 33, SOURCE, 1]


@pytest.mark.parametrize(("had", "sets", "marked"), [(ECT0, CE, 1), (CE, CE, 0), (ECT0, 0, 0)])
def test_a_mark_of_a_notification_point_is_counted(had: int, sets: int, marked: int) -> None:
    bench = busy()
    bench.world.queues[0].notification_point = bench.rows["notice"]
    bench.tell("notice", mark=sets)
    bench.arrives(NOW, mark=had)
    assert bench.world.queues[0].frames_marked == marked
    assert bench.world.nodes[0].feedback_sent == 0


def test_an_empty_queue_has_no_head_to_notify() -> None:
    """Whatever was there last."""
    bench = busy(NOTIFY_HEAD)
    w = bench.world
    w.queues[0].head = bench.frame(source=1, sequence=4, length=64)
    bench.arrives(NOW, sequence=11)
    told = w.frames[int(w.ports[0].control_head)]
    assert values(told, "kind", "sequence", "destination") == [CNM, 11, SOURCE]


@pytest.mark.parametrize(("priority", "to"), [(0, 1), (1, 0), (2, 7), (3, 4)])
def test_a_frame_goes_on_in_the_lane_that_was_said(priority: int, to: int) -> None:
    bench = busy(LANE + to, lane=priority % 2)
    w = bench.world
    index = bench.arrives(NOW, priority=priority, length=700)
    queue, other = w.queues[priority % 2], w.queues[to % 2]
    names = ("frames_in", "frames", "bytes", "frames_moved", "frames_dropped")
    assert values(queue, *names) == [1, 0, 0, 1, 0]
    assert values(other, *names) == [1, 1, 700, 0, 0]
    assert values(w.frames[index], "priority", "next") == [to, NONE]
    assert (int(other.head), bench.unused) == (index, POOL - 1)


def test_a_frame_without_a_tag_stays_in_its_lane() -> None:
    """Nothing could tell the next switch; what programs sent has a tag, or not, in its octets."""
    for kind, moved in ((DATA, 0), (HOST, 1)):
        bench = busy(LANE + 1)
        tags = bench.world.types["pcp_tags"]
        had = int(tags[kind])
        tags[kind] = 0
        try:
            bench.arrives(NOW, kind=kind, length=700)
        finally:
            tags[kind] = had
        assert [int(queue.frames) for queue in bench.world.queues[:2]] == [1 - moved, moved]


@pytest.mark.parametrize("to", [0, 1])
def test_nobody_sends_it_back(to: int) -> None:
    """Both lanes' points would move it; the second one leaves it where it is."""
    bench = busy(LANE + to, lane=1 - to)
    bench.world.queues[to].congestion_point = bench.rows["point"]
    bench.arrives(NOW, priority=1 - to, length=700)
    assert lengths(bench, to) == [700]
    assert bench.world.queues[to].frames_moved == 0


@pytest.mark.parametrize(
    ("capacity", "reserved", "kept"), [(2200, 0, 1), (2199, 0, 0), (2300, 100, 1), (2299, 100, 0)]
)
def test_a_frame_that_moves_needs_room_that_was_promised_to_nobody(
    capacity: int, reserved: int, kept: int
) -> None:
    bench = busy(LANE + 1)
    other = bench.world.queues[1]
    other.capacity, other.reserved = capacity, reserved
    asked(bench, 1, 64)
    before = bench.unused
    bench.arrives(NOW, priority=1, length=1500)
    bench.arrives(NOW, priority=0, length=700)
    assert values(other, "frames", "frames_dropped", "frames_dropped_early") == [
        1 + kept,
        1 - kept,
        0,
    ]
    assert bench.unused == before - 1 - kept
    assert granted(bench) == [0, reserved], "it grants nothing"


def test_a_frame_that_moves_into_a_watched_lane_is_dropped_there() -> None:
    bench = busy(LANE + 1)
    bench.world.queues[1].stance = DROPS
    bench.arrives(NOW)
    names = ("frames_in", "frames", "frames_dropped_early", "frames_dropped")
    assert values(bench.world.queues[1], *names) == [1, 0, 1, 0]
    assert bench.unused == POOL


@pytest.mark.parametrize("crossbar", [0, 1])
def test_what_leaves_an_output_that_grants_lets_it_grant_again(crossbar: int) -> None:
    """A frame moves away, or is dropped early; that one finds no room is heard in its new lane."""
    for answer, queue in ((LANE + 1, 0), (DROP, 0), (LANE + 1, 1)):
        bench = busy(answer)
        w = bench.world
        w.queues[queue].crossbar = crossbar
        if queue == 1:
            w.queues[1].capacity = 1499
        asked(bench, queue)
        bench.arrives(NOW, held=NONE)
        assert granted(bench)[queue] == 700 * crossbar, (answer, queue)
        assert granted(bench)[1 - queue] == 0
        assert w.queues[1].frames == int(answer != DROP and queue == 0)


@pytest.mark.parametrize("crossbar", [0, 1])
def test_what_is_sent_lets_an_output_that_grants_grant_again(crossbar: int) -> None:
    bench = busy()
    w = bench.world
    w.queues[0].crossbar = crossbar
    asked(bench, 0)
    bench.arrives(NOW, held=NONE)
    assert granted(bench) == [0, 0]
    bench.serve(0, BUSY)
    assert (granted(bench), w.ports[0].frames_out) == ([700 * crossbar, 0], 1)


@pytest.mark.parametrize(
    ("crossbar", "in_order", "kept"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1)]
)
def test_what_was_promised_room_has_it(crossbar: int, in_order: int, kept: int) -> None:
    """By an output that grants, for a frame that waited for an earlier one of its flow."""
    bench = busy()
    w = bench.world
    w.queues[0].capacity, w.queues[0].crossbar = 1499, crossbar
    w.queues[0].request_head = NONE
    index = bench.frame(source=SOURCE, destination=SOURCE, held=NONE)
    w.ports[0].in_order = in_order
    enqueue_outlined(w, 0, index, NOW)
    assert values(w.queues[0], "frames", "frames_dropped") == [kept, 1 - kept]


@pytest.mark.parametrize("priority", range(8))
def test_a_frame_has_its_priority_in_its_tag_where_it_has_octets(priority: int) -> None:
    bench = busy(wires=1)
    w = bench.world
    assert len(w.octets) > 2
    w.octets[:] = np.arange(0x31, 0x31 + w.octets.shape[1], dtype=np.uint64) % 251
    expected = w.octets.copy()
    for index in (0, 3):
        tag = int(expected[index, VLAN + 2])
        expected[index, VLAN + 2] = tag & 0b11111 | priority * 32
        leave_lane(w, 0, index, priority)
    assert (w.octets == expected).all()
    bench = busy()
    bench.world.octets[:] = 0x31
    leave_lane(bench.world, 0, 0, priority)
    assert (bench.world.octets == 0x31).all(), "without wires nothing is written there"


@pytest.mark.parametrize("stamps", [0, 3])
def test_a_header_has_room_for_no_stamps_and_the_entropy_of_its_frame(stamps: int) -> None:
    bench = busy(TRIM, stamps=stamps)
    w = bench.world
    w.stamps[:] = 5
    index = bench.arrives(NOW, flow=0, inner=77)
    assert w.frames[index].inner == 77
    row = w.stamps[index if stamps else 0]
    assert [int(row[place]) for place in (ROOM, STAMPED)] == ([0, 0] if stamps else [5, 5])
