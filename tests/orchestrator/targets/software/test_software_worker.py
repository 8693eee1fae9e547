"""The worker process: jobs, failures, and that nothing of it survives a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from orchestrator.errors import RunFailed, TailbackError
from orchestrator.targets.software.worker_process import Worker, run_job
from tests.orchestrator.targets.software.processes import MARK, gone, holders, marked

JOBS = "tests.orchestrator.targets.software.jobs:"
ROOT = Path(__file__).parents[4]

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """A mark that every process started in this test carries."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    return value


def test_a_job_reports_takes_orders_and_returns():
    with Worker(JOBS + "echo", {"a": 1}) as worker:
        reports = worker.reports()
        assert next(reports)["pid"] == worker.process.pid
        worker.order("go on")
        assert list(reports) == []
    assert worker.result == ({"a": 1}, "go on")
    assert worker.process.returncode == 0


def test_a_worker_is_in_namespaces_of_its_own():
    told = run_job(JOBS + "identity")
    assert told["links"] == ["lo"]
    assert told["network"] != os.readlink("/proc/self/ns/net")
    assert told["user"] == 0


def test_a_refusal_arrives_as_a_sentence():
    with pytest.raises(TailbackError, match=r"job: there is no such thing\. Remedy: none\."):
        run_job(JOBS + "refuse")


def test_a_broken_job_arrives_with_its_traceback():
    with pytest.raises(RuntimeError, match="on purpose"):
        run_job(JOBS + "crash")


def test_a_worker_that_is_killed_leaves_nothing(mark):
    network = []
    with pytest.raises(RunFailed, match="signal 9"), Worker(JOBS + "hold") as worker:
        for kind, content in worker.reports():
            if kind == "ready":
                network = content
                assert holders(network, mark)
                os.kill(worker.process.pid, signal.SIGKILL)
    assert len(network) == 3
    assert gone(mark)
    assert not holders(network, mark)


def test_leaving_the_block_ends_the_worker(mark):
    with pytest.raises(KeyboardInterrupt), Worker(JOBS + "hold") as worker:
        for kind, _ in worker.reports():
            if kind == "ready":
                raise KeyboardInterrupt
    assert marked(mark) == set()


def test_an_interrupt_of_the_terminal_is_the_parents_to_handle():
    with Worker(JOBS + "echo", 1) as worker:
        reports = worker.reports()
        next(reports)
        os.kill(worker.process.pid, signal.SIGINT)
        worker.order("still here")
        list(reports)
    assert worker.result == (1, "still here")


PARENT = """
import sys
from orchestrator.targets.software.worker_process import Worker
with Worker(sys.argv[1]) as worker:
    for report in worker.reports():
        print(report, flush=True)
"""


def start_parent(job: str) -> subprocess.Popen[str]:
    """A process that starts a worker and listens to it."""
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, JOBS + job],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.parametrize("moment", range(12))
def test_a_parent_that_is_killed_at_any_moment_takes_the_worker_with_it(mark, moment):
    parent = start_parent("hold")
    try:
        time.sleep(0.05 * moment)
    finally:
        parent.kill()
        parent.communicate()
    assert gone(mark)


@pytest.mark.parametrize("news", ["added", "joined", "ready"])
def test_a_parent_that_is_killed_at_a_step_takes_the_worker_with_it(mark, news):
    parent = start_parent("hold")
    assert parent.stdout is not None
    for line in parent.stdout:
        if news in line:
            break
    parent.kill()
    parent.communicate()
    assert gone(mark)


def test_a_worker_in_compiled_code_dies_with_its_parent(mark):
    parent = start_parent("spin")
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    parent.kill()
    parent.communicate()
    assert gone(mark)


def test_two_workers_at_once_do_not_meet():
    with Worker(JOBS + "hold") as one, Worker(JOBS + "hold") as two:
        seen = [
            next(content for kind, content in w.reports() if kind == "ready") for w in (one, two)
        ]
        assert not set(seen[0]) & set(seen[1])
        one.process.kill()
        two.process.kill()


def test_nothing_has_a_name_outside(mark):
    before = set(os.listdir("/sys/class/net"))
    folder = Path("/var/run/netns")
    names = set(os.listdir(folder)) if folder.exists() else set()
    with Worker(JOBS + "hold") as worker:
        next(content for kind, content in worker.reports() if kind == "ready")
        assert set(os.listdir("/sys/class/net")) == before
        assert (set(os.listdir(folder)) if folder.exists() else set()) == names
        worker.process.kill()
    assert gone(mark)
