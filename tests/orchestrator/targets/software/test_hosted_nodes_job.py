"""A part that an agent hosts tells which other runs had cores of its machine: those that went on
when it began, and those that had begun by its end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.hosted_nodes_job import PACE_WORDS
from orchestrator.targets.software.worker_process import Worker
from orchestrator.targets.software.worker_stages import COLLECT, COLLECTED, ENDED, READY, RUNNING
from orchestrator.testbed.controller import merge_recordings, merge_stalls
from tests.orchestrator.targets.software import short_plans
from tests.orchestrator.targets.software.other_run import going_on

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

JOB = "orchestrator.targets.software.hosted_nodes_job:host"
SHORT = {"duration": "20ms", "timeline": [], "phases": {}, "expect": [], "capture": {"ports": []}}
LEAD_NS = 100_000_000
STOPPED_NS = 1_500_000_000
"""Before the start of a run that is stopped across it, in the middle of this time."""


class Part:
    """A whole plan as the part of one machine, step by step."""

    def __init__(self, spool: Path) -> None:
        plan = Plan.load(short_plans.QCN)
        plan = plan.with_data(plan.to_table() | SHORT)
        self.spool, self.plan = spool, plan
        self.open = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("pace", "live")]
        os.ftruncate(self.open[0], 8 * PACE_WORDS)
        spec = {
            "plan": plan.to_toml(),
            "nodes": list(plan.nodes),
            "ports": {},
            "threads": 1,
            "first": 0,
            "of": 1,
            "pace": self.open[0],
            "live": self.open[1],
            "holds": True,
            "crowded": True,
            "core": None,
            "speed": 10**6,
            "spool": str(spool),
        }
        self.worker = Worker(JOB, spec)
        self.worker.handed = self.open

    def __enter__(self) -> Part:
        self.worker.__enter__()
        self._reports = self.worker.reports()
        return self

    def __exit__(self, *error: Any) -> None:
        self.worker.__exit__(*error)
        for handle in self.open:
            os.close(handle)

    def until(self, wanted: str) -> None:
        """Wait for a stage."""
        assert any(stage == wanted for stage, _ in self._reports), wanted

    def run(self) -> None:
        """From the order to start to the end."""
        self.worker.order((time.monotonic_ns() + LEAD_NS, 0))
        self.until(ENDED)

    def words(self) -> dict[str, Any]:
        """What it tells when it is over."""
        self.worker.order((COLLECT,))
        self.until(COLLECTED)
        told: dict[str, Any] = json.loads((self.spool / "part.json").read_text())
        return told

    def tells(self, other: tuple[int, Path]) -> int:
        """How often a run is among the results. (Others of this machine may be there, too.)"""
        told = self.words()["neighbours"]
        return [(one["process"], Path(one["folder"])) for one in told].count(other)


@pytest.fixture
def part(tmp_path: Path) -> Iterator[Part]:
    (tmp_path / "spool").mkdir()
    with Part(tmp_path / "spool") as one:
        yield one


def test_a_part_that_was_stopped_tells_so(part: Part) -> None:
    """From some time before its time 0 until after it; it then waits for nobody, and goes on."""
    part.until(READY)
    start_ns = time.monotonic_ns() + STOPPED_NS
    part.worker.order((start_ns, 0))
    part.until(RUNNING)
    time.sleep(max(start_ns - STOPPED_NS // 2 - time.monotonic_ns(), 0) / 1e9)
    process = part.worker.process.pid
    os.kill(process, signal.SIGSTOP)
    os.waitid(os.P_PID, process, os.WSTOPPED)
    begun_s = (time.monotonic_ns() - start_ns) / 1e9
    time.sleep(max(start_ns + LEAD_NS - time.monotonic_ns(), 0) / 1e9)
    ended_s = (time.monotonic_ns() - start_ns) / 1e9
    os.kill(process, signal.SIGCONT)
    part.until(ENDED)
    words = part.words()
    with np.load(part.spool / "part.npz", allow_pickle=False) as file:
        arrays = dict(file)
    nodes = list(part.plan.nodes)
    told = merge_recordings.AgentRecording("here", arrays, words, {}, nodes=nodes)
    stalls = merge_stalls.merged_stalls(part.plan.check(Registry.load()), [told], 1.0)
    mine = [
        row for row in stalls["longest"] if row["at_s"] <= begun_s and row["cause"] == "stopped"
    ]
    assert [row["machine"] for row in mine] == ["here"]
    assert mine[0]["at_s"] + mine[0]["time_s"] >= ended_s
    assert stalls["machines"]["here"]["causes"]["stopped"]["count"] >= 1
    assert stalls["controlled"] == 1


def test_a_run_that_ends_while_the_part_waits_is_told(part: Part, tmp_path: Path) -> None:
    with going_on(tmp_path / "theirs") as other:
        part.until(READY)
    part.run()
    assert part.tells(other) == 1


def test_a_run_that_begins_after_the_part_is_told(part: Part, tmp_path: Path) -> None:
    part.until(READY)
    with going_on(tmp_path / "theirs") as other:
        part.run()
        assert part.tells(other) == 1


def test_a_run_that_goes_on_all_the_time_is_told_once(part: Part, tmp_path: Path) -> None:
    with going_on(tmp_path / "theirs") as other:
        part.until(READY)
        part.run()
        assert part.tells(other) == 1
