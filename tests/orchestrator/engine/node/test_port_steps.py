"""What a port sends next, step by step: control frames, lanes in turns, its service rate."""

from __future__ import annotations

from itertools import pairwise

import pytest

from orchestrator.engine.kernel_answers import DROP
from orchestrator.engine.records import CNM, NEVER, NONE, PAUSE
from tests.orchestrator.engine.node.bench import LANES, NS_OF_OCTET, POOL, RATE, Bench, values

FULL = 1500 * NS_OF_OCTET
NOW = 50 * FULL
EVEN, ODD = LANES, LANES + 1
"""Lanes of port 1 and their queues."""


def bench_with(even: int = 0, odd: int = 0) -> Bench:
    """So many full frames wait in the queues of port 1, whose line is long."""
    bench = Bench()
    bench.world.ports[1].delay = 10**12
    for queue, count in ((EVEN, even), (ODD, odd)):
        waiting(bench, queue, *[1500] * count)
    return bench


def waiting(bench: Bench, queue: int, *lengths: int) -> list[int]:
    """Frames that are in a queue."""
    w = bench.world
    row = w.queues[queue]
    found = [bench.frame(length=length, priority=queue - EVEN) for length in lengths]
    for index, following in pairwise([*found, NONE]):
        w.frames[index].next = following
    if found:
        row.head, row.tail = found[0], found[-1]
    row.frames, row.bytes = len(found), sum(lengths)
    return found


def control(bench: Bench, *kinds: int) -> list[int]:
    """Control frames of 100 octets that wait for port 1."""
    w = bench.world
    found = [bench.frame(kind=kind, length=100) for kind in kinds]
    for index, following in pairwise([*found, NONE]):
        w.frames[index].next = following
    w.ports[1].control_head, w.ports[1].control_tail = found[0], found[-1]
    return found


def test_a_port_sends_a_frame_and_wakes_when_it_is_served() -> None:
    bench = bench_with()
    w = bench.world
    first, second = waiting(bench, EVEN, 1500, 700)
    w.queues[EVEN].service_rate = RATE // 2
    bench.serve(1, NOW)
    port, queue = w.ports[1], w.queues[EVEN]
    assert values(port, "frames_out", "line_head", "free_at") == [1, first, NOW + FULL]
    assert port.next_service == bench.port(1) == NOW + 2 * FULL
    names = ("head", "frames", "bytes", "frames_out", "bytes_out", "emptied")
    assert values(queue, *names) == [second, 1, 700, 1, 1500, 0]
    bench.serve(1, NOW + 2 * FULL)
    assert values(queue, *names[1:]) == [0, 0, 2, 2200, 1]
    assert bench.port(1) == NEVER
    bench.serve(1, NOW + 9 * FULL)
    assert values(port, "frames_out") == [2], "nothing is left"


@pytest.mark.parametrize("field", ["free_at", "paused_until", "next_service"])
def test_a_port_that_is_busy_held_or_served_slowly_waits_to_the_instant(field: str) -> None:
    bench = bench_with(even=1)
    bench.world.ports[1][field] = NOW + 1
    bench.serve(1, NOW)
    assert (bench.world.ports[1].frames_out, bench.port(1)) == (0, NOW + 1)
    bench.serve(1, NOW + 1)
    assert bench.world.ports[1].frames_out == 1


@pytest.mark.parametrize(
    ("latest", "held"),
    [
        ({"free_at": 5, "paused_until": 3, "next_service": 4}, 2),
        ({"free_at": 3, "paused_until": 5, "next_service": 4}, 2),
        ({"free_at": 3, "paused_until": 4, "next_service": 5}, 2),
        ({"free_at": 3, "paused_until": 2, "next_service": 4}, 5),
    ],
)
def test_the_last_of_what_holds_a_lane_back_decides(latest: dict[str, int], held: int) -> None:
    bench = bench_with(even=1)
    for field, value in latest.items():
        bench.world.ports[1][field] = NOW + value
    bench.world.lanes[EVEN].paused_until = NOW + held
    bench.serve(1, NOW)
    assert bench.port(1) == NOW + 5


def test_control_goes_before_data_and_is_not_served_slowly() -> None:
    bench = bench_with(even=1)
    port = bench.world.ports[1]
    port.next_service = NOW + 9 * FULL
    first, second = control(bench, CNM, CNM)
    bench.serve(1, NOW)
    assert (port.line_head, port.control_head) == (first, second)
    assert bench.port(1) == port.free_at == NOW + 100 * NS_OF_OCTET
    bench.serve(1, port.free_at)
    assert values(port, "line_tail", "control_head") == [second, NONE]
    assert bench.port(1) == port.next_service


