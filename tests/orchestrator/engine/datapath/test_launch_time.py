"""When frames are told to leave: due, or as soon as the queue takes them; how late that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.datapath import launch_time as at
from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.engine.datapath.link_counters import SENT_PS, WORDS
from orchestrator.engine.datapath.mmsg_batch import (
    CONTROL_AT,
    CONTROL_LENGTH,
    QUEUED,
    Batch,
    receiver,
)

TAI = 1_764_000_037 * 10**9
PS = 1000


class Rigged(NamedTuple):
    """As much of a rig as launches need."""

    launches: np.ndarray
    launched: np.ndarray
    tally: np.ndarray
    outgoing: Batch
    speed: np.ndarray
    stamp: np.ndarray


def rigged(speed: int = REAL_TIME) -> Rigged:
    """Wire 1 is launched, wire 0 is not."""
    return Rigged(
        np.array([at.LEAD_NS * speed // PS, TAI, 0], np.int64),
        np.array([0, 1], np.int64),
        np.zeros((2, WORDS), np.int64),
        receiver(np.zeros((4, 64), np.uint8), 4),
        np.array([speed], np.int64),
        np.zeros(2, np.int64),
    )


@given(
    st.integers(0, 10**15),
    st.integers(0, at.LEAD_NS - at.SOONEST_NS),
    st.sampled_from([REAL_TIME, REAL_TIME // 10, REAL_TIME * 2, 1000]),
)
def test_a_frame_that_is_handed_over_in_time_leaves_when_it_is_due(due, ns, speed):
    rig = rigged(speed)
    now = due + ns * speed // PS  # ns of the machine after it came out of the delay line
    assert at.set_launch_time(rig, 1, due, now) == 0
    length, kind, launch = rig.outgoing.control[0, :3].tolist()
    assert (length, kind) == (24, 1 | 61 << 32)
    on_time = TAI + at.LEAD_NS - ns
    assert on_time - 1 - PS * REAL_TIME // (speed * 10**3) <= launch <= on_time + 1 + PS // speed
    assert rig.outgoing.headers[0, CONTROL_AT] == rig.outgoing.control[0].ctypes.data
    assert rig.outgoing.headers[0, CONTROL_LENGTH] == 24
    assert rig.tally[1, SENT_PS] == rig.launches[at.LEAD]
    assert rig.launches[at.BEHIND] == 0


@given(st.integers(1, 10**9))
def test_a_frame_that_is_late_leaves_as_soon_as_it_can_and_counts_by_that(ns):
    rig = rigged()
    now = (at.LEAD_NS - at.SOONEST_NS + ns) * PS
    assert at.set_launch_time(rig, 1, 0, now) == ns * PS
    assert rig.outgoing.control[0, 2] == TAI + at.SOONEST_NS
    assert rig.launches[at.BEHIND] == 1


def test_a_wire_that_is_not_launched_is_late_as_ever_and_tells_no_time():
    rig = rigged()
    rig.outgoing.headers[0, CONTROL_LENGTH] = 24  # of the batch before
    assert at.set_launch_time(rig, 0, 5, 12) == 7
    assert rig.outgoing.headers[0, CONTROL_LENGTH] == 0
    assert rig.tally[0, SENT_PS] == 0


def test_frames_of_a_batch_have_times_of_their_own():
    rig = rigged()
    for k in range(3):
        rig.outgoing.state[QUEUED] = k
        at.set_launch_time(rig, 1, k * 10**6, 0)
    assert np.diff(rig.outgoing.control[:3, 2]).tolist() == [1000, 1000]
    assert len(set(rig.outgoing.headers[:3, CONTROL_AT].tolist())) == 3
    rig.outgoing.state[QUEUED] = 4
    assert at.set_launch_time(rig, 1, 0, 0) == 0  # full: `post` counts it as unsent


def test_the_clock_is_that_which_the_queue_takes():
    import time

    rig = rigged()
    before = time.clock_gettime_ns(time.CLOCK_TAI)
    at.begin_launches(rig)
    assert before <= rig.launches[at.TAI] <= time.clock_gettime_ns(time.CLOCK_TAI)


@pytest.mark.parametrize("speed", [REAL_TIME, REAL_TIME // 4])
def test_delay_lines_of_launched_ports_are_shorter(speed):
    from orchestrator.targets.software.thread_io import shorten

    ports = np.zeros(3, [("delay", np.int64)])
    ports["delay"] = 10**9
    lead = shorten(ports, np.array([1]), speed)
    assert lead == at.LEAD_NS * speed // PS
    assert ports["delay"].tolist() == [10**9, 10**9 - lead, 10**9]
