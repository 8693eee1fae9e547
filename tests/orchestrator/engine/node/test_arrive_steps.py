"""Frames leave a delay line, step by step: at once or with patience, to a peer or to a wire."""

from __future__ import annotations

from itertools import pairwise

from orchestrator.engine.node.link_delivery import LEAST_INTERVAL_PS
from orchestrator.engine.records import ELSEWHERE, NEVER, NONE
from tests.orchestrator.engine.node.bench import SOURCE, Bench, values

BUSY = 10**12


def with_line(*due: int, patience: int = 0) -> tuple[Bench, list[int]]:
    """Frames that are in the line of port 0, due then; where they come they wait."""
    bench = Bench()
    w = bench.world
    for port in w.ports:
        port.free_at = BUSY
    found = [bench.frame(source=SOURCE, destination=SOURCE, due=one, length=100) for one in due]
    for index, following in pairwise([*found, NONE]):
        w.frames[index].next = following
    line = w.ports[0]
    line.line_head, line.line_tail, line.patience = found[0], found[-1], patience
    line.line_bytes = 100 * len(found)
    return bench, found


def came(bench: Bench) -> list[tuple[int, int, int]]:
    """Frame, port and instant of those that are where they were sent to."""
    frames = bench.world.frames
    listed = bench.listed(int(bench.world.queues[0].head))
    return [(index, *values(frames[index], "port", "entered")) for index in listed]  # type: ignore[misc]


def test_a_line_hands_over_one_frame_and_wakes_for_the_next() -> None:
    bench, (first, second) = with_line(100, 100)
    bench.pass_on(100)
    assert came(bench) == [(first, 1, 100)]
    assert values(bench.world.ports[0], "line_head", "line_bytes") == [second, 100]
    assert bench.line(0) == 100
    bench.pass_on(130)
    assert came(bench) == [(first, 1, 100), (second, 1, 130)]
    assert bench.line(0) == NEVER


def test_a_line_that_has_patience_hands_over_all_that_was_due_each_as_of_its_instant() -> None:
    bench, (a, b, c, d) = with_line(100, 180, 250, 251, patience=150)
    bench.pass_on(250)
    assert came(bench) == [(a, 1, 100), (b, 1, 180), (c, 1, 250)]
    assert values(bench.world.ports[0], "line_head", "line_bytes") == [d, 100]
    assert bench.line(0) == 401
    bench, _ = with_line(100, patience=1)
    bench.pass_on(90)
    assert (came(bench), bench.line(0)) == ([], 101)


def test_before_a_sample_is_taken_what_was_due_earlier_is_handed_over() -> None:
    bench, (a, b, c) = with_line(100, 199, 200, patience=LEAST_INTERVAL_PS)
    for port in bench.world.ports:
        port.paused_until = 150
    bench.sample(200)
    assert came(bench) == [(a, 1, 100), (b, 1, 199)]
    assert bench.line(0) == 200 + LEAST_INTERVAL_PS
    assert [values(port, "paused_ps", "pause_counted") for port in bench.world.ports] == [
        *([150, 200], [150, 200])
    ]
    assert bench.listed(int(bench.world.ports[0].line_head)) == [c]


def test_a_sample_does_not_hurry_a_line_without_patience() -> None:
    bench, _ = with_line(100)
    bench.sample(200)
    assert came(bench) == []


def test_what_goes_to_a_wire_is_left_in_its_outbox() -> None:
    bench, (first, second) = with_line(100, 200)
    w = bench.world
    w.ports[0].peer, w.ports[0].wire = NONE, 0
    for count, now in ((1, 100), (2, 200)):
        bench.pass_on(now)
        assert w.outbox_count.tolist() == [count]
    assert w.outbox[0, :3].tolist() == [first, second, 0]
    assert came(bench) == []


def test_what_another_world_has_a_copy_of_ends_here() -> None:
    bench, (first, second) = with_line(100, 200)
    w = bench.world
    w.ports[0].peer, w.ports[0].wire = NONE, ELSEWHERE
    before = bench.unused
    for count, now in ((1, 100), (2, 200)):
        bench.pass_on(now)
        assert (bench.unused, came(bench)) == (before + count, [])
    assert sorted(int(index) for index in w.free[: int(w.clock[0].free)]) == sorted([first, second])
