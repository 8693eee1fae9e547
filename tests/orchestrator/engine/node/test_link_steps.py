"""A port's transmitter and its delay line, step by step, with numbers worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

from orchestrator.engine.node.actors import flow_actor
from orchestrator.engine.node.delay_line import leave_line, schedule_line
from orchestrator.engine.node.transmitter import (
    LONGEST_PS,
    cached_wire_time,
    quanta_time,
    transmit,
    wire_time,
)
from orchestrator.engine.records import NEVER, NONE
from tests.orchestrator.engine.node.bench import NS_OF_OCTET, POOL, RATE, Bench, values

NOW = 5000
FULL = 1500 * NS_OF_OCTET
"""ps of a full frame."""


def exact(bits: int, rate: int) -> int:
    """ps of so many bits, rounded up."""
    return min(ceil(Fraction(bits * 10**12, rate)), LONGEST_PS)


@pytest.mark.parametrize(
    ("octets", "rate"),
    [
        *((0, 1), (1, 1), (1, 7), (1, 8), (1, 10**13), (1500, RATE), (10_216, 3)),
        *((10**6, RATE), (10**6, 10**6 + 3), (10**6, 1), (144_115, 1), (144_116, 1)),
        *((10**6 + 1, RATE), (2 * 10**6, RATE), (10**6 + 1, 7), (10**6 + 7, 7), (10**9, 10**9 + 7)),
        *((10**9, 11), (10**12, 10**13), (10**12, 7 * 10**6), (10**12, 6_900_000), (10**12, 1)),
        *((994_324_757_742, 6_899_514), (3 * 10**6 + 1, 10**13 - 1)),
    ],
)
def test_wire_time_is_rounded_up_from_where_it_is_a_ps_to_where_it_is_cut(
    octets: int, rate: int
) -> None:
    assert LONGEST_PS == 2**60
    assert wire_time(octets, rate) == exact(octets * 8, rate)


@pytest.mark.parametrize(
    ("quanta", "rate"),
    [
        *((0, 1), (1, 1), (2, 1), (1, 7), (2, 7), (300, 7), (300, 512), (65_535, 512)),
        *((1, 10**6 + 3), (65_535, 10**6 + 3), (65_535, RATE), (65_535, 10**13), (1, 10**13)),
    ],
)
def test_quanta_are_512_bits_each_rounded_up_together(quanta: int, rate: int) -> None:
    assert quanta_time(quanta, rate) == exact(quanta * 512, rate) < LONGEST_PS


def test_a_time_is_divided_out_anew_for_other_octets_or_another_rate_alone() -> None:
    port = Bench().world.ports[0]
    assert cached_wire_time(port, 1500, RATE) == FULL
    assert values(port, "timed_octets", "timed_rate", "timed_ps") == [1500, RATE, FULL]
    port.timed_ps = 4
    assert cached_wire_time(port, 1500, RATE) == 4, "as it was kept"
    assert cached_wire_time(port, 1501, RATE) == FULL + NS_OF_OCTET
    port.timed_ps = 4
    assert cached_wire_time(port, 1501, 2 * RATE) == (FULL + NS_OF_OCTET) // 2
    assert cached_wire_time(port, 1500, RATE) == FULL


def test_flows_wake_behind_lines_queues_and_ports() -> None:
    assert flow_actor(Bench().world, 0) == 2 + 2 + 4 + 2
    assert flow_actor(Bench().world, 5) == 15


def sent(bench: Bench, *lengths: int, now: int = NOW) -> list[int]:
    """Send frames of these lengths out of port 1, whatever its transmitter does."""
    found = []
    for length in lengths:
        found.append(bench.frame(length=length))
        transmit(bench.world, 1, found[-1], now)
    return found


def test_a_frame_takes_its_time_on_the_wire_and_then_the_lines() -> None:
    bench = Bench()
    w = bench.world
    port = w.ports[1]
    port.overhead, port.delay, port.patience = 20, 700, 30
    (index,) = sent(bench, 1500)
    free = NOW + FULL + 20 * NS_OF_OCTET
    assert values(port, "free_at", "bytes_out", "frames_out", "frames_lost") == [free, 1500, 1, 0]
    assert values(port, "line_head", "line_tail", "line_bytes") == [index, index, 1500]
    assert values(w.frames[index], "due", "next") == [free + 700, NONE]
    assert bench.line(1) == free + 730
    assert bench.line(0) == NEVER
    assert w.ports[0].frames_out == 0


def test_frames_line_up_in_the_order_in_which_they_were_sent() -> None:
    bench = Bench()
    w = bench.world
    port = w.ports[1]
    port.delay = 10 * FULL
    first, second, third = sent(bench, 1500, 700, 64)
    assert bench.listed(port.line_head) == [first, second, third]
    assert values(port, "line_tail", "line_bytes", "frames_out") == [third, 2264, 3]
    assert bench.line(1) == NOW + 11 * FULL, "the first one alone decides"
    port.delay = 0
    (quick,) = sent(bench, 64, now=NOW + 1)
    assert w.frames[quick].due == w.frames[third].due, "it waits for those before it"
    port.delay = 20 * FULL
    (slow,) = sent(bench, 64, now=NOW + 2)
    assert w.frames[slow].due == NOW + 2 + 64 * NS_OF_OCTET + 20 * FULL
    assert bench.listed(port.line_head) == [first, second, third, quick, slow]


def test_frames_leave_a_line_from_its_head() -> None:
    bench = Bench()
    w = bench.world
    port = w.ports[1]
    port.delay, port.patience = 100, 7
    (first,), (second,) = sent(bench, 1500), sent(bench, 700, now=NOW + FULL)
    assert bench.line(1) == w.frames[first].due + 7 < w.frames[second].due
    assert leave_line(w, 1) == first
    assert values(port, "line_head", "line_bytes") == [second, 700]
    schedule_line(w, 1)
    assert (bench.line(1), bench.line(0)) == (w.frames[second].due + 7, NEVER)
    assert leave_line(w, 1) == second
    assert values(port, "line_head", "line_bytes") == [NONE, 0]
    schedule_line(w, 1)
    assert bench.line(1) == NEVER


@pytest.mark.parametrize(("room", "lost"), [(2200, 0), (2199, 1)])
def test_what_a_full_line_has_no_room_for_is_lost_and_counted(room: int, lost: int) -> None:
    bench = Bench()
    port = bench.world.ports[1]
    port.line_capacity = room
    sent(bench, 1500, 700)
    assert values(port, "frames_out", "bytes_out", "frames_lost") == [2, 2200, lost]
    assert values(port, "line_bytes", "free_at") == [2200 - 700 * lost, NOW + 700 * NS_OF_OCTET]
    assert bench.unused == POOL - 2 + lost


def test_what_a_cut_link_loses_takes_its_time_all_the_same() -> None:
    bench = Bench()
    port = bench.world.ports[1]
    port.up = 0
    sent(bench, 1500)
    names = ("frames_out", "frames_lost", "line_head", "line_bytes", "free_at")
    assert values(port, *names) == [1, 1, NONE, 0, NOW + FULL]
    assert (bench.line(1), bench.unused) == (NEVER, POOL)


@pytest.mark.parametrize(("answer", "lost"), [(40, 0), (0, 0), (-1, 1)])
def test_a_delay_line_says_how_long_it_holds_a_frame_or_that_it_is_lost(
    answer: int, lost: int
) -> None:
    bench = Bench()
    port = bench.world.ports[1]
    port.delay, port.delay_line = 9999, bench.rows["line"]
    bench.tell("line", answer=answer)
    (index,) = sent(bench, 1500)
    assert bench.told("line", "came", "length", "now") == [1, 1500, NOW]
    assert values(port, "frames_lost", "frames_out", "free_at") == [lost, 1, NOW + FULL]
    assert bench.unused == POOL - 1 + lost
    if not lost:
        assert bench.world.frames[index].due == NOW + FULL + answer
        assert bench.line(1) == NOW + FULL + answer
    else:
        assert (port.line_head, port.line_bytes, bench.line(1)) == (NONE, 0, NEVER)
