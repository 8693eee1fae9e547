"""What is measured on real frames shows what is planted: by medians, and where the machine left the
data path its core."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from orchestrator.targets.software.worker_process import Worker, run_job
from tests.orchestrator.calibration.jobs import MOST_STALLED

JOBS = "tests.orchestrator.calibration.jobs:"
MS, US = 10**9, 10**6
PLANTED_S = 0.15

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]


def measured(job: str, *arguments: Any) -> dict[str, Any]:
    """A measurement of an undisturbed trial; the test is skipped where the machine allows none."""
    found: dict[str, Any] = run_job(JOBS + job, *arguments)
    if found["stalled_share"] > MOST_STALLED:
        pytest.skip(
            f"the machine took the data path's core for {found['stalled_share']:.0%} of the last "
            f"of {found['trials']} trials; at most {MOST_STALLED:.0%} tells"
        )
    return found


@pytest.mark.parametrize("off_percent", [-1.0, 0.0, 1.0])
def test_a_limiter_that_is_one_percent_off(off_percent: float) -> None:
    found = measured("limiter", 100_000_000, off_percent)
    (window,) = (one for one in found["windows"] if one["window_ns"] == 10**8)
    planted = abs(1 / (1 + off_percent / 100) - 1) * 1e6
    assert window["p50_error_ppm"] == pytest.approx(planted, abs=2_000)
    assert found["frames"] > 2_000


@pytest.mark.parametrize("added_us", [0, 20])
@pytest.mark.parametrize(("delay_ps", "load"), [(100 * US, 0.1), (MS, 1.0)])
def test_a_delay_line_that_is_20_us_too_long(added_us: int, delay_ps: int, load: float) -> None:
    found = measured("delay", delay_ps, added_us * US, load)
    assert 0 <= found["error"]["p50_ns"] - 1000 * added_us < 10_000
    assert (found["lost_frames"], found["reordered_frames"]) == (0, 0)


def stopped(seconds: float) -> dict[str, Any]:
    """Stalls as measured while every thread of the worker was stopped once for so long."""
    with Worker(JOBS + "stalls", 1.0) as worker:
        for pid in worker.reports():
            os.kill(pid, signal.SIGSTOP)
            os.waitid(os.P_PID, pid, os.WSTOPPED)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
        found: dict[str, Any] = worker.result
    return found


@pytest.mark.shares_cores
def test_a_stop_of_the_whole_process_is_a_stall_of_all_cores_at_once() -> None:
    found = stopped(PLANTED_S)
    assert found["longest_ns"] >= 1e9 * PLANTED_S
    assert found["at_once_length_quantiles_ns"][-1] >= 1e9 * PLANTED_S
    assert found["unexplained_share"] > 0.5 * PLANTED_S / found["watched_s"]


@pytest.mark.shares_cores
def test_departures_arrivals_and_the_kernels_times() -> None:
    found = run_job(JOBS + "departures")
    forwarding, departures = found["forwarding"], found["departures"]
    assert forwarding["least_frames_per_s"] <= forwarding["frames_per_s"]
    assert forwarding["frames_per_s"] > 1_000
    assert departures["lost_frames"] == 0
    table = departures["link_quantiles_ns"]
    assert 1_000 < table[0] <= table[-1] <= 50_000
    assert found["stamps"]["count"] == departures["link"]["count"] > 100
    assert found["stamps"]["p50_ns"] > -found["apart_ns"]
    assert found["stamps"]["p50_ns"] <= departures["link"]["p50_ns"]


@pytest.mark.shares_cores
def test_turnaround_is_measured_pair_by_pair() -> None:
    found = run_job(JOBS + "turnaround")
    assert set(found) == {"cnm", "pause_sent", "pause_obeyed"}
    for one in found.values():
        assert one["count"] > 50
    assert found["cnm"]["p50_ns"] > 1_000
    assert found["pause_sent"]["p50_ns"] > 1_000
