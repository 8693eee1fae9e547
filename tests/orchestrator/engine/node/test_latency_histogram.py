"""Latency bins: where a latency is counted, and what a run counts."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.engine.node.latency_histogram import BINS, latency_bin, latency_edges
from tests.orchestrator.worlds import MS, US, line_of_three, recorded

EDGES = latency_edges()


def test_edges_rise_and_no_bin_is_wider_than_a_32nd() -> None:
    widths = np.diff(EDGES)
    assert EDGES[0] == 0
    assert len(EDGES) == BINS + 1
    assert (widths > 0).all()
    assert (widths[64:] * 32 <= EDGES[64:-1]).all()


@given(st.one_of(st.integers(0, 1 << 14), st.integers(0, int(EDGES[-1]) - 1)))
@example(0)
@example(int(EDGES[-1]) - 1)
def test_a_latency_lies_between_the_edges_of_its_bin(latency: int) -> None:
    position = int(latency_bin(latency))
    assert EDGES[position] <= latency < EDGES[position + 1]


@given(st.integers(1, BINS - 1))
def test_an_edge_begins_its_bin(position: int) -> None:
    assert latency_bin(int(EDGES[position])) == position
    assert latency_bin(int(EDGES[position]) - 1) == position - 1


@given(st.integers(int(EDGES[-1]), (1 << 62) - 1))
def test_the_last_bin_holds_everything_longer(latency: int) -> None:
    assert latency_bin(latency) == BINS - 1


def test_a_lone_frame_takes_its_time_on_both_wires_and_the_delays() -> None:
    plan = line_of_three(duration=10 * MS, phases={"late": {"from": 5 * MS, "to": 10 * MS}})
    plan["links"]["up"] |= {"delay": 30 * US, "overhead": 20}
    plan["links"]["down"] |= {"delay": 7 * US, "rate": 10**8}
    plan["traffic"]["gen"] |= {"rate": 12 * 10**6, "frame": 1500}
    recording = recorded(plan)
    expected = 1520 * 8_000 + 30 * US + 1500 * 80_000 + 7 * US
    position = int(latency_bin(expected))
    counts = dict(zip(recording.latency_marks_ps.tolist(), recording.latency["gen"], strict=True))
    assert set(counts) == {0, 5 * MS, 10 * MS}
    for time in (5 * MS, 10 * MS):
        frames = (time - expected) // MS + 1  # one frame a millisecond, the first at 0
        assert counts[time][position] == counts[time].sum() == frames
    assert counts[0].sum() == 0
