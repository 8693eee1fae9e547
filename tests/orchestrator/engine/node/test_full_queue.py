"""A full drop-tail queue whose frames differ in length, against a model in exact fractions.

A queue counts octets: a frame has room if all of it fits, whatever was dropped shortly before. What
comes at the instant at which a frame leaves comes before.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.recording import Recording
from tests.orchestrator.worlds import ALIGNED, US, Table, recorded

LENGTHS = [70, 300, 999, 1000, 1500]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Sources of unequal frames into one queue, all of whose frames are captured; where places in
    it may be drawn, no two sources have frames of one length."""
    sources = range(draw(st.integers(2, 3)))
    draws = draw(st.booleans())
    some = st.lists(st.sampled_from(LENGTHS), min_size=3, max_size=3, unique=draws)
    lengths = draw(some)
    table: Table = {
        "name": "full-queue",
        "seed": draw(st.integers(1, 99)),
        "duration": 2000 * US,
        "sample_interval": 1000 * US,
        "nodes": {f"h{n}": {"kind": "nic"} for n in sources}
        | {"s": {"kind": "switch", "buffer": draw(st.integers(1500, 9000))}, "d": {"kind": "sink"}},
        "links": {
            f"u{n}": {
                "ends": [f"h{n}", "s"],
                "rate": draw(st.sampled_from([10**8, 99_999_989])),
                "delay": draw(st.integers(0, US)),
            }
            for n in sources
        }
        | {"o": {"ends": ["s", "d"], "rate": draw(st.sampled_from([10**8, 99_999_971]))}},
        "traffic": {
            f"t{n}": {
                "plugin": "cbr",
                "from": f"h{n}",
                "to": "d",
                "frame": lengths[n],
                "rate": draw(st.integers(4 * 10**7, 10**8)),
            }
            for n in sources
        },
    }
    ports = ["s.d", *(f"s.h{n}" for n in sources)]
    table["capture"] = {"ports": ports, "frames": 5000, "snap": 64}
    return table if draws else table | ALIGNED


def departures(table: Table, found: Recording) -> tuple[list[tuple[int, int]], int]:
    """(ps, octets) of the frames that leave the queue, and how many of those that come it drops."""
    room, rate = table["nodes"]["s"]["buffer"], table["links"]["o"]["rate"]
    come = [
        (int(at), port.port, int(length))
        for port in found.captures
        if port.port != "d"
        for at, length in zip(port.times_ps, port.lengths, strict=True)
    ]
    waiting: list[tuple[int, int]] = []
    left: list[tuple[int, int]] = []
    free = dropped = 0

    def send(now: int, octets: int) -> None:
        nonlocal free
        free = max(free, now) + ceil(Fraction(octets * 8 * 10**12, rate))
        left.append((free, octets))

    def send_before(now: int) -> None:
        while waiting and max(free, waiting[0][0]) < now:
            send(*waiting.pop(0))

    for now, _, length in sorted(come):
        send_before(now)
        if not waiting and free <= now:
            send(now, length)
        elif sum(octets for _, octets in waiting) + length > room:
            dropped += 1
        else:
            waiting.append((now, length))
    send_before(table["duration"])
    return [frame for frame in left if frame[0] <= table["duration"]], dropped


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(table=tables())
def test_frames_of_unequal_length_leave_a_full_queue_as_the_model_says(table: Table) -> None:
    found = recorded(table)
    left, dropped = departures(table, found)
    sent = next(port for port in found.captures if port.port == "d")
    seen = list(zip(sent.times_ps.tolist(), sent.lengths.tolist(), strict=True))
    assert seen == left
    assert found.column("s.d", "frames_dropped")[-1] == dropped
