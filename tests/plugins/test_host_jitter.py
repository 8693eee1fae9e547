"""A link as a machine serves it: what the profile says is what frames meet, no more and no less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames import frame_layout
from orchestrator.recording import Recording
from tests.orchestrator.profile.made import departures, made, stalls
from tests.orchestrator.worlds import MS, US, line_of_three, recorded
from tests.plugins.described import check_page

NS = 1000
WIRE = 12_000_000
"""ps of 1500 octets at 1 Gb/s."""


def file_of(folder: Path, **changes: Any) -> str:
    path = folder / "profile.json"
    path.write_text(json.dumps(made(**changes)), encoding="utf-8")
    return str(path)


def simulated(profile: str, seed: int = 1, duration: int = 50 * MS, **how: Any) -> Recording:
    """A flow over two links that a machine serves, captured at both ends of each."""
    plan = line_of_three(duration=duration, seed=seed)
    plan["traffic"]["gen"]["rate"] = 500_000_000
    for name, other in (("up", 1), ("down", 1)):
        line = {"plugin": "host-jitter", "profile": profile, "peer_thread": other, **how}
        plan["links"][name] |= {"delay": 50 * US, "delay_line": line, "buffer": 10**9}
    ports = ["switch.nic", "sink.switch"]
    plan["capture"] = {"ports": ports, "snap": 128, "frames": 20_000}
    return recorded(plan)


def extra_ns(recording: Recording, port: int = 0) -> np.ndarray:
    """What each frame took beyond its time on the wire and the link's delay, at the first link."""
    capture = recording.captures[port]
    created = np.zeros(len(capture.octets), np.int64)
    for place in range(frame_layout.CREATED, frame_layout.CREATED + 8):
        created = (created << 8) | capture.octets[:, place]
    return (capture.times_ps - created - WIRE - 50 * US) // NS


def test_nothing_measured_is_the_plan_itself(tmp_path: Path) -> None:
    found = extra_ns(simulated(file_of(tmp_path, departures=[departures(0.1, 0)])))
    assert len(found) > 1_500
    assert (found == 0).all()


def test_what_is_always_as_late_is_as_late(tmp_path: Path) -> None:
    found = extra_ns(simulated(file_of(tmp_path, departures=[departures(0.1, 9_000)])))
    assert (found == 9_000).all()


def test_the_load_that_is_named_counts(tmp_path: Path) -> None:
    found = extra_ns(simulated(file_of(tmp_path), load=1))
    assert (found == 9_000).all()


def test_at_half_the_pace_it_is_half_as_late(tmp_path: Path) -> None:
    found = extra_ns(simulated(file_of(tmp_path, departures=[departures(0.1, 9_000)]), pace=0.5))
    assert (found == 4_500).all()


def test_draws_are_spread_as_the_profile_says(tmp_path: Path) -> None:
    """Evenly from 3 to 9 us: frames come 24 us apart, so that none waits for another."""
    path = file_of(tmp_path, departures=[departures(0.1, 3_000, 6_000)])
    found = extra_ns(simulated(path, duration=200 * MS))
    assert found.min() >= 3_000
    assert found.max() <= 9_000
    assert found.mean() == pytest.approx(6_000, abs=100)
    assert found.std() == pytest.approx(6_000 / np.sqrt(12), rel=0.05)
    other = extra_ns(simulated(path, seed=2, duration=200 * MS))
    assert (found[:1000] != other[:1000]).mean() > 0.9
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.05


def stalled(found: np.ndarray, floor_ns: int = 100_000) -> int:
    """How many stalls frames met: runs of late ones."""
    late = found > floor_ns
    return int(np.count_nonzero(late[1:] & ~late[:-1]))


LATE_NONE = [departures(0.1, 0)]


def test_stalls_come_as_often_and_as_long_as_they_were(tmp_path: Path) -> None:
    """50 a second of 2 ms for all cores at once: in 4 s 200, and their own time between them."""
    cut = stalls(50.0, 2 * 10**6, at_once=250)
    path = file_of(tmp_path, departures=LATE_NONE, stalls=cut)
    counts = [
        stalled(extra_ns(simulated(path, seed, duration=400 * MS, most=10 * MS)))
        for seed in range(1, 11)
    ]
    expected = 10 * 0.4 / (1 / 50 + 2e-3)
    assert sum(counts) == pytest.approx(expected, abs=4 * np.sqrt(expected))
    found = extra_ns(simulated(path, 3, duration=400 * MS, most=10 * MS))
    assert 1_900_000 < found.max() <= 2_000_000


def test_a_held_clock_bounds_what_a_stall_does(tmp_path: Path) -> None:
    cut = stalls(50.0, 2 * 10**6, at_once=250)
    path = file_of(tmp_path, departures=LATE_NONE, stalls=cut)
    found = extra_ns(simulated(path, 3, duration=400 * MS, most=300 * US))
    assert 250_000 < found.max() <= 300_000


def test_a_stall_of_all_cores_holds_all_links_at_once(tmp_path: Path) -> None:
    cut = stalls(50.0, 2 * 10**6, at_once=250)
    path = file_of(tmp_path, departures=LATE_NONE, stalls=cut)
    recording = simulated(path, 3, duration=400 * MS, most=10 * MS)
    first, second = (np.sort(capture.times_ps) for capture in recording.captures)
    silent = np.flatnonzero(np.diff(first) > MS)
    assert len(silent) > 3
    for place in silent:  # the stall ends for the second link when it does for the first
        end = first[place + 1]
        assert np.abs(second - end).min() == 0


def test_a_stall_of_one_core_is_another_ones_business(tmp_path: Path) -> None:
    path = file_of(tmp_path, departures=LATE_NONE, stalls=stalls(20.0, 2 * 10**6))
    here = extra_ns(simulated(path, 3, duration=400 * MS, thread=0, peer_thread=0))
    there = extra_ns(simulated(path, 3, duration=400 * MS, thread=5, peer_thread=5))
    both = extra_ns(simulated(path, 3, duration=400 * MS, thread=0, peer_thread=5))
    held = [set(np.flatnonzero(one > 100_000).tolist()) for one in (here, there, both)]
    assert held[0]
    assert held[1]
    assert not held[0] <= held[1]
    assert not held[1] <= held[0]
    assert held[0] | held[1] == held[2]


def test_order_is_kept(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        departures=[departures(0.1, 0, 200_000)],
        stalls=stalls(50.0, 2 * 10**6, at_once=100),
    )
    capture = simulated(path).captures[0]
    sequence = np.zeros(len(capture.octets), np.int64)
    for place in range(frame_layout.SEQUENCE, frame_layout.SEQUENCE + 8):
        sequence = (sequence << 8) | capture.octets[:, place]
    assert (np.diff(sequence) == 1).all()


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.host_jitter") > 0
