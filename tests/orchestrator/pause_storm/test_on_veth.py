"""Storms on real frames: three observers agree, and the port that is held sends nothing.

Quanta are those of a slow link, so that no turn of another process is as long as the margin.
"""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.pause_storm.far_end import SLOTS
from orchestrator.pause_storm.hold_accounting import FAR_END, KERNEL, OWN
from orchestrator.targets.software.worker_process import run_job

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]
SLOW = 100_000_000
HOLD_S = 65_535 * 512 / SLOW


def stormed(*arguments: Any, **options: Any) -> dict[str, Any]:
    job = "tests.orchestrator.pause_storm.jobs:stormed"
    order = ("rate", "quanta", "pattern", "planted_ns", "foreign", "plain", "slots")
    usual = {
        "rate": SLOW,
        "quanta": 65_535,
        "pattern": None,
        "planted_ns": 0,
        "foreign": False,
        "plain": False,
        "slots": SLOTS,
    }
    found: dict[str, Any] = run_job(job, *arguments, *((usual | options)[name] for name in order))
    return found


@pytest.mark.parametrize("plain", [False, True])
def test_all_observers_see_every_frame_and_no_lapse(plain: bool) -> None:
    found = stormed(1.0, plain=plain)
    sent = found["own"]["frames"]
    assert sent >= 5, "a frame each quarter of 336 ms, then one that lets go"
    assert found["kernel"]["frames"] == found["far_end"]["frames"] == found["interface"] == sent
    for observer in ("own", "kernel", "far_end"):
        assert found[observer]["lapses"] == 0
        assert found[observer]["held_s"] == pytest.approx(1.0, abs=0.1)
        assert 0 < found[observer]["worst_margin_s"] <= HOLD_S * 0.76
    assert (found["far_end"]["dropped"], found["notes"]) == (0, [])


def test_a_lapse_that_is_planted_is_seen_by_all_of_them() -> None:
    found = stormed(1.6, planted_ns=int(1.5 * HOLD_S * 1e9))
    wanted = HOLD_S * 0.75  # the next one was due a quarter after the last one, at 0.25 + 1.5 holds
    for observer in ("own", "kernel", "far_end"):
        assert found[observer]["lapses"] == 1, observer
        assert found[observer]["longest_lapse_s"] == pytest.approx(wanted, abs=0.05)
        assert found[observer]["worst_margin_s"] == -found[observer]["longest_lapse_s"]
        assert found[observer]["lapsed_share"] == pytest.approx(wanted / 1.6, rel=0.15)
    assert sorted(observer for _, observer, _, _ in found["notes"]) == [OWN, KERNEL, FAR_END]


def test_a_pattern_is_held_for_its_share_and_begins_each_time_anew() -> None:
    found = stormed(1.0, pattern=(100_000_000, 200_000_000))
    for observer in ("own", "kernel", "far_end"):
        assert found[observer]["lapses"] == 0, observer
        assert found[observer]["held_s"] == pytest.approx(0.4, abs=0.08)
    assert found["own"]["frames"] == found["far_end"]["frames"]
    assert found["own"]["frames"] >= 4 * 2


def test_the_far_end_goes_round_its_ring() -> None:
    found = stormed(1.0, quanta=2000, slots=256)
    sent = found["own"]["frames"]
    assert sent > 300, "one each 2.6 ms"
    assert found["far_end"]["frames"] == found["interface"] == sent
    assert found["far_end"]["dropped"] == 0
    assert found["far_end"]["held_s"] + found["far_end"]["lapsed_s"] == pytest.approx(1.0, abs=0.1)


def test_frames_of_another_sender_are_none_of_the_storm() -> None:
    found = stormed(0.3, foreign=True)
    assert found["interface"] == found["own"]["frames"] > 0
    assert found["far_end"]["frames"] == 0


def test_the_port_that_is_held_sends_nothing() -> None:
    found = run_job("tests.orchestrator.pause_storm.jobs:held_port", 0)
    assert found["kernel"]["lapses"] == 0
    assert found["before"] > 100, "4.2 frames a ms"
    assert found["held"] == 0
    assert found["after"] > 100
    assert found["foreign"] == 0
    assert found["pauses"] == found["own"]["frames"]
    assert found["paused_s"] == pytest.approx(0.8, abs=0.05)


def test_through_a_lapse_that_is_planted_frames_get_out() -> None:
    found = run_job("tests.orchestrator.pause_storm.jobs:held_port", 100_000_000)
    assert found["kernel"]["lapses"] == 1
    lapse_s = found["kernel"]["longest_lapse_s"]
    assert found["held"] == pytest.approx(lapse_s * SLOW / 2 / 8 / 1500, rel=0.4)
    assert found["paused_s"] == pytest.approx(0.8 - lapse_s, abs=0.05)
