"""What a turn of the loop sends: a batch at once, and however much is due."""

from __future__ import annotations

import os

import pytest

from orchestrator.targets.software.worker_process import run_job
from tests.orchestrator.targets.software import turns

pytestmark = [pytest.mark.software, pytest.mark.shares_cores]


def test_what_a_batch_of_frames_brings_about_leaves_in_the_turn_and_in_few_calls():
    *told, (arrived, counted, _) = run_job("tests.orchestrator.targets.software.turns:burst")
    assert arrived == counted == turns.FRAMES
    assert max(taken for taken, _, _ in told) >= 30  # of a batch of 32
    for taken, left, calls in told:
        assert left == taken, told
        assert calls <= 2 + taken // 16, told


STILL_S, HORIZON_PS, FREE_PS = 0.02, 30_000_000, 10**18


def test_a_loop_that_stood_still_logs_it_and_its_clock_was_held():
    job = "tests.orchestrator.targets.software.turns:stood_still"
    row = run_job(job, HORIZON_PS, STILL_S)
    assert row["more"] == 1
    assert row["TO_NS"] - row["FROM_NS"] >= STILL_S * 1e9
    assert 0 < row["TO_PS"] - row["FROM_PS"] <= HORIZON_PS
    assert row["SPAN_SLEPT"] >= 1
    assert 0 < row["SPAN_CPU_NS"] < row["SPAN_NS"] - STILL_S * 0.9e9
    assert row["WORK"] + row["AFTER"] >= 15, "30 us are frames of 1.6 us"


def test_a_process_that_was_stopped_has_it_in_its_log():
    """However busy the machine is: it was stopped for so long at the least."""
    logged = run_job("tests.orchestrator.targets.software.turns:stopped", STILL_S)
    long = [turn for turn in logged if turn["to_ns"] - turn["from_ns"] >= STILL_S * 0.99e9]
    assert long
    assert any(turn["slept"] >= 1 for turn in long)
    if os.path.exists("/proc/thread-self/schedstat"):
        assert all(turn["waited_ns"] >= 0 for turn in long)
    for turn in long:
        assert 0 < turn["from_ns"] < turn["to_ns"] <= turn["ran_ns"], "since its time 0"
        assert turn["cpu_ns"] <= turn["span_ns"]
        assert turn["to_ps"] - turn["from_ps"] <= HORIZON_PS


def test_without_a_horizon_all_of_it_goes_by():
    row = run_job("tests.orchestrator.targets.software.turns:stood_still", FREE_PS, STILL_S)
    assert row["more"] == 1, "of a floor that is the machine's, for the clock has none"
    assert row["TO_PS"] - row["FROM_PS"] >= STILL_S * 1e12
    assert row["AFTER"] >= STILL_S / 1.6e-6


def test_more_than_the_outboxes_hold_is_sent_when_it_is_due_at_once():
    told = run_job("tests.orchestrator.targets.software.turns:behind")
    assert told["due"] > 4 * told["room"]
    assert told["due"] - 3 <= told["sent"] <= told["due"]
    assert told["arrived"] == told["sent"]
    assert (told["unsent"], told["left"]) == (0, 0)


@pytest.mark.parametrize("late_s", [0.0, 0.4])
def test_time_0_is_after_every_thread_has_entered_its_loop(late_s: float):
    """However long that takes: nothing of the run's clock is dropped for it."""
    found = run_job("tests.orchestrator.targets.software.turns:late_thread", late_s)
    assert found["after_ns"] >= turns.LATE_LEAD_NS
    assert found["held_ps"] == 0


def test_a_thread_that_ends_before_its_loop_fails_the_run():
    said = run_job("tests.orchestrator.targets.software.turns:ended_thread")
    assert said == "target software: datapath-0 ended before it entered its loop"
