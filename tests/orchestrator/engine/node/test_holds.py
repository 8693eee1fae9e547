"""What holds a lane, step by step: PAUSE, PFC, credits that are used up; and the time of it."""

from __future__ import annotations

import pytest

from orchestrator.engine.frames.pfc_frame import set_quanta
from orchestrator.engine.node.lane_flow_control import (
    apply_grant,
    apply_pause,
    apply_pfc,
    count_pause,
    lane_index,
    use_credit,
)
from orchestrator.engine.records import NEVER
from tests.orchestrator.engine.node.bench import POOL, Bench, values

QUANTUM = 512_000
"""ps at 1 Gb/s."""
NOW = 10_000_000
LONG_AGO = 777
EVEN, ODD = 2, 3
"""Lanes of port 1."""


@pytest.mark.parametrize(
    ("priority", "lane"), [(0, EVEN), (1, ODD), (6, EVEN), (7, ODD), (8, EVEN)]
)
def test_a_frame_is_in_the_lane_of_its_priority(priority: int, lane: int) -> None:
    bench = Bench()
    frame = bench.world.frames[bench.frame(priority=priority)]
    assert lane_index(bench.world, 1, frame) == lane
    assert lane_index(bench.world, 0, frame) == lane - 2


@pytest.mark.parametrize(
    ("port", "even", "odd", "now", "counted"),
    [
        (0, 0, 0, 900, [0, 0, 0]),
        (500, 0, 0, 900, [400, 400, 400]),
        (500, 0, 0, 300, [200, 200, 200]),
        (0, 500, 0, 900, [400, 400, 0]),
        (0, 0, 500, 900, [400, 0, 400]),
        (150, 300, 200, 900, [200, 200, 100]),
        (150, 300, 200, 250, [150, 150, 100]),
        (50, 30, 99, 900, [0, 0, 0]),
        (0, 0, 101, 900, [1, 0, 1]),
        (NEVER, 0, 0, 900, [800, 800, 800]),
    ],
)
def test_a_port_is_held_while_any_lane_is_and_a_lane_by_its_port_too(
    port: int, even: int, odd: int, now: int, counted: list[int]
) -> None:
    """It was counted at 100: [port, lane of even priorities, lane of odd ones] since then."""
    bench = Bench()
    w = bench.world
    w.ports[1].paused_until, w.ports[1].pause_counted = port, 100
    w.lanes[EVEN].paused_until, w.lanes[ODD].paused_until = even, odd
    count_pause(w, 1, now)
    assert [int(row.paused_ps) for row in (w.ports[1], w.lanes[EVEN], w.lanes[ODD])] == counted
    assert w.ports[1].pause_counted == now
    count_pause(w, 1, now)
    assert w.ports[1].paused_ps == counted[0], "each time is counted once"
    assert values(w.lanes[0], "paused_ps") + values(w.ports[0], "paused_ps") == [0, 0]


@pytest.mark.parametrize("quanta", [0, 1, 65_535])
def test_pause_holds_from_now_for_its_quanta_whatever_held_before(quanta: int) -> None:
    bench = Bench()
    w = bench.world
    w.ports[1].paused_until = NEVER
    apply_pause(w, 1, bench.frame(feedback=quanta), NOW)
    names = ("paused_until", "pause_received", "paused_ps")
    assert values(w.ports[1], *names) == [NOW + quanta * QUANTUM, 1, NOW]
    assert bench.unused == POOL
    apply_pause(w, 1, bench.frame(feedback=0), NOW + 5)
    assert values(w.ports[1], *names) == [NOW + 5, 2, NOW + (5 if quanta else 0)]


@pytest.mark.parametrize(
    ("named", "even", "odd"),
    [
        ({}, LONG_AGO, LONG_AGO),
        ({0: 3}, NOW + 3 * QUANTUM, LONG_AGO),
        ({0: 3, 4: 9, 6: 2}, NOW + 9 * QUANTUM, LONG_AGO),
        ({7: 1}, LONG_AGO, NOW + QUANTUM),
        ({2: 0}, NOW, LONG_AGO),
        ({1: 65_535, 2: 5}, NOW + 5 * QUANTUM, NOW + 65_535 * QUANTUM),
    ],
)
def test_pfc_holds_the_lanes_of_its_priorities_for_the_longest(
    named: dict[int, int], even: int, odd: int
) -> None:
    bench = Bench()
    w = bench.world
    index = bench.frame(mark=sum(1 << priority for priority in named))
    frame = w.frames[index]
    frame.feedback = frame.offset = frame.delta = frame.inner = 0
    for priority in range(8):
        set_quanta(frame, priority, named.get(priority, 40_000))
    for lane in (EVEN, ODD):
        w.lanes[lane].paused_until = LONG_AGO
    apply_pfc(w, 1, index, NOW)
    assert [int(w.lanes[lane].paused_until) for lane in (EVEN, ODD)] == [even, odd]
    assert values(w.ports[1], "pause_received", "pause_counted", "paused_until") == [1, NOW, 0]
    assert w.lanes[EVEN].paused_ps == LONG_AGO, "what was before is counted"
    assert [int(row.paused_until) for row in w.lanes[:2]] == [0, 0]
    assert bench.unused == POOL


def test_a_lane_whose_credit_is_used_up_waits() -> None:
    bench = Bench()
    w = bench.world
    lane = w.lanes[ODD]
    lane.granted, lane.granted_used = 4000, 1000
    use_credit(w, 1, lane, 2999, NOW)
    assert values(lane, "granted_used", "paused_until") == [3999, 0]
    assert w.ports[1].pause_counted == 0, "nothing has changed"
    use_credit(w, 1, lane, 1, NOW)
    assert values(lane, "granted_used", "paused_until") == [4000, NEVER]
    assert w.ports[1].pause_counted == NOW
    use_credit(w, 1, lane, 1500, NOW)
    assert values(lane, "granted_used", "paused_until") == [5500, NEVER]


@pytest.mark.parametrize(
    ("used", "granted", "priority", "octets", "found"),
    [
        (3500, 3000, 7, 5000, [5000, NOW]),
        (3500, 3000, 7, 3501, [3501, NOW]),
        (3500, 3000, 7, 3500, [3500, LONG_AGO]),
        (3500, 3000, 7, 3200, [3200, LONG_AGO]),
        (2000, 3000, 7, 3000, [3000, LONG_AGO]),
        (2000, 3000, 7, 2500, [3000, LONG_AGO]),
        (3500, 3000, 6, 5000, [3000, LONG_AGO]),
        (3500, NEVER, 7, 5000, [NEVER, LONG_AGO]),
        (3500, 3000, 0, 5000, [3000, LONG_AGO]),
        (3500, 3000, 1, 5000, [5000, NOW]),
    ],
)
def test_a_grant_lets_its_lane_go_where_it_is_more_than_was_used(
    used: int, granted: int, priority: int, octets: int, found: list[int]
) -> None:
    """The lane of odd priorities; it is never granted less than before."""
    bench = Bench()
    w = bench.world
    lane = w.lanes[ODD]
    lane.granted, lane.granted_used, lane.paused_until = granted, used, LONG_AGO
    apply_grant(w, 1, bench.frame(mark=1 << priority, sequence=octets), NOW)
    assert values(lane, "granted", "paused_until") == found
    assert values(lane, "granted_used", "paused_ps") == [used, LONG_AGO]
    assert values(w.ports[1], "pause_received", "pause_counted") == [1, NOW]
    assert values(w.lanes[1], "granted", "paused_until") == [NEVER, 0], "of another port"
    assert bench.unused == POOL
