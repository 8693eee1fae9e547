"""What the metrics of a large run cost: 300 columns of 12 000 rows, three phases.

    python -m pytest tests/benchmarks/bench_metrics.py

The peer beside it in the same run is one pass over the same columns: no metric can cost less.
"""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from orchestrator.recording import Recording
from tests.traces.conftest import MS, record
from traces.metrics import compute

ROWS, QUEUES, PHASE_MS = 12_000, 35, 4000


@pytest.fixture(scope="module")
def recording() -> Recording:
    rng = np.random.default_rng(0)
    series = {}
    for index in range(QUEUES):
        who = ("switch", f"switch.p{index}")
        for quantity in ("queue_bytes", "queue_max_bytes", "service_rate", "bytes_out"):
            series[(*who, quantity, "B", "gauge")] = np.cumsum(rng.integers(1, 9, ROWS))
        for quantity in ("frames_in", "frames_out", "frames_dropped", "feedback_sent"):
            series[(*who, quantity, "frames", "counter")] = np.arange(ROWS)
    return record(np.arange(ROWS) * MS, series)


@pytest.mark.benchmark(group="metrics of 300 columns")
def test_metrics(benchmark: BenchmarkFixture, recording: Recording) -> None:
    phases = {str(i): (i * PHASE_MS * MS, (i + 1) * PHASE_MS * MS) for i in range(3)}
    assert benchmark(compute, recording, phases)


@pytest.mark.benchmark(group="metrics of 300 columns")
def test_one_pass_over_the_columns(benchmark: BenchmarkFixture, recording: Recording) -> None:
    assert benchmark(recording.values.sum) > 0
