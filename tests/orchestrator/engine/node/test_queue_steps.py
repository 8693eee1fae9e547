"""A frame comes to a queue and leaves it, step by step: room, counts, and who watches it."""

from __future__ import annotations

import pytest

from orchestrator.engine.frames import type_table
from orchestrator.engine.jit import DISABLED
from orchestrator.engine.kernel_answers import (
    DROP,
    NOTIFY_ARRIVING,
    NOTIFY_HEAD,
    NOTIFY_LARGEST,
    NOTIFY_RANDOM_UNIT,
    TRIM,
)
from orchestrator.engine.node.actors import WAKE_QUEUE
from orchestrator.engine.records import CE, CNM, DROPS, ECT0, NEVER, NONE, PAUSE, TRIMMED
from tests.orchestrator.engine.node.bench import (
    NS_OF_OCTET,
    POOL,
    SOURCE,
    Bench,
    actor_of,
    values,
    wake_alone,
)

NOW = 900
BUSY = 10**12
"""Until then port 0 sends what it sends."""
COMPILED = pytest.mark.skipif(DISABLED, reason="uncompiled, a mark of nine bits is refused")
HEADER = int(type_table()[TRIMMED]["octets"])


def busy(**algorithms: int) -> Bench:
    """A bench whose port 0 sends nothing; these algorithms watch its queue of even priorities, and
    answer this."""
    bench = Bench()
    bench.world.ports[0].free_at = BUSY
    bench.say(feedback=7, offset=7, delta=7, mark=7)  # before
    for name, answer in algorithms.items():
        field = {"point": "congestion_point", "pause": "pause"}[name]
        bench.world.queues[0][field] = bench.rows[name]
        bench.tell(name, answer=answer, feedback=40)
    return bench


def test_frames_take_their_room_and_wait_in_order() -> None:
    bench = busy()
    queue = bench.world.queues[0]
    first = bench.arrives(NOW, length=1500)
    assert values(queue, "head", "tail", "frames", "bytes") == [first, first, 1, 1500]
    second, third = bench.arrives(NOW + 1, length=700), bench.arrives(NOW + 2, length=64)
    assert bench.listed(queue.head) == [first, second, third]
    names = ("tail", "frames", "bytes", "frames_in", "frames_dropped", "frames_out")
    assert values(queue, *names) == [third, 3, 2264, 3, 0, 0]
    assert [bench.world.frames[index].entered for index in (first, third)] == [NOW, NOW + 2]
    assert values(bench.world.queues[1], "frames_in") == [0]
    assert bench.port(0) == BUSY
    odd = bench.arrives(NOW + 3, priority=1)
    assert values(bench.world.queues[1], "head", "frames_in") == [odd, 1]


@pytest.mark.parametrize(("room", "kept"), [(2200, 1), (2199, 0)])
def test_what_finds_no_room_is_dropped_and_counted(room: int, kept: int) -> None:
    bench = busy()
    queue = bench.world.queues[0]
    queue.capacity = room
    bench.arrives(NOW, length=1500)
    bench.arrives(NOW, length=700)
    assert values(queue, "frames", "frames_in", "frames_dropped") == [1 + kept, 2, 1 - kept]
    assert bench.unused == POOL - 1 - kept
    assert queue.bytes_max == 1500 + 700 * kept


@pytest.mark.parametrize("waiting", [1, 2, 3])
def test_one_of_three_frames_that_come_to_a_full_queue_together_is_kept(waiting: int) -> None:
    """By lot: each as often, in the place of the last one."""
    kept = [0, 0, 0]
    for sequence in range(300):
        bench = busy()
        queue = bench.world.queues[0]
        queue.capacity, queue.order_key = waiting * 700, 5
        before = [bench.arrives(NOW - 10**9 * n, length=700, flow=0) for n in range(waiting, 0, -1)]
        bench.world.frames[queue.tail].entered = NOW
        for flow in (1, 2):
            bench.arrives(NOW + flow, length=700, flow=flow, sequence=sequence)
        listed = bench.listed(queue.head)
        assert listed[:-1] == before[:-1]
        assert bench.world.frames[queue.tail].entered == NOW
        assert values(queue, "tail", "frames", "bytes") == [listed[-1], waiting, waiting * 700]
        assert values(queue, "frames_dropped", "contenders") == [2, 3]
        kept[bench.world.frames[queue.tail].flow] += 1
    assert all(66 < times < 134 for times in kept)  # 4.1 standard deviations


def test_the_longest_queue_is_remembered() -> None:
    bench = busy()
    queue = bench.world.queues[0]
    for length in (1500, 700):
        bench.arrives(NOW, length=length)
    bench.serve(0, BUSY)
    assert values(queue, "bytes", "bytes_max") == [700, 2200]
    bench.arrives(BUSY + 1, length=64)
    assert values(queue, "bytes", "bytes_max") == [764, 2200]


