"""What one call of each QCN kernel costs, compiled and by address as nodes call it.

    python -m pytest tests/benchmarks/bench_kernels.py

A round is a million calls: read its milliseconds as nanoseconds per call. `calls_per_s` is in the
extra information of `--benchmark-json`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from orchestrator.algorithm import Algorithm
from orchestrator.engine.jit import call_kernel, compiled
from plugins.qcn_cp import QCN_CP
from plugins.qcn_rp import QCN_RP
from tests.plugins.kernel_driver import KernelDriver

CALLS = 1_000_000
FRAME_PS = 12_000_000
"""1500 octets at 1 Gb/s: the time between two calls, as the kernel sees it."""


@compiled
def repeat(kernel, state, params, entity, frame, message, calls):
    """Call a kernel again and again."""
    for index in range(calls):
        call_kernel(kernel, state, params, entity[0], frame[0], index * FRAME_PS, message[0])


@dataclass(frozen=True)
class Case:
    """A kernel and the fields it starts from."""

    algorithm: Algorithm
    event: str
    entity: dict[str, int] = field(default_factory=dict)
    frame: dict[str, int] = field(default_factory=dict)


ACTIVE = {"active": 1, "rate": 10**9, "target": 10**9, "link_rate": 10**9, "backlog": 1500}
CASES = [
    Case(QCN_RP, "feedback", ACTIVE, {"feedback": 20}),
    Case(QCN_RP, "sent", ACTIVE, {"length": 1500}),
    Case(QCN_RP, "timer", ACTIVE),
    Case(QCN_CP, "arrival", {"bytes": 40_000}, {"length": 1500}),
    Case(QCN_CP, "departure", {"bytes": 40_000}, {"length": 1500}),
]


def prepare(case: Case) -> Callable[[], None]:
    """A round of calls, compiled."""
    driver = KernelDriver(case.algorithm)
    driver.reset(case.algorithm.params.from_table({"preset": "netfpga"}), seed=1)
    for record, values in ((driver.entity, case.entity), (driver.frame, case.frame)):
        for name, value in values.items():
            record[name] = value
    arguments = driver.arguments(case.event)

    def round_of_calls() -> None:
        repeat(*arguments, driver.entity, driver.frame, driver.message, CALLS)

    return round_of_calls


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.algorithm.name}-{case.event}")
def test_million_calls(benchmark: BenchmarkFixture, case: Case) -> None:
    benchmark.pedantic(prepare(case), rounds=10, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["calls_per_s"] = CALLS / benchmark.stats.stats.median