@pytest.mark.parametrize(
    ("kind", "free", "paused", "sent", "wakes"),
    [
        (CNM, 0, 7, 0, 7),
        (CNM, 7, 3, 0, 7),
        (CNM, 3, 7, 0, 7),
        (PAUSE, 0, 7, 1, 100 * NS_OF_OCTET),
        (PAUSE, 3, 7, 0, 3),
        (CNM, 0, 0, 1, 100 * NS_OF_OCTET),
    ],
)
def test_a_held_port_sends_pause_and_nothing_else(
    kind: int, free: int, paused: int, sent: int, wakes: int
) -> None:
    """A second one waits behind; data does not go before it."""
    bench = bench_with(even=1)
    port = bench.world.ports[1]
    port.free_at, port.paused_until = NOW + free, NOW + paused
    control(bench, kind, PAUSE)
    bench.serve(1, NOW)
    assert (port.frames_out, bench.port(1)) == (sent, NOW + wakes)
    assert bench.world.queues[EVEN].frames == 1


def test_what_waits_behind_a_pause_wakes_when_the_port_is_let_go() -> None:
    bench = bench_with()
    port = bench.world.ports[1]
    port.paused_until = NOW + FULL
    control(bench, PAUSE, CNM)
    bench.serve(1, NOW)
    assert (port.frames_out, bench.port(1)) == (1, NOW + FULL)


def order(bench: Bench, count: int) -> list[int]:
    """The queues that so many frames leave, one after the other."""
    found, queues, now = [], bench.world.queues, NOW
    for _ in range(count):
        before = [int(queues[queue].frames) for queue in (EVEN, ODD)]
        bench.serve(1, now)
        after = [int(queues[queue].frames) for queue in (EVEN, ODD)]
        found += [queue for queue, a, b in zip((EVEN, ODD), before, after, strict=True) if a > b]
        now += FULL
    return found


def test_lanes_take_turns() -> None:
    assert order(bench_with(even=2, odd=3), 5) == [EVEN, ODD, EVEN, ODD, ODD]
    assert order(bench_with(even=0, odd=2), 2) == [ODD, ODD]
    late = bench_with(even=2, odd=2)
    late.world.ports[1].turn = 1
    assert order(late, 3) == [ODD, EVEN, ODD]
    assert late.world.ports[1].turn == 0


def test_a_held_lane_lets_the_other_one_go() -> None:
    bench = bench_with(even=1, odd=2)
    bench.world.lanes[EVEN].paused_until = NOW + FULL + 1
    assert order(bench, 1) == [ODD]
    assert bench.port(1) == NOW + FULL, "the one that is not held is the next"
    bench.world.lanes[ODD].paused_until = NEVER
    bench.serve(1, NOW + FULL)
    assert (bench.world.ports[1].frames_out, bench.port(1)) == (1, NOW + FULL + 1)


@pytest.mark.parametrize(("up", "used", "until"), [(1, 3000, NEVER), (0, 0, 0)])
def test_what_is_sent_is_on_account_of_what_was_granted_and_what_is_lost_is_not(
    up: int, used: int, until: int
) -> None:
    bench = bench_with(odd=2)
    lane = bench.world.lanes[ODD]
    lane.granted, bench.world.ports[1].up = 3000, up
    order(bench, 2)
    assert values(lane, "granted_used", "paused_until") == [used, until]
    assert values(bench.world.lanes[EVEN], "granted_used", "paused_until") == [0, 0]


def test_frames_that_are_dropped_on_their_way_out_take_no_time() -> None:
    bench = bench_with(even=2)
    queue, port = bench.world.queues[EVEN], bench.world.ports[1]
    queue.congestion_point = bench.rows["point"]
    bench.tell("point", answer=DROP)
    bench.serve(1, NOW)
    assert bench.told("point", "left", "length", "now", "bytes") == [2, 1500, NOW, 0]
    names = ("frames", "bytes", "frames_out", "bytes_out", "frames_dropped_early")
    assert values(queue, *names) == [0, 0, 0, 0, 2]
    assert values(port, "frames_out", "next_service", "free_at") == [0, 0, 0]
    assert (bench.unused, bench.port(1)) == (POOL, NEVER)