def test_a_frame_that_finds_an_idle_port_is_sent_at_once() -> None:
    bench = Bench()
    bench.world.ports[0].delay = BUSY
    bench.arrives(NOW)
    assert values(bench.world.queues[0], "frames", "frames_out", "emptied", "bytes_max") == [
        *(0, 1, 1, 1500)
    ]
    assert bench.world.ports[0].free_at == NOW + 1500 * NS_OF_OCTET
    bench.arrives(NOW + 1)
    assert values(bench.world.queues[0], "frames", "frames_out") == [1, 1]


def test_a_congestion_point_sees_the_queue_without_the_frame_that_comes_or_leaves() -> None:
    bench = busy(point=0)
    bench.arrives(NOW, length=700)
    assert bench.told("point", "came", "length", "bytes", "now", "said") == [1, 700, 0, NOW, 0]
    bench.arrives(NOW + 5, length=64)
    assert bench.told("point", "came", "length", "bytes", "now", "said") == [2, 64, 700, NOW + 5, 0]
    bench.serve(0, BUSY)
    assert bench.told("point", "left", "length", "bytes", "now", "said") == [1, 700, 64, BUSY, 0]
    names = ("feedback_sent", "frames_marked", "frames_dropped_early", "frames_trimmed")
    assert values(bench.world.queues[0], *names) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("had", "sets", "has", "marked"),
    [
        *((ECT0, CE, CE, 1), (CE, CE, CE, 0), (0, 0, 0, 0)),
        pytest.param(5 << 2, 0x101, 5 << 2 | 1, 1, marks=COMPILED),
    ],
)
def test_a_mark_that_was_changed_is_an_octet_and_counted(
    had: int, sets: int, has: int, marked: int
) -> None:
    bench = busy(point=0)
    bench.tell("point", mark=sets)
    index = bench.arrives(NOW, mark=had)
    assert bench.world.frames[index].mark == has
    assert bench.world.queues[0].frames_marked == marked
    bench.world.frames[index].mark = had
    bench.serve(0, BUSY)
    assert bench.world.frames[index].mark == has
    assert bench.world.queues[0].frames_marked == 2 * marked


def message(bench: Bench) -> dict[str, int]:
    """The first control frame of port 0."""
    frame = bench.world.frames[int(bench.world.ports[0].control_head)]
    names = ("kind", "sequence", "feedback", "destination", "source", "mark")
    return dict(zip(names, values(frame, *names), strict=True))


@pytest.mark.parametrize(
    ("answer", "first", "second"),
    [
        (NOTIFY_ARRIVING, 11, 22),
        (NOTIFY_HEAD, 11, 11),
        (NOTIFY_RANDOM_UNIT, 11, 22),
        (NOTIFY_LARGEST, 11, 22),
    ],
)
def test_the_source_of_the_chosen_frame_is_told(answer: int, first: int, second: int) -> None:
    """Of units none is kept here: nobody lies in one, and it is the frame at hand."""
    for fewer, sequence in ((1, first), (0, second)):
        bench = busy(point=0)
        bench.arrives(NOW, sequence=11) if not fewer else None
        bench.tell("point", answer=answer)
        bench.arrives(NOW, sequence=11 if fewer else 22, length=704)
        told = message(bench)
        assert told.pop("mark") == (1500 if answer == NOTIFY_HEAD and not fewer else 704)
        assert told == {
            "kind": CNM,
            "sequence": sequence,
            "feedback": 40,
            "destination": SOURCE,
            "source": 1,
        }
        queue = bench.world.queues[0]
        assert values(queue, "feedback_sent", "feedback_value", "frames") == [1, 40, 2 - fewer]


@pytest.mark.parametrize("answer", [NOTIFY_ARRIVING, NOTIFY_HEAD])
def test_the_source_of_a_frame_that_leaves_is_told(answer: int) -> None:
    bench = busy(point=0)
    for sequence in (11, 22):
        bench.arrives(NOW, sequence=sequence)
    bench.tell("point", answer=answer)
    bench.serve(0, BUSY)
    assert (message(bench)["kind"], message(bench)["sequence"]) == (CNM, 11)
    assert values(bench.world.queues[0], "feedback_sent", "frames") == [1, 1]


def test_a_point_may_drop_what_comes() -> None:
    bench = busy(point=DROP, pause=0)
    bench.arrives(NOW)
    names = ("frames_in", "frames", "bytes", "frames_dropped_early", "frames_dropped", "head")
    assert values(bench.world.queues[0], *names) == [1, 0, 0, 1, 0, NONE]
    assert (bench.unused, bench.told("pause", "came")) == (POOL, 0)
    assert bench.world.ports[0].control_head == NONE


def test_a_watchdog_that_drops_all_leaves_nothing_to_see() -> None:
    bench = busy(point=NOTIFY_ARRIVING)
    bench.world.queues[0].stance = DROPS
    bench.arrives(NOW)
    names = ("frames_in", "frames", "frames_dropped_early", "feedback_sent")
    assert values(bench.world.queues[0], *names) == [1, 0, 1, 0]
    assert (bench.unused, bench.told("point", "came")) == (POOL, 0)


