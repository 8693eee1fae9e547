"""What a run tells of waits, of several threads together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from orchestrator.engine.datapath import arrival_times, departure_times, launch_time
from orchestrator.engine.histogram import add, new_histogram
from orchestrator.targets.software.frame_lateness import lateness_table


def thread(asked: int, without: int, *waits_ps: int) -> Any:
    words = np.zeros(arrival_times.WORDS, np.int64)
    more = {
        "departures": np.zeros(departure_times.WORDS, np.int64),
        "launches": np.zeros(launch_time.WORDS, np.int64),
        "late": new_histogram(),
    }
    words[arrival_times.REQUESTED], words[arrival_times.WITHOUT] = asked, without
    waits = new_histogram()
    for wait in waits_ps:
        add(waits, wait)
    return SimpleNamespace(rig=SimpleNamespace(arrivals=words, waits=waits, **more))


def test_threads_are_counted_together() -> None:
    found = lateness_table([thread(1, 2, *[10**6] * 99), thread(1, 3, 7 * 10**9)])
    assert found["without_time"] == 5
    assert found["waited_s"]["max"] == 0.007
    assert 1e-6 <= found["waited_s"]["p50"] <= found["waited_s"]["p99"] < 2e-6


def test_nothing_is_told_where_nothing_was_asked_for() -> None:
    assert lateness_table([thread(0, 0), thread(0, 0)]) == {}


def test_departures_and_launches_are_told_where_they_were_asked_for() -> None:
    one, two = thread(0, 0), thread(0, 0)
    for each, late in ((one, 10**6), (two, 9 * 10**9)):
        rig = each.rig
        rig.departures[:] = [1, 100, 97, 2, 40, 3, 1]
        add(rig.late, late)
    one.rig.launches[:] = [5 * 10**8, 0, 7]
    found = lateness_table([one, two])
    assert set(found) == {"left", "launched"}
    assert found["left"]["late_s"]["max"] == 0.009
    del found["left"]["late_s"]
    assert found["left"] == {
        "timed": 194,
        "without_time": 6,
        "of_no_frame": 4,
        "echoes_moved": 80,
    }
    assert found["launched"] == {"lead_s": 0.0005, "behind": 7, "missed": 6, "invalid": 2}
