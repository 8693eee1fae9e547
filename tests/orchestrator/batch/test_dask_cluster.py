"""A sweep on a real Dask scheduler with real workers is the sweep of this machine's processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.batch import dask_cluster
from orchestrator.batch.dask_cluster import dask_executor
from orchestrator.batch.result_store import Store
from orchestrator.batch.stream_executor import Executor, process_executor
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
from orchestrator.batch.worker_replies import FAILED
from orchestrator.errors import BadInput
from orchestrator.progress import Progress
from tests.orchestrator.batch.made import points, random_flow

distributed = pytest.importorskip("distributed")
WISHES = SweepOptions(over=["traffic.gen.rate=100Mb/s..900Mb/s/9"], seeds="4")


@pytest.fixture
def workers() -> Iterator[Any]:
    """Four worker processes and their scheduler, on the loopback."""
    told = {"host": "127.0.0.1", "dashboard_address": None, "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=4, processes=True, **told) as made:
        yield made


def swept(out: Path, executor: Executor, progress: Any = lambda news: None) -> Path:
    plan = random_flow(duration=20 * 10**12)
    running = SweepRun(Sweep.of(plan, WISHES), Store(out / ".points"), 1, progress)
    assert running.run(executor)
    return write_sweep_folder(running, out)[1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_worker_changes_no_row(tmp_path: Path, workers: Any) -> None:
    killed: list[int] = []

    def kill(news: Progress) -> None:
        if not killed and news.done > 0.3:
            killed.append(workers.workers[1].pid)
            os.kill(killed[0], signal.SIGKILL)

    there = swept(tmp_path / "there", dask_executor(workers.scheduler_address), kill)
    here = swept(tmp_path / "here", process_executor(1))
    assert len(killed) == 1
    for name in ("points/part-00000.parquet", "places.parquet"):
        assert (there / name).read_bytes() == (here / name).read_bytes()
    lines = (tmp_path / "there" / ".points" / "line-of-three.jsonl").read_bytes().splitlines()
    assert len(lines) == len({line.partition(b" ")[0] for line in lines}) == 36


def test_a_worker_of_other_sources_refuses() -> None:
    (point,) = points(random_flow(), 1)
    how, what = dask_cluster.run_remote_point(
        point.subject.table, point.subject.digest, "0" * 64, 1
    )
    assert how == FAILED
    assert "install the same" in what[1]
    of = (point.subject.table, point.subject.digest, point.subject.sources)
    first, again = dask_cluster.run_remote_point(*of, 1), dask_cluster.run_remote_point(*of, 2)
    assert first[1]["metrics"] != again[1]["metrics"]
    assert dask_cluster.run_remote_point(*of, 1)[1]["metrics"] == first[1]["metrics"]


def test_nobody_at_an_address_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.batch.dask_cluster.TIMEOUT_S", 1)
    with pytest.raises(BadInput, match="no scheduler answers at"):
        swept(tmp_path, dask_executor("tcp://127.0.0.1:1"))