def test_of_a_trimmed_frame_the_header_goes_past_the_queue() -> None:
    bench = busy(point=TRIM, pause=0)
    came = {"flow": 0, "sequence": 9, "created": 77, "mark": ECT0, "hops": 3, "priority": 2}
    index = bench.arrives(NOW, **came)
    queue, frame = bench.world.queues[0], bench.world.frames[index]
    names = ("frames_in", "frames", "bytes", "frames_trimmed", "frames_dropped_early")
    assert values(queue, *names) == [1, 0, 0, 1, 0]
    assert bench.world.ports[0].control_head == index
    assert {name: int(frame[name]) for name in came} == came
    assert values(frame, "kind", "length", "offset") == [TRIMMED, HEADER, 1500]
    assert values(frame, "source", "destination", "feedback") == [SOURCE, SOURCE, 0]
    assert bench.told("pause", "came") == 0


@pytest.mark.parametrize(
    ("frame", "copies", "trimmed"),
    [
        ({"flow": 0}, 0, 1),
        ({"flow": 0, "length": HEADER + 1}, 0, 1),
        ({"flow": 0, "length": HEADER}, 0, 0),
        ({"flow": 0, "length": HEADER - 1}, 0, 0),
        ({"flow": NONE}, 0, 0),
        ({"flow": 0}, 2, 0),
        ({"flow": 0, "kind": TRIMMED + 1}, 0, 0),
    ],
)
def test_what_can_be_trimmed_is_data_of_a_flow_to_one_that_is_longer_than_its_header(
    frame: dict[str, int], copies: int, trimmed: int
) -> None:
    """What can not is kept."""
    bench = busy(point=TRIM)
    bench.world.flows[0].copies = copies
    bench.arrives(NOW, **frame)
    queue = bench.world.queues[0]
    assert values(queue, "frames_trimmed", "frames", "frames_dropped_early") == [
        *(trimmed, 1 - trimmed, 0)
    ]


@pytest.mark.parametrize("answer", [0, 1])
def test_a_pause_sees_the_queue_with_what_came_and_without_what_left(answer: int) -> None:
    bench = busy(pause=answer)
    w = bench.world
    w.ports[1].free_at = 2 * BUSY
    bench.arrives(NOW, length=700)
    names = ("length", "bytes", "now", "said")
    assert bench.told("pause", "came", "left", *names) == [1, 0, 700, 700, NOW, 0]
    assert w.queues[0].pause_sent == answer
    bench.arrives(NOW + 1, length=64)
    bench.tell("pause", feedback=2)
    bench.serve(0, BUSY)
    assert bench.told("pause", "came", "left", *names) == [2, 1, 700, 64, BUSY, 0]
    assert w.ports[0].control_head == NONE, "its own neighbour does not fill it"
    if answer:
        told = w.frames[int(w.ports[1].control_head)]
        assert values(told, "kind", "feedback", "source", "next") == [PAUSE, 2, 2, NONE]
        assert values(w.queues[0], "pause_sent", "pausing") == [1, 1]
    else:
        assert w.ports[1].control_head == NONE


@pytest.mark.parametrize(
    ("point", "pause", "watchdog", "wakes"),
    [
        *((NEVER, NEVER, NEVER, NEVER), (BUSY + 5, NEVER, NEVER, BUSY + 5)),
        *((NEVER, BUSY + 6, NEVER, BUSY + 6), (BUSY + 9, BUSY + 8, BUSY + 7, BUSY + 7)),
    ],
)
def test_a_queue_wakes_for_the_timers_that_were_set(
    point: int, pause: int, watchdog: int, wakes: int
) -> None:
    """By whoever sees a frame come, or leave."""
    for leaves in (False, True):
        bench = busy()
        if leaves:
            bench.arrives(NOW)
            assert bench.queue(0) == NEVER
        queue = bench.world.queues[0]
        queue.congestion_point_timer, queue.pause_timer = point, pause
        queue.watchdog_timer = watchdog
        if leaves:
            bench.serve(0, BUSY)
        else:
            bench.arrives(NOW)
        assert bench.queue(0) == wakes
        assert bench.queue(1) == NEVER


@pytest.mark.parametrize(
    ("owner", "row"), [("congestion_point", "point"), ("pause", "pause"), ("watchdog", "watch")]
)
def test_a_timer_of_a_queue_is_over_at_its_instant(owner: str, row: str) -> None:
    """One that is due later stays, and the queue wakes for it."""
    bench = busy()
    queue = bench.world.queues[0]
    queue[owner] = bench.rows[row]
    timer = f"{owner}_timer"
    for later in (0, 1):
        queue[timer] = BUSY + later
        wake_alone(bench.world, actor_of(bench.world, WAKE_QUEUE, 0), BUSY)
        assert queue[timer] == bench.queue(0) == (BUSY + 1 if later else NEVER)
