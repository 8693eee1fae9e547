"""The trial of an hour: what it says of runs that lost frames or grew, and a short run of it."""

from __future__ import annotations

import mmap
import os
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.trials import hour

SECONDS, EACH_S = float(os.environ.get("TAILBACK_HOUR_S", "10")), 1.0


def result(lost: int = 0, carried: float = 949e6) -> dict[str, Any]:
    return {
        "fidelity": {
            "lost_outside_queues": {"sockets": lost, "interfaces": 0},
            "frames_sent": 1000,
            "verdict": "valid",
            "held": {"share": 0.0},
        },
        "metrics": {"whole": {"switch.sink": {"throughput_bps": carried}}},
    }


def test_nothing_is_wrong_with_a_run_that_lost_nothing_and_stayed_as_it_was():
    assert hour.told_of(result(), [100_000, 100_900, 100_500]).wrong() == []


@pytest.mark.parametrize(
    ("told", "memory_kb", "said"),
    [
        (result(lost=1), [100_000, 100_000], "1 frames lost: sockets"),
        (result(), [100_000, 100_000, 103_000], "memory grew from 100000 to 103000 kB"),
        (result(), [100_000, 103_000, 100_000], "memory grew from 100000 to 103000 kB"),
        (result(), [100_000], "1 readings of memory: the run was too short to tell"),
        (result(carried=9e8), [100_000, 100_000], "900 Mb/s carried, of 950"),
    ],
)
def test_each_thing_that_is_wrong_is_said(told: dict[str, Any], memory_kb: list[int], said: str):
    assert hour.told_of(told, memory_kb).wrong() == [said]


@pytest.mark.parametrize("seconds", [2, 60, 3600])
def test_the_plan_of_any_length_is_one_with_a_bounded_number_of_samples(seconds: int):
    plan = Plan.load(hour.plan(seconds))
    plan.check(Registry.load())
    assert plan.duration == seconds * 10**12
    assert plan.duration / plan.sample_interval <= 1000


def test_memory_of_this_process_is_read():
    before = hour.resident_kb(os.getpid())
    with mmap.mmap(-1, 50 << 20) as held:  # what was freed before is not used again
        for page in range(0, len(held), mmap.PAGESIZE):
            held[page] = 1
        assert hour.resident_kb(os.getpid()) - before > 40 << 10
    assert hour.resident_kb(2**22 + 1) == 0


def test_a_run_without_a_result_ends_with_what_it_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hour, "PLAN", hour.PLAN.replace('to = "sink"', 'to = "nowhere"'))
    with pytest.raises(RuntimeError, match=r"(?s)exit code 2:.*nowhere"):
        hour.run(2, "packet", EACH_S)


@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(600 + 20 * SECONDS)
@pytest.mark.parametrize("datapath", ["packet", "auto"])
def test_a_switch_at_a_gigabit_loses_nothing_and_does_not_grow(datapath: str):
    """TAILBACK_HOUR_S seconds; an hour takes an hour."""
    assert hour.run(SECONDS, datapath, EACH_S).wrong() == []
