"""What a run tells of waits, of several threads together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from orchestrator.engine.datapath import arrivals
from orchestrator.engine.histogram import add, new_histogram
from orchestrator.targets.software.waits import told


def thread(asked: int, without: int, *waits_ps: int) -> Any:
    words = np.zeros(arrivals.WORDS, np.int64)
    words[arrivals.ASKED], words[arrivals.WITHOUT] = asked, without
    waits = new_histogram()
    for wait in waits_ps:
        add(waits, wait)
    return SimpleNamespace(rig=SimpleNamespace(arrivals=words, waits=waits))


def test_threads_are_counted_together() -> None:
    found = told([thread(1, 2, *[10**6] * 99), thread(1, 3, 7 * 10**9)])
    assert found["without_time"] == 5
    assert found["waited_s"]["max"] == 0.007
    assert 1e-6 <= found["waited_s"]["p50"] <= found["waited_s"]["p99"] < 2e-6


def test_nothing_is_told_where_nothing_was_asked_for() -> None:
    assert told([thread(0, 0), thread(0, 0)]) == {}
